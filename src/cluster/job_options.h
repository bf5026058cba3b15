/* job_options.h - the options of a whole clustering (coke cluster). */
#ifndef CK_JOB_OPTIONS_H
#define CK_JOB_OPTIONS_H

#include "cluster/kmeans_options.h"

enum ck_repair_mode { CK_REPAIR_OFF, CK_REPAIR_NEAR, CK_REPAIR_EXACT };

struct ck_cluster_options {
    struct ck_ints k;                /* clusters of each head */
    struct ck_kmeans_options kmeans; /* for every head; the job sets n, k and dim */
    int64_t epochs, max_epochs, batch;
    double tolerance;
    int32_t init;     /* enum ck_init */
    int64_t restarts; /* 0 = auto */
    int64_t polish;   /* -1 = auto */
    int32_t balanced;
    int32_t repair; /* enum ck_repair_mode */
    double gap;
    int32_t bad;     /* enum ck_bad: error or skip */
    int32_t shuffle; /* enum ck_shuffle */
    int64_t seed;
    int64_t fit_rows; /* 0 = all */
    int32_t levels;   /* enum ck_levels */
    int64_t probes;   /* of two levels */
};

const struct ck_option_table *ck_cluster_option_table(void);
struct ck_cluster_options ck_cluster_options_default(void);

#endif
