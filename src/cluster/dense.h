/* dense.h - the best labels of few rows within size bounds, from the scores of all centers.
 *
 * repair.h does this for any number of rows, with lists of near centers and a certificate; here
 * everything is in memory, so that a descent (descent.h) can do it many times per second. */
#ifndef CK_DENSE_H
#define CK_DENSE_H

#include <stdint.h>

struct ck_dense {
    int64_t n, k;
    const int64_t *min_size, *max_size; /* [k] borrowed; NULL = none */
    float *score;                       /* [n][k] */
    int32_t *label;                     /* [n] */
    int64_t *size;                      /* [k] */
    double *price;                      /* [k] added to the scores; kept from call to call */
    int32_t *head, *next, *prev;        /* [k], [n], [n] lists of the rows of each cluster */
    /* of ck_dense_solve; NULL without bounds */
    double *loss;    /* [k][k] the least that a row of a loses in b, without prices */
    int32_t *row;    /* [k][k] that row, or -1 */
    int64_t *quota;  /* [k] size that the prices ask for */
    int64_t *excess; /* [k + 1] rows above the quota; at k: quotas above the number of rows */
    double *far;     /* [k + 1] length of the shortest path */
    int32_t *from;   /* [k + 1] the node before it on that path, or -1 */
    uint8_t *done;   /* [k + 1] */
};

/* Everything zero but n and k. On failure there is nothing to release. */
int ck_dense_init(struct ck_dense *d, int64_t n, int64_t k, const int64_t *min_size,
                  const int64_t *max_size);
void ck_dense_release(struct ck_dense *d);

/* After score and label, where label has the highest score + price: counts sizes, makes lists. */
void ck_dense_count(struct ck_dense *d);
/* Then, if there are bounds: moves rows and prices until all sizes are within them. The labels are
 * optimal, and again highest in score + price. */
void ck_dense_solve(struct ck_dense *d);

#endif
