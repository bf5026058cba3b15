/* run_heads.c - the clusterings of a run as plain arrays, for readers of its files. */
#include "train/run_heads.h"
#include "cluster/kmeans.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

int ck_run_head_init(struct ck_run_head *out, const struct ck_run *r, int h)
{
    const struct coke_kmeans *km = r->head[h];
    size_t k = (size_t)ck_kmeans_k(km), n = (size_t)ck_kmeans_n(km),
           dim = (size_t)ck_kmeans_dim(km);
    *out = (struct ck_run_head){.n = ck_kmeans_n(km), .k = ck_kmeans_k(km), .dim = (int)dim};
    out->label = ck_alloc_array(n, sizeof *out->label);
    out->center = ck_alloc_array(k, dim * sizeof *out->center);
    out->dual = ck_alloc_array(k, sizeof *out->dual);
    out->min_size = ck_alloc_array(k, sizeof *out->min_size);
    if (!out->label || !out->center || !out->dual || !out->min_size)
        return COKE_ENOMEM;
    CK_RETURN_IF(ck_kmeans_copy(km, COKE_ARRAY_LABELS, out->label, (int64_t)n));
    CK_RETURN_IF(ck_kmeans_copy(km, COKE_ARRAY_PREVIOUS, out->center, (int64_t)(k * dim)));
    CK_RETURN_IF(ck_kmeans_copy(km, COKE_ARRAY_DUALS, out->dual, (int64_t)k));
    memcpy(out->min_size, ck_kmeans_min_sizes(km), k * sizeof *out->min_size);
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
