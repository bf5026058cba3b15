/* heads.c - the clusterings of a training: targets for the loss, labels and centers for the
 * next epoch. */
#include "train/heads.h"
#include "cluster/start.h"
#include "core/error.h"
#include "core/mem.h"
#include "nn/mlp.h"

#include <math.h>
#include <string.h>

/* Centers with a cosine beyond this count as one. */
#define SAME_PLACE 0.9999f

/* ---- making ---- */

static int make_head(struct ck_heads *h, const struct ck_train_options *o, int i)
{
    struct ck_kmeans_options k = o->kmeans;
    int rc = COKE_OK;
    k.n = h->images;
    k.k = o->k.v[i];
    k.dim = h->dim;
    k.eta = ck_train_eta(o, h->images, i);
    float *first = ck_alloc_array((size_t)k.k * (size_t)h->dim, sizeof *first);
    h->center[i] = ck_alloc_array((size_t)k.k * (size_t)h->dim, sizeof(float));
    if (h->keep_best)
        h->kept[i] = ck_alloc_array((size_t)h->images, sizeof(int32_t));
    if (!first || !h->center[i] || (h->keep_best && !h->kept[i]))
        CK_LEAVE(COKE_ENOMEM);
    ck_start_random((uint64_t)o->loader.view.seed, i, k.k, h->dim, first);
    CK_TRY(ck_kmeans_new(&h->head[i], &k, first, NULL, NULL));
    memcpy(h->center[i], first, (size_t)k.k * (size_t)h->dim * sizeof(float));
    h->centers[i] = h->center[i];
    for (int64_t j = 0; h->keep_best && j < h->images; j++)
        h->kept[i][j] = -1;
done:
    ck_free(first);
    return rc;
}

/* The heads as one: they see the same rows. */
static int join_heads(struct ck_heads *h, struct coke_kmeans *const *head)
{
    struct coke_multihead *multi = NULL;
    CK_RETURN_IF(ck_multihead_new(&multi, head, h->n));
    ck_multihead_free(h->multi);
    h->multi = multi;
    for (int i = 0; i < h->n; i++)
        h->head[i] = head[i];
    return COKE_OK;
}

int ck_heads_init(struct ck_heads *h, const struct ck_train_options *o, int64_t images)
{
    memset(h, 0, sizeof *h);
    h->n = o->k.n;
    h->dim = (int)ck_projector_dim(&o->encoder);
    h->images = images;
    h->batch = o->loader.batch + 1; /* one image may join a batch */
    h->keep_best = o->keep_best;
    h->round = o->round;
    h->current_centers = o->centers == CK_COUPLING_CURRENT;
    h->slots = o->kmeans.stage >= 0 ? (int)o->kmeans.slots : 1;
    size_t rows = (size_t)h->n * (size_t)h->batch;
    h->label = ck_alloc_array(rows, sizeof *h->label);
    h->old = ck_alloc_array(rows, sizeof *h->old);
    h->target_label = ck_alloc_array(rows * (size_t)h->slots, sizeof *h->target_label);
    h->target_weight = ck_alloc_array(rows * (size_t)h->slots, sizeof *h->target_weight);
    if (!h->label || !h->old || !h->target_label || !h->target_weight)
        return COKE_ENOMEM;
    for (int i = 0; i < h->n; i++)
        CK_RETURN_IF(make_head(h, o, i));
    return join_heads(h, h->head);
}

int ck_heads_use_entropy(struct ck_heads *h, double weight)
{
    for (int i = 0; i < h->n; i++)
        CK_RETURN_IF(ck_entropy_init(&h->entropy[i], h->head[i], weight));
    return COKE_OK;
}

void ck_heads_release(struct ck_heads *h)
{
    for (int i = 0; i < COKE_MAX_HEADS; i++) {
        ck_entropy_release(&h->entropy[i]);
        if (!h->multi)
            ck_kmeans_free(h->head[i]);
        ck_free(h->center[i]);
        ck_free(h->kept[i]);
    }
    ck_multihead_free(h->multi); /* and its heads */
    ck_free(h->label);
    ck_free(h->old);
    ck_free(h->target_label);
    ck_free(h->target_weight);
    memset(h, 0, sizeof *h);
}

/* ---- a step ---- */

void ck_heads_read(struct ck_heads *h, const int64_t *ids, int64_t n, int64_t first,
                   int current)
{
    for (int i = 0; i < h->n; i++) {
        int64_t at = (int64_t)i * h->batch * h->slots;
        if (current)
            h->target[i] =
                (struct ck_targets){.n = n, .slots = 1, .label = h->label + (int64_t)i * n};
        else
            ck_kmeans_targets(h->head[i], ids, n, h->target_label + at, h->target_weight + at,
                              &h->target[i]);
        h->target[i].first = first;
    }
}

static double similarity(const float *x, const float *c, int dim)
{
    double sum = 0;
    for (int j = 0; j < dim; j++)
        sum += (double)x[j] * (double)c[j];
    return sum;
}

