/* kmeans_read.c - accessors for other layers: sizes, centers, labels, targets. */
#include "cluster/kmeans_internal.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/stats.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

int64_t ck_kmeans_k(const struct coke_kmeans *km)
{
    return km->k;
}

int64_t ck_kmeans_n(const struct coke_kmeans *km)
{
    return km->o.n;
}

int ck_kmeans_dim(const struct coke_kmeans *km)
{
    return (int)km->o.dim;
}

int64_t ck_kmeans_epoch(const struct coke_kmeans *km)
{
    return km->epoch;
}

const float *ck_kmeans_centers(const struct coke_kmeans *km, enum ck_center_set which)
{
    return which == CK_CENTERS_CURRENT ? km->cur : km->prev;
}

int ck_kmeans_ld(const struct coke_kmeans *km)
{
    return km->ld;
}

void ck_kmeans_copy_centers(const struct coke_kmeans *km, enum ck_center_set which, float *out)
{
    const float *from = ck_kmeans_centers(km, which);
    for (int64_t i = 0; i < km->k; i++)
        ck_frame_center_out(&km->frame, from + i * km->ld, out + i * km->o.dim);
}

int32_t ck_kmeans_metric(const struct coke_kmeans *km)
{
    return km->o.metric;
}

const float *ck_kmeans_reference(const struct coke_kmeans *km)
{
    return km->frame.reference;
}

const float *ck_kmeans_duals(const struct coke_kmeans *km)
{
    return km->duals.rho;
}

const int64_t *ck_kmeans_counts(const struct coke_kmeans *km)
{
    return km->count;
}

const int64_t *ck_kmeans_min_sizes(const struct coke_kmeans *km)
{
    return km->min_size;
}

const int64_t *ck_kmeans_max_sizes(const struct coke_kmeans *km)
{
    return km->max_size;
}

int32_t ck_kmeans_label(const struct coke_kmeans *km, int64_t id)
{
    return ck_labels_get(&km->labels, id);
}

void ck_kmeans_set_label(struct coke_kmeans *km, int64_t id, int32_t label)
{
    ck_labels_set(&km->labels, id, label);
}

/* ---- targets ---- */

int ck_kmeans_target_slots(const struct coke_kmeans *km)
{
    return km->o.stage >= 0 ? (int)km->o.slots : 1;
}

/* In the first epoch of the second stage no slot is filled yet: targets are the labels of the
 * epoch before. */
static int is_soft(const struct coke_kmeans *km)
{
    return km->o.stage >= 0 && km->epoch > km->o.stage;
}

void ck_kmeans_targets(const struct coke_kmeans *km, const int64_t *ids, int64_t n,
                       int32_t *label, float *weight, struct ck_targets *out)
{
    int soft = is_soft(km), slots = soft ? (int)km->o.slots : 1;
    for (int64_t i = 0; i < n; i++)
        if (soft)
            ck_slots_read(&km->slots, ids[i], (float)km->o.slot_temperature, label + i * slots,
                          weight + i * slots);
        else
            label[i] = ck_labels_get(&km->labels, ids[i]);
    *out = (struct ck_targets){
        .n = n, .slots = slots, .label = label, .weight = soft ? weight : NULL};
}

int ck_kmeans_soft_targets(const struct coke_kmeans *km, const int64_t *ids, int64_t n,
                           float *targets)
{
    if (km->o.stage < 0)
        return ck_fail(COKE_EUSAGE, "this clustering has no second stage");
    CK_RETURN_IF(ck_kmeans_check_ids(km, ids, n));
    for (int64_t i = 0; i < n; i++)
        ck_slots_target(&km->slots, ids[i], (float)km->o.slot_temperature, targets + i * km->k,
                        km->k);
    return COKE_OK;
}

/* ---- measures ---- */

/* Sorts size [k]. */
static void sum_up_sizes(const struct coke_kmeans *km, int64_t *size,
                         struct ck_size_summary *out)
{
    int64_t total = 0;
    *out = (struct ck_size_summary){0};
    for (int64_t c = 0; c < km->k; c++)
        total += size[c];
    for (int64_t c = 0; c < km->k; c++) {
        double p = (double)size[c] / fmax((double)total, 1);
        out->empty += size[c] == 0;
        out->below += size[c] < km->min_size[c];
        out->entropy -= p > 0 ? p * log(p) : 0;
    }
    out->entropy /= log((double)km->k);
    struct ck_spread s = ck_spread_sort(size, km->k);
    out->min = s.min;
    out->median = s.median;
    out->max = s.max;
}

int ck_kmeans_sizes(const struct coke_kmeans *km, struct ck_size_summary *out)
{
    int64_t *size = ck_alloc_array((size_t)km->k, sizeof *size);
    if (!size)
        return COKE_ENOMEM;
    memcpy(size, km->count, (size_t)km->k * sizeof *size);
    sum_up_sizes(km, size, out);
    ck_free(size);
    return COKE_OK;
}

