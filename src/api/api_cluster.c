/* api_cluster.c - public functions of the whole clustering job and of its result.
 *
 * run and array are collective: in a group every process calls them with the same rows and gets
 * the same result. Pointers returned from a result are valid until coke_cluster_free. */
#include "api/check_args.h"
#include "cluster/job.h"
#include "dist/group_share.h"
#include "store/array_clustering.h"
#include "store/result_files.h"

int coke_cluster_array(const float *x, int64_t n, int32_t dim, int64_t k,
                       const struct coke_options *options, int32_t *labels, float *centers)
{
    CK_ARGS(x, labels);
    CK_OPTIONS(o, cluster, options);
    struct ck_cluster_array a = {x, n, dim, k, labels, centers};
    return ck_cluster_array(&a, o);
}

/* The rows and arrays of input are borrowed for the call only. */
int coke_cluster_run(struct coke_cluster **out, const struct coke_cluster_input *input,
                     const struct coke_options *options, const struct coke_callbacks *callbacks)
{
    struct coke_cluster_input in;
    struct coke_callbacks cb;
    CK_ARGS_OUT(out);
    CK_ARGS(input);
    CK_READ(in, input);
    CK_ARGS(in.rows);
    CK_READ(cb, callbacks);
    CK_OPTIONS(o, cluster, options);
    struct ck_share share = ck_group_share(ck_group());
    return ck_cluster_run(out, &in, o, &cb, &share);
}

void coke_cluster_free(struct coke_cluster *c)
{
    ck_cluster_free(c);
}

static int has_head(const struct coke_cluster *c, int h)
{
    return c && h >= 0 && h < c->heads;
}

int coke_cluster_heads(const struct coke_cluster *c)
{
    return c ? c->heads : 0;
}

const struct coke_head_summary *coke_cluster_summary(const struct coke_cluster *c, int h)
{
    return has_head(c, h) ? &c->summary[h] : NULL;
}

const struct coke_timing *coke_cluster_timing(const struct coke_cluster *c)
{
    return c ? &c->timing : NULL;
}

int coke_cluster_labels(const struct coke_cluster *c, int h, int32_t *labels)
{
    CK_ARGS(c, labels);
    if (!has_head(c, h))
        return ck_fail(COKE_EUSAGE, "coke_cluster_labels: there is no head %d", h);
    ck_cluster_labels(c, h, labels);
    return COKE_OK;
}

const float *coke_cluster_centers(const struct coke_cluster *c, int h)
{
    return has_head(c, h) ? c->center[h] : NULL;
}

/* In a group rank 0 writes. */
int coke_cluster_write(const struct coke_cluster *c, const char *dir, int force)
{
    CK_ARGS(c, dir);
    return ck_cluster_write(c, dir, force);
}

int coke_cluster_pack(const struct coke_cluster *c, int h, void **bytes, size_t *size)
{
    CK_ARGS(c, size);
    CK_ARGS_OUT(bytes);
    if (!has_head(c, h))
        return ck_fail(COKE_EUSAGE, "coke_cluster_pack: there is no head %d", h);
    return ck_cluster_pack(c, h, bytes, size);
}
