/* job.h - the whole clustering of rows: initial centers, epochs, final scan, repair. */
#ifndef CK_JOB_H
#define CK_JOB_H

#include "cluster/job_options.h"
#include "cluster/kmeans.h"
#include "cluster/scan.h"
#include "core/share.h"

/* The result. Its memory is owned, except that scan.rows is invalid after ck_cluster_run. */
struct coke_cluster {
    struct ck_cluster_options o;
    struct ck_scan scan;
    int64_t n; /* all rows, skipped ones included */
    int32_t dim;
    int heads;
    struct coke_kmeans *head[COKE_MAX_HEADS]; /* owned; their labels are indexed by row */
    struct coke_head_summary summary[COKE_MAX_HEADS];
    float *price[COKE_MAX_HEADS];  /* [k] of the final labels */
    int64_t *size[COKE_MAX_HEADS]; /* [k] */
    float *center[COKE_MAX_HEADS]; /* [k][dim] */
    /* of heads of two levels, else NULL: centers of the groups [groups][dim]; group g has the
     * clusters group_first[g] .. group_first[g + 1] - 1 */
    float *group_center[COKE_MAX_HEADS];
    int64_t *group_first[COKE_MAX_HEADS];
    struct coke_timing timing;
};

/* input, its rows and weights are borrowed for the call. callbacks may be NULL. share: the
 * processes that divide the rows (collective), NULL = this one has all. *out is NULL on
 * failure; free it with ck_cluster_free. */
int ck_cluster_run(struct coke_cluster **out, const struct coke_cluster_input *input,
                   const struct ck_cluster_options *options,
                   const struct coke_callbacks *callbacks, const struct ck_share *share);
void ck_cluster_free(struct coke_cluster *c);
/* Copies the labels [n] of head h. */
void ck_cluster_labels(const struct coke_cluster *c, int h, int32_t *labels);

#endif
