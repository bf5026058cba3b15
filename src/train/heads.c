/* heads.c - the clusterings of a training: targets for the loss, labels and centers for the
 * next epoch. */
#include "train/heads.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/stats.h"
#include "core/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Centers with a cosine beyond this count as one. */
#define SAME_PLACE 0.9999f

/* ---- making ---- */

/* Gaussian vectors of length 1. */
static float *first_centers(uint64_t seed, int head, int64_t k, int dim)
{
    float *c = ck_alloc_array((size_t)k * (size_t)dim, sizeof *c);
    for (int64_t i = 0; c && i < k; i++) {
        double sum = 0, g[2];
        float *v = c + i * dim;
        for (int j = 0; j < dim; j++) {
            if (j % 2 == 0)
                ck_rng_normal(seed, CK_RNG_INIT, (uint64_t)i,
                              (uint32_t)head << 16 | (uint32_t)j, g);
            v[j] = (float)g[j % 2];
            sum += (double)v[j] * (double)v[j];
        }
        for (int j = 0; j < dim; j++)
            v[j] = (float)((double)v[j] / fmax(sqrt(sum), 1e-12));
    }
    return c;
}

static int make_head(struct ck_heads *h, const struct ck_train_options *o, int i)
{
    struct ck_kmeans_options k = o->kmeans;
    int rc = COKE_OK;
    k.n = h->images;
    k.k = o->k.v[i];
    k.dim = h->dim;
    k.eta = ck_train_eta(o, h->images, i);
    float *first = first_centers((uint64_t)o->loader.view.seed, i, k.k, h->dim);
    h->center[i] = ck_alloc_array((size_t)k.k * (size_t)h->dim, sizeof(float));
    if (h->keep_best)
        h->kept[i] = ck_alloc_array((size_t)h->images, sizeof(int32_t));
    if (!first || !h->center[i] || (h->keep_best && !h->kept[i]))
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(ck_kmeans_new(&h->head[i], &k, first, NULL, NULL));
    memcpy(h->center[i], first, (size_t)k.k * (size_t)h->dim * sizeof(float));
    h->centers[i] = h->center[i];
    for (int64_t j = 0; h->keep_best && j < h->images; j++)
        h->kept[i][j] = -1;
done:
    ck_free(first);
    return rc;
}

int ck_heads_init(struct ck_heads *h, const struct ck_train_options *o, int64_t images)
{
    memset(h, 0, sizeof *h);
    h->n = o->k.n;
    h->dim = (int)o->encoder.dim;
    h->images = images;
    h->batch = o->loader.batch + 1; /* one image may join a batch */
    h->keep_best = o->keep_best;
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
    return ck_multihead_new(&h->multi, h->head, h->n);
}

