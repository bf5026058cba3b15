/* run_heads.c - the clusterings of a run as plain arrays, for readers of its files. */
#include "train/run_heads.h"
#include "cluster/kmeans.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

int ck_run_head_init(struct ck_run_head *out, const struct ck_run *r, int h)
{
    const struct coke_kmeans *km = r->head[h];
    size_t k = (size_t)km->k, n = (size_t)km->o.n, dim = (size_t)km->o.dim;
    *out = (struct ck_run_head){.n = km->o.n, .k = km->k, .dim = (int)dim};
    out->label = ck_alloc_array(n, sizeof *out->label);
    out->center = ck_alloc_array(k, dim * sizeof *out->center);
    out->dual = ck_alloc_array(k, sizeof *out->dual);
    out->min_size = ck_alloc_array(k, sizeof *out->min_size);
    if (!out->label || !out->center || !out->dual || !out->min_size)
        return ck_fail(COKE_ENOMEM, "out of memory for the labels of %zu images", n);
    CK_RETURN_IF(ck_kmeans_copy(km, COKE_ARRAY_LABELS, out->label, (int64_t)n));
    CK_RETURN_IF(ck_kmeans_copy(km, COKE_ARRAY_PREVIOUS, out->center, (int64_t)(k * dim)));
    CK_RETURN_IF(ck_kmeans_copy(km, COKE_ARRAY_DUALS, out->dual, (int64_t)k));
    memcpy(out->min_size, km->min_size, k * sizeof *out->min_size);
    return COKE_OK;
}

void ck_run_head_release(struct ck_run_head *h)
{
    ck_free(h->label);
    ck_free(h->center);
    ck_free(h->dual);
    ck_free(h->min_size);
    memset(h, 0, sizeof *h);
}
