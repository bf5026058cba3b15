/* model_make.c - a model from a head, the end of a stream; and a model as tensors. */
#include "cluster/kmeans_internal.h"
#include "cluster/model.h"
#include "cluster/stream_start.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

/* What a file of a model contains; borrowed. */
struct parts {
    int64_t k, dim;
    double n, objective;
    const float *centers, *price; /* in the coordinates and units of the data */
    const float *reference;       /* NULL = cosine */
    const int64_t *size, *min_size, *max_size;
};

static int put_parts(struct ck_state *s, const struct parts *p)
{
    int64_t shape[2] = {p->k, p->dim};
    int rc;
    CK_TRY(ck_state_add(s, "centers", CK_F32, 2, shape, p->centers));
    CK_TRY(ck_state_add(s, "duals", CK_F32, 1, shape, p->price));
    CK_TRY(ck_state_add(s, "sizes", CK_I64, 1, shape, p->size));
    CK_TRY(ck_state_add(s, "min_sizes", CK_I64, 1, shape, p->min_size));
    if (p->max_size)
        CK_TRY(ck_state_add(s, "max_sizes", CK_I64, 1, shape, p->max_size));
    if (p->reference)
        CK_TRY(ck_state_add(s, "reference", CK_F32, 1, shape + 1, p->reference));
    CK_TRY(ck_state_add_meta(s, "format", p->reference ? "coke-kmeans-2" : "coke-kmeans"));
    CK_TRY(ck_state_add_meta(s, "version", COKE_VERSION));
    CK_TRY(ck_state_add_meta(s, "metric", p->reference ? "euclidean" : "cosine"));
    CK_TRY(ck_state_add_meta_number(s, "n", p->n));
    CK_TRY(ck_state_add_meta_number(s, "k", (double)p->k));
    CK_TRY(ck_state_add_meta_number(s, "dim", (double)p->dim));
    CK_TRY(ck_state_add_meta_number(s, "objective", p->objective));
done:
    return rc;
}

static const float *reference_of(const struct ck_frame *f)
{
    return f->metric == COKE_METRIC_EUCLIDEAN ? f->reference : NULL;
}

int ck_model_state(const struct coke_model *m, float *centers, float *price, struct ck_state *s)
{
    ck_model_centers(m, centers);
    for (int64_t i = 0; i < m->k; i++)
        price[i] = (float)((double)m->price[i] * ck_frame_scale(&m->frame));
    struct parts p = {.k = m->k,
                      .dim = m->dim,
                      .n = m->n,
                      .objective = m->objective,
                      .centers = centers,
                      .price = price,
                      .reference = reference_of(&m->frame),
                      .size = m->size,
                      .min_size = m->min_size,
                      .max_size = m->max_size};
    return put_parts(s, &p);
}

/* ---- from a head ---- */

/* Those of the batches so far; in the second stage those of the last epoch. By cosine they were
 * copied from the caller unchanged, but models have unit centers. */
static int take_centers(const struct coke_kmeans *km, float *centers)
{
    ck_kmeans_copy_centers(
        km, ck_kmeans_second_stage(km) ? CK_CENTERS_LAST : CK_CENTERS_CURRENT, centers);
    if (km->o.metric == COKE_METRIC_EUCLIDEAN)
        return COKE_OK;
    int rc = ck_normalize_rows(centers, km->k, (int)km->o.dim);
    return rc ? ck_fail_prefix(rc, "centers: ") : COKE_OK;
}

/* The average of the running epoch or, between two epochs, of the last. */
static void take_prices(const struct coke_kmeans *km, float *price)
{
    for (int64_t i = 0; i < km->k; i++)
        price[i] = (float)(ck_frame_scale(&km->frame) * (km->duals.steps > 0
                                                             ? ck_duals_average(&km->duals, i)
                                                             : (double)km->average[i]));
}

static void count_labels(const struct coke_kmeans *km, int64_t *size)
{
    for (int64_t i = 0; km->o.keep_labels && i < km->ids; i++) {
        int32_t label = ck_labels_get(&km->labels, i);
        if (label >= 0)
            size[label]++;
    }
}

/* By way of a state, as if it were saved and loaded: what a loaded model is checked for holds. */
int ck_model_from_kmeans(struct coke_model **out, const struct coke_kmeans *km,
                         const struct coke_assign_job *job, struct coke_head_summary *summary)
{
    struct ck_state s = {0};
    struct coke_model *m = NULL;
    int rc = COKE_ENOMEM;
    float *centers = ck_alloc_array((size_t)km->k, (size_t)km->o.dim * sizeof *centers);
    float *price = ck_alloc_array((size_t)km->k, sizeof *price);
    int64_t *size = ck_calloc_array((size_t)km->k, sizeof *size);
    *out = NULL;
    if (!centers || !price || !size)
        goto done;
    struct parts p = {.k = km->k,
                      .dim = km->o.dim,
                      .n = (double)km->o.n,
                      .centers = centers,
                      .price = price,
                      .reference = reference_of(&km->frame),
                      .size = size,
                      .min_size = km->min_size,
                      .max_size = km->max_size};
    CK_TRY(take_centers(km, centers));
    take_prices(km, price);
    count_labels(km, size);
    CK_TRY(put_parts(&s, &p));
    CK_TRY(ck_model_from_state(&m, &s));
    if (job)
        CK_TRY(ck_model_relabel(m, job, summary));
    *out = m;
    m = NULL;
done:
    ck_model_free(m);
    ck_state_release(&s);
    ck_free(centers);
    ck_free(price);
    ck_free(size);
    return rc;
}
