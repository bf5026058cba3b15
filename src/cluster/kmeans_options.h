/* kmeans_options.h - the options of one k-means head. */
#ifndef CK_KMEANS_OPTIONS_H
#define CK_KMEANS_OPTIONS_H

#include "coke/types.h"
#include "core/option.h"

#include <stdint.h>

/* How centers move. */
enum ck_update {
    CK_UPDATE_RUNNING, /* the authors' way: renormalised running mean */
    CK_UPDATE_MEAN,    /* exact mean of the epoch so far (Eq. 11) */
    CK_UPDATE_EPOCH,   /* moved once, at the end of the epoch (Eq. 10) */
    CK_UPDATE_FIXED    /* not moved by rows: online assignment to given centers */
};

struct ck_kmeans_options {
    int64_t n; /* rows per epoch */
    int64_t k; /* clusters */
    int64_t dim;
    double ratio;     /* minimum size of a cluster as a fraction of n/k */
    double max_ratio; /* maximum size as a multiple of n/k; 0 = no upper bound */
    double inflate;   /* factor on the lower bounds that the duals work towards */
    double eta;       /* step of the duals; 0 = from tau or the first batch */
    double tau;       /* project the duals on { rho >= 0, |rho|_1 <= tau }; 0 = only rho >= 0 */
    double carry;     /* fraction of last epoch's sums that is kept (update mean) */
    int32_t update;   /* enum ck_update */
    int64_t stage;    /* first epoch of the second stage (T'); -1 = none */
    int64_t slots;    /* label slots per row in the second stage (L) */
    double slot_temperature;
    int32_t keep_labels; /* store one label per row */
    int32_t metric;      /* enum coke_metric */
};

const struct ck_option_table *ck_kmeans_option_table(void);
struct ck_kmeans_options ck_kmeans_options_default(void);

/* The single row "k" of a struct ck_ints: the clusters of several heads. */
const struct ck_option_table *ck_heads_option_table(void);

#endif
