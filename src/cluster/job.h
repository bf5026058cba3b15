/* job.h - the whole clustering of a source of rows: start, epochs, frozen pass, repair. */
#ifndef CK_JOB_H
#define CK_JOB_H

#include "cluster/job_options.h"
#include "cluster/multihead.h"
#include "cluster/scan.h"

struct coke_cluster {
    struct ck_cluster_options o;
    struct ck_scan scan;
    int64_t n; /* rows in all, and */
    int32_t dim;
    int heads;
    struct coke_multihead *multi;             /* owns the heads; NULL while they are made */
    struct coke_kmeans *head[COKE_MAX_HEADS]; /* their labels are indexed by row */
    struct coke_head_summary summary[COKE_MAX_HEADS];
    float *price[COKE_MAX_HEADS];  /* [k] of the final labels */
    int64_t *size[COKE_MAX_HEADS]; /* [k] */
    float *center[COKE_MAX_HEADS]; /* [k][dim] */
    struct coke_cluster_timing timing;
};

/* As coke_cluster_run; share: the processes that share the rows, NULL = this one has all. */
int ck_cluster_run(struct coke_cluster **out, const struct coke_cluster_input *input,
                   const struct ck_cluster_options *options,
                   const struct coke_callbacks *callbacks, const struct ck_share *share);

#endif
