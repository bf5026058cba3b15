/* api_kmeans.c - public functions on a clustering, batch by batch. */
#include "cluster/kmeans.h"
#include "core/error.h"
#include "core/state.h"
#include "io/safetensors.h"

const char *coke_version(void)
{
    return COKE_VERSION;
}

int coke_kmeans_step(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                     int32_t *labels)
{
    if (!km || !x || !labels || n < 1 || n > INT32_MAX)
        return ck_fail(COKE_EUSAGE, "coke_kmeans_step: %lld rows, or an argument is NULL",
                       (long long)n);
    return ck_kmeans_step(km, x, ids, n, labels);
}

int coke_kmeans_predict(const struct coke_kmeans *km, const float *x, int64_t n,
                        int32_t *labels, float *scores)
{
    if (!km || !x || !labels || n < 0)
        return ck_fail(COKE_EUSAGE, "coke_kmeans_predict: %lld rows, or an argument is NULL",
                       (long long)n);
    return ck_kmeans_predict(km, x, n, labels, scores);
}

int coke_kmeans_copy(const struct coke_kmeans *km, enum coke_kmeans_array what, void *out,
                     int64_t room)
{
    if (!km || !out)
        return ck_fail(COKE_EUSAGE, "coke_kmeans_copy: an argument is NULL");
    return ck_kmeans_copy(km, what, out, room);
}

int coke_kmeans_soft_targets(const struct coke_kmeans *km, const int64_t *ids, int64_t n,
                             float *targets)
{
    if (!km || !ids || !targets)
        return ck_fail(COKE_EUSAGE, "coke_kmeans_soft_targets: an argument is NULL");
    return ck_kmeans_soft_targets(km, ids, n, targets);
}

int coke_kmeans_save(const struct coke_kmeans *km, const char *path)
{
    struct ck_state s = {0};
    int rc;
    if (!km || !path)
        return ck_fail(COKE_EUSAGE, "coke_kmeans_save: an argument is NULL");
    CK_TRY(ck_kmeans_state(km, &s));
    CK_TRY(ck_safetensors_write(path, &s, 1));
done:
    ck_state_release(&s);
    return rc;
}

int coke_kmeans_load(struct coke_kmeans **out, const char *path)
{
    struct ck_state s = {0};
    if (!out || !path)
        return ck_fail(COKE_EUSAGE, "coke_kmeans_load: an argument is NULL");
    *out = NULL;
    int rc = ck_safetensors_read(path, &s);
    if (!rc) {
        rc = ck_kmeans_restore(out, &s);
        if (rc)
            ck_fail_prefix(rc, "%s: ", path);
    }
    ck_state_release(&s);
    return rc;
}
