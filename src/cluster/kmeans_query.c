/* kmeans_query.c - what a clustering answers between batches: nearest centers, its arrays. */
#include "cluster/kmeans.h"
#include "core/error.h"

#include <string.h>

int ck_kmeans_step_rows(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                        int32_t *labels)
{
    CK_RETURN_IF(ck_kmeans_check_ids(km, ids, n));
    CK_RETURN_IF(ck_padded_rows_fill(&km->batch, x, n, (int)km->o.dim));
    return ck_kmeans_step(km, km->batch.x, ids, n, labels);
}

int ck_kmeans_predict(const struct coke_kmeans *km, const float *x, int64_t n, int32_t *labels,
                      float *scores)
{
    struct ck_padded_rows batch = {0};
    struct ck_assigner *a = NULL;
    int rc;
    CK_TRY(ck_padded_rows_fill(&batch, x, n, (int)km->o.dim));
    CK_TRY(ck_assigner_new(&a, km->kn, km->prev, km->k, km->ld));
    ck_assigner_settle(a, NULL);
    ck_assign(a, batch.x, n, labels, scores);
done:
    ck_assigner_free(a);
    ck_padded_rows_release(&batch);
    return rc;
}

static int copy_centers(const struct coke_kmeans *km, const float *from, float *out)
{
    for (int64_t i = 0; i < km->k; i++)
        memcpy(out + i * km->o.dim, from + i * km->ld, (size_t)km->o.dim * sizeof *out);
    return COKE_OK;
}

static int copy_array(const void *from, int64_t n, size_t size, void *out)
{
    if (from)
        memcpy(out, from, (size_t)n * size);
    else
        memset(out, 0, (size_t)n * size);
    return COKE_OK;
}

static int64_t elements(const struct coke_kmeans *km, enum coke_array what)
{
    switch (what) {
    case COKE_ARRAY_CURRENT:
    case COKE_ARRAY_PREVIOUS:
        return km->k * km->o.dim;
    case COKE_ARRAY_DUALS:
    case COKE_ARRAY_UPPER_DUALS:
    case COKE_ARRAY_AVERAGE_DUALS:
    case COKE_ARRAY_COUNTS:
        return km->k;
    case COKE_ARRAY_LABELS:
        return km->o.keep_labels ? km->o.n : -1;
    case COKE_ARRAY_SLOT_LABELS:
    case COKE_ARRAY_SLOT_WEIGHTS:
        return km->o.stage >= 0 ? km->o.n * km->o.slots : -1;
    }
    return -1;
}

int ck_kmeans_copy(const struct coke_kmeans *km, enum coke_array what, void *out, int64_t room)
{
    int64_t n = elements(km, what);
    if (n < 0)
        return ck_fail(COKE_EUSAGE, "this clustering keeps no such array (%d)", (int)what);
    if (room < n)
        return ck_fail(COKE_EUSAGE, "array %d has %lld elements, there is room for %lld",
                       (int)what, (long long)n, (long long)room);
    switch (what) {
    case COKE_ARRAY_CURRENT:
        return copy_centers(km, km->cur, out);
    case COKE_ARRAY_PREVIOUS:
        return copy_centers(km, km->prev, out);
    case COKE_ARRAY_DUALS:
        return copy_array(km->duals.rho, n, sizeof(float), out);
    case COKE_ARRAY_UPPER_DUALS:
        return copy_array(km->duals.sigma, n, sizeof(float), out);
    case COKE_ARRAY_AVERAGE_DUALS:
        return copy_array(km->average, n, sizeof(float), out);
    case COKE_ARRAY_COUNTS:
        return copy_array(km->count, n, sizeof(int64_t), out);
    case COKE_ARRAY_LABELS:
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)out)[i] = ck_labels_get(&km->labels, i);
        return COKE_OK;
    case COKE_ARRAY_SLOT_LABELS:
        return copy_array(km->slots.label, n, sizeof(int32_t), out);
    case COKE_ARRAY_SLOT_WEIGHTS:
        return copy_array(km->slots.weight, n, sizeof(float), out);
    }
    return ck_fail(COKE_EUSAGE, "there is no array %d", (int)what);
}

int ck_kmeans_soft_targets(const struct coke_kmeans *km, const int64_t *ids, int64_t n,
                           float *targets)
{
    if (km->o.stage < 0)
        return ck_fail(COKE_EUSAGE, "this clustering has no second stage");
    int rc = ck_kmeans_check_ids(km, ids, n);
    for (int64_t i = 0; i < n && !rc; i++)
        ck_slots_target(&km->slots, ids[i], (float)km->o.slot_temperature, targets + i * km->k,
                        km->k);
    return rc;
}
