/* repair.h - a frozen pass over all rows with prices for the bounds, then the exact optimum. */
#ifndef CK_REPAIR_H
#define CK_REPAIR_H

#include "cluster/assign.h"
#include "cluster/labels.h"
#include "cluster/scan.h"
#include "core/share.h"

struct ck_repair {
    const struct ck_scan *scan;
    struct ck_assigner *assigner; /* of the final centers */
    int64_t k;
    const int64_t *min_size, *max_size; /* [k]; most may be NULL */
    int exact;                          /* 0: only the frozen pass */
    int64_t sample;                     /* seed of the sample that sizes the search */
    const struct coke_callbacks *callbacks;
    int64_t epochs;               /* that were run before, for the progress */
    const struct ck_share *share; /* processes that share the rows; NULL = this one has all */

    const int64_t *expected; /* [k] about how large the clusters will be, or NULL; read first */
    float *price;            /* [k] in: averaged duals; out: prices that prove the optimum */
    struct ck_labels *labels; /* out */
    float *scores;            /* out, x.c of the label, or NULL */

    /* what was found */
    int64_t points;
    int64_t below, above, missing; /* clusters under, over; points missing; before the repair */
    int64_t moved;
    double weight;       /* sum of the rows' weights */
    double nearest;      /* sum of the similarities to the nearest centers */
    double primal, dual; /* sums over rows; dual is valid when `exact` */
    double passes;
    int64_t bytes; /* most that the rows and lists of the solver took */
    int64_t active, arcs;
    int64_t *size; /* [k] out */
};

int ck_repair_run(struct ck_repair *r);

#endif