int ck_kmeans_label_sizes(const struct coke_kmeans *km, struct ck_size_summary *out)
{
    int64_t *size = ck_calloc_array((size_t)km->k, sizeof *size);
    if (!size)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < km->ids; i++) {
        int32_t label = ck_kmeans_label(km, i);
        if (label >= 0)
            size[label]++;
    }
    sum_up_sizes(km, size, out);
    ck_free(size);
    return COKE_OK;
}

struct twins {
    const struct coke_kmeans *km;
    float cosine;
    uint8_t *found; /* [k] */
};

/* Marks center c if a center of lower index has a cosine above the limit. Centers have unit
 * length (coke train clusters by cosine), so the dot product is the cosine. Threads write separate bytes of `found`. */
static void find_twin(void *arg, int64_t c, int worker)
{
    struct twins *t = arg;
    const struct coke_kmeans *km = t->km;
    const float *a = km->cur + c * km->ld;
    (void)worker;
    t->found[c] = 0;
    for (int64_t d = 0; d < c && !t->found[c]; d++) {
        const float *b = km->cur + d * km->ld;
        float sum = 0;
        for (int64_t j = 0; j < km->o.dim; j++)
            sum += a[j] * b[j];
        t->found[c] = sum > t->cosine;
    }
}

int ck_kmeans_count_twins(const struct coke_kmeans *km, float cosine, int64_t *out)
{
    struct twins t = {km, cosine, ck_alloc_array((size_t)km->k, sizeof *t.found)};
    *out = 0;
    if (!t.found)
        return COKE_ENOMEM;
    ck_parallel(km->k, find_twin, &t);
    for (int64_t c = 0; c < km->k; c++)
        *out += t.found[c];
    ck_free(t.found);
    return COKE_OK;
}

/* ---- copies ---- */

/* Elements and their size. n = -1: this head has no such array. data NULL with n >= 0: the copy
 * is zeros, or is made element by element (labels, which may be stored in 16 bits). */
struct array {
    int64_t n;
    size_t size;
    const void *data;
};

static struct array find_array(const struct coke_kmeans *km, enum coke_array what)
{
    int64_t slots = km->o.stage >= 0 ? km->o.n * km->o.slots : -1;
    switch (what) {
    case COKE_ARRAY_CURRENT:
        return (struct array){km->k * km->o.dim, sizeof(float), km->cur};
    case COKE_ARRAY_PREVIOUS:
        return (struct array){km->k * km->o.dim, sizeof(float), km->prev};
    case COKE_ARRAY_DUALS:
        return (struct array){km->k, sizeof(float), km->duals.rho};
    case COKE_ARRAY_UPPER_DUALS:
        return (struct array){km->k, sizeof(float), km->duals.sigma};
    case COKE_ARRAY_AVERAGE_DUALS:
        return (struct array){km->k, sizeof(float), km->average};
    case COKE_ARRAY_COUNTS:
        return (struct array){km->k, sizeof(int64_t), km->count};
    case COKE_ARRAY_LABELS:
        return (struct array){km->o.keep_labels ? km->ids : -1, sizeof(int32_t), NULL};
    case COKE_ARRAY_SLOT_LABELS:
        return (struct array){slots, sizeof(int32_t), km->slots.label};
    case COKE_ARRAY_SLOT_WEIGHTS:
        return (struct array){slots, sizeof(float), km->slots.weight};
    }
    return (struct array){.n = -1};
}

int ck_kmeans_copy(const struct coke_kmeans *km, enum coke_array what, void *out, int64_t room)
{
    struct array a = find_array(km, what);
    if (a.n < 0)
        return ck_fail(COKE_EUSAGE, "this clustering keeps no such array (%d)", (int)what);
    if (room < a.n)
        return ck_fail(COKE_EUSAGE, "array %d has %lld elements, there is room for %lld",
                       (int)what, (long long)a.n, (long long)room);
    if (what == COKE_ARRAY_CURRENT || what == COKE_ARRAY_PREVIOUS)
        ck_kmeans_copy_centers(
            km, what == COKE_ARRAY_CURRENT ? CK_CENTERS_CURRENT : CK_CENTERS_LAST, out);
    else if (what == COKE_ARRAY_LABELS)
        for (int64_t i = 0; i < a.n; i++)
            ((int32_t *)out)[i] = ck_labels_get(&km->labels, i);
    else if (a.data)
        memcpy(out, a.data, (size_t)a.n * a.size);
    else
        memset(out, 0, (size_t)a.n * a.size);
    if (what == COKE_ARRAY_DUALS || what == COKE_ARRAY_UPPER_DUALS ||
        what == COKE_ARRAY_AVERAGE_DUALS)
        for (int64_t i = 0; i < a.n; i++)
            ((float *)out)[i] *= (float)ck_frame_scale(&km->frame);
    return COKE_OK;
}
