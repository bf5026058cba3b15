/* repair.h - a scan over all rows with fixed centers and prices, then the exact optimum. */
#ifndef CK_REPAIR_H
#define CK_REPAIR_H

#include "cluster/assign.h"
#include "cluster/labels.h"
#include "cluster/scan.h"
#include "core/share.h"

/* Input and results. Everything is the caller's and borrowed for the call. */
struct ck_repair {
    const struct ck_scan *scan;
    struct ck_assigner *assigner; /* of the final centers */
    int64_t k;
    const int64_t *min_size, *max_size; /* [k]; max_size NULL = unbounded */
    int exact;                          /* keep all bounds; 0: only the scan */
    double tolerance; /* accepted gap as a fraction of the total; 0 = the exact optimum */
    int64_t sample;   /* seed of the sample that sizes the search */
    const struct coke_callbacks *callbacks;
    int64_t epochs;               /* epochs run before, for progress reports */
    const struct ck_share *share; /* processes that share the rows; NULL = this one has all */

    const int64_t *expected;  /* [k] estimated sizes, or NULL; may be `size` */
    float *price;             /* [k] in: averaged duals; out: prices that prove the optimum */
    struct ck_labels *labels; /* out */
    float *scores;            /* out, x.c of the label, or NULL */

    /* results */
    int64_t total;                 /* usable rows */
    int64_t below, above, missing; /* before: clusters below, above; missing rows */
    double weight;                 /* sum of the rows' weights */
    double square;       /* Euclidean: the weighted squares of the rows, in inner units */
    double nearest;      /* sum of the similarities to the nearest centers */
    int64_t off;         /* rows nearer to another center than to the label's by 1e-6 */
    double primal, dual; /* sums over rows; dual is valid when `exact` */
    double scans;        /* scans over all rows, samples as fractions */
    int64_t bytes;       /* peak memory of the rows and lists of the solver */
    int64_t active, arcs;
    int64_t *size; /* [k] out */
};

/* Labels all usable rows; with `exact`, within the bounds: as the optimum, or, with a tolerance,
 * near it at the cost of about two scans (three without slack in the bounds); `dual` tells how
 * near. Memory O(n + k + rows near a boundary). Runs on all threads; collective if share is
 * set. */
int ck_repair_run(struct ck_repair *r);

/* What a gap is compared with: the total similarity; Euclidean: half the inertia, in inner units,
 * because scores are halves of squared distances. Valid after a scan over all rows. */
double ck_repair_total(const struct ck_repair *r);

#endif