/* How well the images fit what they were and what they became. */
static void compare(struct ck_heads *h, int i, const float *x, int64_t n)
{
    const float *center = ck_kmeans_centers(h->head[i], CK_CENTERS_LAST);
    int64_t ld = ck_kmeans_ld(h->head[i]);
    struct ck_head_sums *s = &h->sums[i];
    const int32_t *label = h->label + (int64_t)i * n, *old = h->old + (int64_t)i * n;
    for (int64_t j = 0; j < n; j++) {
        const float *v = x + j * h->dim;
        double fit = similarity(v, center + label[j] * ld, h->dim);
        s->fit += fit;
        if (old[j] == label[j])
            s->old_fit += fit;
        else if (old[j] >= 0)
            s->old_fit += similarity(v, center + old[j] * ld, h->dim);
        s->changed += old[j] != label[j];
    }
    s->seen += n;
}

/* The entropy needs little, which every process computes for all rows. */
static int assign(struct ck_heads *h, const float *x, const int64_t *ids, int64_t n,
                  const struct ck_share *share)
{
    if (!(h->entropy[0].weight > 0))
        return ck_multihead_step(h->multi, x, ids, n, share, h->label);
    for (int i = 0; i < h->n; i++)
        CK_RETURN_IF(
            ck_entropy_step(&h->entropy[i], h->head[i], x, ids, n, h->label + (int64_t)i * n));
    return COKE_OK;
}

/* Rounds are counted from the beginning of the epoch; `before`: images seen before this step. */
static void end_round(struct ck_heads *h, int64_t before)
{
    if (h->round == 0 || before / h->round == h->sums[0].seen / h->round)
        return;
    for (int i = 0; i < h->n; i++) {
        ck_kmeans_round_end(h->head[i]);
        ck_kmeans_copy_centers(h->head[i], CK_CENTERS_LAST, h->center[i]);
    }
}

int ck_heads_update(struct ck_heads *h, const float *x, const int64_t *ids, int64_t n,
                    int current, const struct ck_share *share)
{
    int64_t before = h->sums[0].seen;
    for (int i = 0; i < h->n; i++)
        for (int64_t j = 0; j < n; j++) {
            int32_t old = ck_kmeans_label(h->head[i], ids[j]);
            h->old[(int64_t)i * n + j] = old;
            if (h->keep_best)
                h->kept[i][ids[j]] = old;
        }
    CK_RETURN_IF(assign(h, x, ids, n, share));
    for (int i = 0; i < h->n; i++) {
        compare(h, i, x, n);
        if (h->current_centers)
            ck_kmeans_copy_centers(h->head[i], CK_CENTERS_CURRENT, h->center[i]);
    }
    end_round(h, before);
    if (current)
        ck_heads_read(h, ids, n, 0, 1);
    return COKE_OK;
}

/* ---- an epoch ---- */

/* Corollary 1: over all images of the epoch, did the last labels fit better than the new ones?
 */
static int keeps_last(const struct ck_heads *h, int i)
{
    return h->keep_best && ck_kmeans_epoch(h->head[i]) > 0 &&
           h->sums[i].old_fit >= h->sums[i].fit;
}

int ck_heads_epoch_end(struct ck_heads *h)
{
    for (int i = 0; i < h->n; i++)
        for (int64_t j = 0; keeps_last(h, i) && j < h->images; j++)
            if (h->kept[i][j] >= 0)
                ck_kmeans_set_label(h->head[i], j, h->kept[i][j]);
    CK_RETURN_IF(ck_multihead_epoch_end(h->multi));
    for (int i = 0; i < h->n; i++)
        ck_kmeans_copy_centers(h->head[i], CK_CENTERS_LAST, h->center[i]);
    memset(h->sums, 0, sizeof h->sums);
    return COKE_OK;
}

int ck_heads_health(const struct ck_heads *h, int i, struct ck_head_health *out)
{
    const struct coke_kmeans *km = h->head[i];
    const struct ck_head_sums *s = &h->sums[i];
    const float *dual = ck_kmeans_duals(km);
    double seen = fmax((double)s->seen, 1);
    struct ck_size_summary size;
    CK_RETURN_IF(h->round ? ck_kmeans_label_sizes(km, &size) : ck_kmeans_sizes(km, &size));
    *out = (struct ck_head_health){.k = ck_kmeans_k(km),
                                   .loss = s->loss / seen,
                                   .accuracy = s->accuracy / seen,
                                   .objective = s->fit / seen,
                                   .size_min = size.min,
                                   .size_median = size.median,
                                   .size_max = size.max,
                                   .bound = ck_kmeans_min_sizes(km)[0],
                                   .below = size.below,
                                   .empty = size.empty,
                                   .changed = (double)s->changed / seen,
                                   .entropy = size.entropy,
                                   .dual_min = (double)dual[0],
                                   .dual_max = (double)dual[0],
                                   .kept = keeps_last(h, i)};
    for (int64_t c = 0; c < out->k; c++) {
        out->dual_min = fmin(out->dual_min, (double)dual[c]);
        out->dual_max = fmax(out->dual_max, (double)dual[c]);
    }
    return ck_kmeans_count_twins(km, SAME_PLACE, &out->duplicates);
}

/* ---- loading ---- */

int ck_heads_replace(struct ck_heads *h, struct coke_kmeans *const *fresh)
{
    CK_RETURN_IF(join_heads(h, fresh));
    for (int i = 0; i < h->n; i++) {
        if (h->entropy[i].weight > 0)
            ck_entropy_recount(&h->entropy[i], h->head[i]);
        ck_kmeans_copy_centers(h->head[i],
                               h->current_centers ? CK_CENTERS_CURRENT : CK_CENTERS_LAST,
                               h->center[i]);
    }
    return COKE_OK;
}