void ck_heads_release(struct ck_heads *h)
{
    for (int i = 0; i < COKE_MAX_HEADS; i++) {
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

/* Centers without the padding of their rows. */
static void copy_centers(struct ck_heads *h, int i, const float *from)
{
    const struct coke_kmeans *km = h->head[i];
    for (int64_t c = 0; c < km->k; c++)
        memcpy(h->center[i] + c * h->dim, from + c * km->ld, (size_t)h->dim * sizeof(float));
}

/* ---- a step ---- */

/* Slots become targets: softmax of the weights over the slots in use. */
static void soften(const struct coke_kmeans *km, int64_t id, int32_t *label, float *weight)
{
    const struct ck_slots *s = &km->slots;
    double sum = 0;
    for (int j = 0; j < s->slots; j++) {
        float w = s->weight[id * s->slots + j];
        label[j] = w > 0 ? s->label[id * s->slots + j] : -1;
        weight[j] = w > 0 ? expf(w / (float)km->o.slot_temperature) : 0;
        sum += (double)weight[j];
    }
    for (int j = 0; j < s->slots; j++)
        weight[j] = (float)((double)weight[j] / sum);
}

/* In the first epoch of the second stage the labels are still those of the epoch before. */
static int is_soft(const struct coke_kmeans *km)
{
    return km->o.stage >= 0 && km->epoch > km->o.stage;
}

void ck_heads_read(struct ck_heads *h, const int64_t *ids, int64_t n, int current)
{
    for (int i = 0; i < h->n; i++) {
        const struct coke_kmeans *km = h->head[i];
        int32_t *label = h->target_label + (int64_t)i * h->batch * h->slots;
        float *weight = h->target_weight + (int64_t)i * h->batch * h->slots;
        if (current) {
            h->target[i] = (struct ck_targets){n, 1, h->label + (int64_t)i * n, NULL};
        } else if (is_soft(km)) {
            for (int64_t j = 0; j < n; j++)
                soften(km, ids[j], label + j * h->slots, weight + j * h->slots);
            h->target[i] = (struct ck_targets){n, h->slots, label, weight};
        } else {
            for (int64_t j = 0; j < n; j++)
                label[j] = ck_labels_get(&km->labels, ids[j]);
            h->target[i] = (struct ck_targets){n, 1, label, NULL};
        }
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
    const struct coke_kmeans *km = h->head[i];
    struct ck_head_sums *s = &h->sums[i];
    const int32_t *label = h->label + (int64_t)i * n, *old = h->old + (int64_t)i * n;
    for (int64_t j = 0; j < n; j++) {
        const float *v = x + j * h->dim;
        double fit = similarity(v, km->prev + (int64_t)label[j] * km->ld, h->dim);
        s->fit += fit;
        if (old[j] == label[j])
            s->old_fit += fit;
        else if (old[j] >= 0)
            s->old_fit += similarity(v, km->prev + (int64_t)old[j] * km->ld, h->dim);
        s->changed += old[j] != label[j];
    }
    s->seen += n;
}

int ck_heads_update(struct ck_heads *h, const float *x, const int64_t *ids, int64_t n,
                    int current, const struct ck_label_share *share)
{
    for (int i = 0; i < h->n; i++)
        for (int64_t j = 0; j < n; j++) {
            int32_t old = ck_labels_get(&h->head[i]->labels, ids[j]);
            h->old[(int64_t)i * n + j] = old;
            if (h->keep_best)
                h->kept[i][ids[j]] = old;
        }
    CK_RETURN_IF(ck_multihead_step(h->multi, x, ids, n, share, h->label));
    for (int i = 0; i < h->n; i++) {
        compare(h, i, x, n);
        if (h->current_centers)
            copy_centers(h, i, h->head[i]->cur);
    }
    if (current)
        ck_heads_read(h, ids, n, 1);
    return COKE_OK;
}

/* ---- an epoch ---- */

/* Corollary 1: over all images of the epoch, did the last labels fit better than the new ones?
 */
static int keeps_last(const struct ck_heads *h, int i)
{
    return h->keep_best && h->head[i]->epoch > 0 && h->sums[i].old_fit >= h->sums[i].fit;
}

int ck_heads_epoch_end(struct ck_heads *h)
{
    for (int i = 0; i < h->n; i++)
        for (int64_t j = 0; keeps_last(h, i) && j < h->images; j++)
            if (h->kept[i][j] >= 0)
                ck_labels_set(&h->head[i]->labels, j, h->kept[i][j]);
    CK_RETURN_IF(ck_multihead_epoch_end(h->multi));
    for (int i = 0; i < h->n; i++)
        copy_centers(h, i, h->head[i]->prev);
    memset(h->sums, 0, sizeof h->sums);
    return COKE_OK;
}

static void measure_sizes(int64_t *size, struct ck_head_health *out, double total)
{
    out->entropy = 0;
    for (int64_t c = 0; c < out->k; c++) {
        double p = (double)size[c] / fmax(total, 1);
        out->empty += size[c] == 0;
        out->below += size[c] < out->bound;
        out->entropy -= p > 0 ? p * log(p) : 0;
    }
    out->entropy /= log((double)out->k);
    struct ck_spread s = ck_spread_sort(size, out->k);
    out->size_min = s.min;
    out->size_median = s.median;
    out->size_max = s.max;
}

struct twins {
    const struct coke_kmeans *km;
    int64_t *found; /* [k] */
    int dim;
};

/* Is there an earlier center in the same place? */
static void find_twin(void *arg, int64_t c, int worker)
{
    struct twins *t = arg;
    const float *a = t->km->cur + c * t->km->ld;
    (void)worker;
    t->found[c] = 0;
    for (int64_t d = 0; d < c && !t->found[c]; d++) {
        const float *b = t->km->cur + d * t->km->ld;
        float sum = 0;
        for (int j = 0; j < t->dim; j++)
            sum += a[j] * b[j];
        t->found[c] = sum > SAME_PLACE;
    }
}

int ck_heads_health(const struct ck_heads *h, int i, struct ck_head_health *out)
{
    const struct coke_kmeans *km = h->head[i];
    const struct ck_head_sums *s = &h->sums[i];
    double seen = fmax((double)s->seen, 1);
    int64_t *work = ck_alloc_array((size_t)km->k, sizeof *work);
    if (!work)
        return COKE_ENOMEM;
    *out = (struct ck_head_health){.k = km->k,
                                   .loss = s->loss / seen,
                                   .accuracy = s->accuracy / seen,
                                   .objective = s->fit / seen,
                                   .bound = km->min_size[0],
                                   .changed = (double)s->changed / seen,
                                   .kept = keeps_last(h, i)};
    memcpy(work, km->count, (size_t)km->k * sizeof *work);
    measure_sizes(work, out, seen);
    struct twins t = {km, work, h->dim};
    ck_parallel(km->k, find_twin, &t);
    out->dual_min = out->dual_max = (double)km->duals.rho[0];
    for (int64_t c = 0; c < km->k; c++) {
        out->duplicates += work[c];
        out->dual_min = fmin(out->dual_min, (double)km->duals.rho[c]);
        out->dual_max = fmax(out->dual_max, (double)km->duals.rho[c]);
    }
    ck_free(work);
    return COKE_OK;
}

/* ---- saving ---- */

enum { NAME = 96 };

/* The tensors and texts of one head get its number in front of their names. */
static int add_prefixed(struct ck_state *s, const struct ck_state *from, const char *prefix)
{
    char name[NAME];
    for (int i = 0; i < from->ntensors; i++) {
        const struct ck_tensor *t = &from->tensor[i];
        snprintf(name, sizeof name, "%s%s", prefix, t->name);
        CK_RETURN_IF(ck_state_add(s, name, t->dtype, t->ndim, t->shape, t->data));
    }
    for (int i = 0; i < from->nmeta; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, from->meta[i].key);
        CK_RETURN_IF(ck_state_add_meta(s, name, from->meta[i].value));
    }
    return COKE_OK;
}

static int take_prefixed(struct ck_state *out, const struct ck_state *s, const char *prefix)
{
    size_t n = strlen(prefix);
    for (int i = 0; i < s->ntensors; i++) {
        const struct ck_tensor *t = &s->tensor[i];
        if (strncmp(t->name, prefix, n) == 0)
            CK_RETURN_IF(ck_state_add(out, t->name + n, t->dtype, t->ndim, t->shape, t->data));
    }
    for (int i = 0; i < s->nmeta; i++)
        if (strncmp(s->meta[i].key, prefix, n) == 0)
            CK_RETURN_IF(ck_state_add_meta(out, s->meta[i].key + n, s->meta[i].value));
    return COKE_OK;
}

static int save_head(const struct ck_heads *h, int i, struct ck_state *s)
{
    struct ck_state one = {0};
    char prefix[24], name[NAME];
    int rc = COKE_OK;
    int64_t sums = (int64_t)(sizeof h->sums[i] / sizeof(int64_t));
    snprintf(prefix, sizeof prefix, "head%d.", i);
    CK_TRY(ck_kmeans_state(h->head[i], &one));
    CK_TRY(add_prefixed(s, &one, prefix));
    snprintf(name, sizeof name, "%sepoch_sums", prefix);
    CK_TRY(ck_state_add(s, name, CK_I64, 1, &sums, &h->sums[i]));
    if (h->keep_best) {
        snprintf(name, sizeof name, "%skept", prefix);
        CK_TRY(ck_state_add(s, name, CK_I32, 1, &h->images, h->kept[i]));
    }
done:
    ck_state_release(&one);
    return rc;
}

int ck_heads_save(const struct ck_heads *h, struct ck_state *s)
{
    int rc = COKE_OK;
    for (int i = 0; i < h->n && !rc; i++)
        rc = save_head(h, i, s);
    return rc;
}

static int copy_tensor(const struct ck_state *s, const char *name, void *out, size_t bytes)
{
    const struct ck_tensor *t = ck_state_find(s, name);
    if (!t || ck_tensor_elements(t) * (int64_t)ck_dtype_size(t->dtype) != (int64_t)bytes)
        return ck_fail(COKE_EFORMAT, "'%s' is missing or of another size", name);
    memcpy(out, t->data, bytes);
    return COKE_OK;
}

/* What save_head added of head i. */
static int take_head(struct ck_state *one, const struct ck_state *s, int i)
{
    char prefix[24];
    snprintf(prefix, sizeof prefix, "head%d.", i);
    return take_prefixed(one, s, prefix);
}

int ck_heads_restore_one(const struct ck_state *s, int i, struct coke_kmeans **out)
{
    struct ck_state one = {0};
    int rc = COKE_OK;
    *out = NULL;
    CK_TRY(take_head(&one, s, i));
    if (one.nmeta > 0)
        CK_TRY(ck_kmeans_restore(out, &one));
done:
    ck_state_release(&one);
    return rc;
}

static int load_head(struct ck_heads *h, int i, const struct ck_state *s,
                     struct coke_kmeans **out)
{
    struct ck_state one = {0};
    int rc = COKE_OK;
    CK_TRY(take_head(&one, s, i));
    CK_TRY(ck_kmeans_restore(out, &one));
    const struct coke_kmeans *km = *out, *mine = h->head[i];
    if (km->k != mine->k || km->o.n != mine->o.n || km->o.dim != mine->o.dim)
        CK_FAIL(COKE_EFORMAT, "head %d has %lld clusters of %lld images, not %lld of %lld", i,
                (long long)km->k, (long long)km->o.n, (long long)mine->k, (long long)mine->o.n);
    CK_TRY(copy_tensor(&one, "epoch_sums", &h->sums[i], sizeof h->sums[i]));
    if (h->keep_best)
        CK_TRY(copy_tensor(&one, "kept", h->kept[i], (size_t)h->images * sizeof(int32_t)));
done:
    ck_state_release(&one);
    return rc;
}

int ck_heads_load(struct ck_heads *h, const struct ck_state *s)
{
    int rc = COKE_OK;
    struct coke_kmeans *fresh[COKE_MAX_HEADS] = {0};
    struct coke_multihead *multi = NULL;
    for (int i = 0; i < h->n; i++)
        CK_TRY(load_head(h, i, s, &fresh[i]));
    CK_TRY(ck_multihead_new(&multi, fresh, h->n));
    ck_multihead_free(h->multi);
    h->multi = multi;
    for (int i = 0; i < h->n; i++) {
        h->head[i] = fresh[i];
        fresh[i] = NULL;
        copy_centers(h, i, h->current_centers ? h->head[i]->cur : h->head[i]->prev);
    }
done:
    for (int i = 0; i < h->n; i++)
        ck_kmeans_free(fresh[i]);
    return rc;
}
