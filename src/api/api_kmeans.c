/* api_kmeans.c - public functions on clusterings, batch by batch.
 *
 * Functions that take const may run on several threads, the others need the object to
 * themselves. They work in one process also in a group: only coke_cluster_* divides rows. */
#include "api/check_args.h"
#include "cluster/kmeans.h"
#include "cluster/multihead.h"
#include "cluster/stream_start.h"
#include "store/model_file.h"

/* Rows of a batch are counted in int32 below (members of a cluster, kmeans.c). */
static int check_count(const char *function, int64_t n, int64_t min)
{
    if (n >= min && n <= INT32_MAX)
        return COKE_OK;
    return ck_fail(COKE_EUSAGE, "%s: %lld rows are not within %lld..%d", function, (long long)n,
                   (long long)min, INT32_MAX);
}

/* ---- before the first batch ---- */

int coke_normalize(float *x, int64_t n, int32_t dim)
{
    CK_ARGS(x);
    return ck_normalize_rows(x, n, dim);
}

int coke_kmeans_init_centers(struct coke_rows *rows, enum coke_metric metric, int64_t k,
                             uint64_t seed, float *centers)
{
    CK_ARGS(rows, centers);
    return ck_start_from_rows(rows, (int)metric, k, seed, centers);
}

/* ---- one head ---- */

int coke_kmeans_new(struct coke_kmeans **out, const struct coke_options *options,
                    const float *centers, const int64_t *min_sizes, const int64_t *max_sizes)
{
    CK_ARGS_OUT(out);
    CK_ARGS(centers);
    CK_OPTIONS(o, kmeans, options);
    return ck_kmeans_new(out, o, centers, min_sizes, max_sizes);
}

void coke_kmeans_free(struct coke_kmeans *km)
{
    ck_kmeans_free(km);
}

int coke_kmeans_step(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                     int32_t *labels)
{
    CK_ARGS(km, x, labels);
    CK_RETURN_IF(check_count(__func__, n, 1));
    return ck_kmeans_step(km, x, ids, n, labels);
}

int coke_kmeans_epoch_end(struct coke_kmeans *km)
{
    CK_ARGS(km);
    return ck_kmeans_epoch_end(km);
}

int coke_kmeans_predict(const struct coke_kmeans *km, const float *x, int64_t n,
                        int32_t *labels, float *scores)
{
    CK_ARGS(km, x, labels);
    CK_RETURN_IF(check_count(__func__, n, 0));
    return ck_kmeans_predict(km, x, n, labels, scores);
}

int coke_kmeans_copy(const struct coke_kmeans *km, enum coke_array what, void *out,
                     int64_t room)
{
    CK_ARGS(km, out);
    return ck_kmeans_copy(km, what, out, room);
}

int coke_kmeans_soft_targets(const struct coke_kmeans *km, const int64_t *ids, int64_t n,
                             float *targets)
{
    CK_ARGS(km, ids, targets);
    CK_RETURN_IF(check_count(__func__, n, 0));
    return ck_kmeans_soft_targets(km, ids, n, targets);
}

int coke_kmeans_save(const struct coke_kmeans *km, const char *path, int force)
{
    CK_ARGS(km, path);
    return ck_kmeans_save(km, path, force);
}

int coke_kmeans_load(struct coke_kmeans **out, const char *path)
{
    CK_ARGS_OUT(out);
    CK_ARGS(path);
    return ck_kmeans_load(out, path);
}

int coke_kmeans_pack(const struct coke_kmeans *km, void **bytes, size_t *size)
{
    CK_ARGS(km, size);
    CK_ARGS_OUT(bytes);
    return ck_kmeans_pack(km, bytes, size);
}

int coke_kmeans_unpack(struct coke_kmeans **out, const void *bytes, size_t size)
{
    CK_ARGS_OUT(out);
    CK_ARGS(bytes);
    return ck_kmeans_unpack(out, bytes, size);
}

/* ---- several heads on the same rows ---- */

/* On success the heads belong to *out: they must not be freed on their own. */
int coke_multihead_new(struct coke_multihead **out, struct coke_kmeans *const *heads, int n)
{
    CK_ARGS_OUT(out);
    CK_ARGS(heads);
    return ck_multihead_new(out, heads, n);
}

void coke_multihead_free(struct coke_multihead *mh)
{
    ck_multihead_free(mh);
}

/* Borrowed: to read its arrays, or to save it. */
struct coke_kmeans *coke_multihead_head(struct coke_multihead *mh, int h)
{
    return mh ? ck_multihead_head(mh, h) : NULL;
}

int coke_multihead_step(struct coke_multihead *mh, const float *x, const int64_t *ids,
                        int64_t n, int32_t *labels)
{
    CK_ARGS(mh, x, labels);
    CK_RETURN_IF(check_count(__func__, n, 1));
    return ck_multihead_step(mh, x, ids, n, NULL, labels);
}

int coke_multihead_epoch_end(struct coke_multihead *mh)
{
    CK_ARGS(mh);
    return ck_multihead_epoch_end(mh);
}
