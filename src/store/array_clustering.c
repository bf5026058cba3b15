/* array_clustering.c - the whole clustering of an array in memory, in one call. Belongs to
 * store, not to cluster, because it needs rows (io) and the group (dist). */
#include "store/array_clustering.h"
#include "cluster/job.h"
#include "core/error.h"
#include "dist/group_share.h"
#include "io/rows_file.h"

#include <string.h>

int ck_cluster_array(const struct ck_cluster_array *a, const struct ck_cluster_options *o)
{
    struct coke_cluster_input in = {.size = sizeof in};
    struct ck_cluster_options one = *o;
    struct ck_share share = ck_group_share(ck_group());
    struct coke_cluster *c = NULL;
    int rc = COKE_OK;
    if (a->k < 1 || a->k > INT32_MAX)
        return ck_fail(COKE_EUSAGE, "k: %lld is not within 1..%d", (long long)a->k, INT32_MAX);
    one.k = (struct ck_ints){.n = 1, .v = {(int32_t)a->k}};
    CK_TRY(ck_rows_from_array(&in.rows, a->x, a->n, a->dim));
    CK_TRY(ck_cluster_run(&c, &in, &one, NULL, &share));
    ck_cluster_labels(c, 0, a->labels);
    if (a->centers)
        memcpy(a->centers, c->center[0], (size_t)a->k * (size_t)a->dim * sizeof *a->centers);
done:
    ck_cluster_free(c);
    ck_rows_free(in.rows);
    return rc;
}
