/* array_clustering.h - the whole clustering of an array in memory, in one call. */
#ifndef CK_ARRAY_CLUSTERING_H
#define CK_ARRAY_CLUSTERING_H

#include "cluster/job_options.h"

/* Input and output of one call; all memory is the caller's. */
struct ck_cluster_array {
    const float *x; /* [n][dim] */
    int64_t n;
    int32_t dim;
    int64_t k;
    int32_t *labels; /* [n] out */
    float *centers;  /* [k][dim] out, or NULL */
};

/* o->k is ignored: there is one head of a->k clusters. Collective in a group: every process
 * passes the same array and gets all labels. */
int ck_cluster_array(const struct ck_cluster_array *a, const struct ck_cluster_options *o);

#endif
