/* descent.h - k-means of few rows, which are held in memory: rounds of assignment within the size
 * bounds and means, until nothing changes. */
#ifndef CK_DESCENT_H
#define CK_DESCENT_H

#include "cluster/dense.h"
#include "cluster/repair.h"

struct ck_descent {
    const struct ck_scan *scan; /* borrowed */
    float *x;                   /* [n][ld] usable rows, in inner coordinates */
    float *center;              /* [k][ld] */
    int32_t *before;            /* [n] labels of the last round */
    double *sum, *part;         /* [k][ld], [k] of the members: their sum, their total score */
    struct ck_dense dense;
    double fit; /* total score of the rows with the means of their clusters */
};

/* Bytes of a descent of n rows. */
double ck_descent_bytes(const struct ck_scan *s, int64_t n, int64_t k);

/* Reads all usable rows. Bounds [k] are borrowed, NULL = none. On failure there is nothing to
 * release. */
int ck_descent_init(struct ck_descent *d, const struct ck_scan *s, int64_t k,
                    const int64_t *min_size, const int64_t *max_size);
void ck_descent_release(struct ck_descent *d);

/* One round from d->center and d->dense.price; sets d->fit. Returns whether a label changed. */
int ck_descent_round(struct ck_descent *d);

/* As ck_repair_run, but with these centers [k][ld], from d->dense.price and in memory: the labels
 * are always the optimum within the bounds, which these prices prove. */
int ck_descent_label(struct ck_descent *d, const float *center, struct ck_repair *r);

#endif
