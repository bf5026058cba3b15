/* labels.c - labels per row. */
#include "cluster/labels.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

int ck_labels_init(struct ck_labels *l, int64_t n, int64_t k)
{
    memset(l, 0, sizeof *l);
    l->n = n;
    if (k < CK_NO_LABEL)
        /* an even number: processes exchange labels in words of CK_SHARE_WORD = 4 bytes */
        l->narrow = ck_alloc_array((size_t)(n + (n & 1)), sizeof *l->narrow);
    else
        l->wide = ck_alloc_array((size_t)n, sizeof *l->wide);
    if (!l->narrow && !l->wide)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        ck_labels_set(l, i, -1);
    return COKE_OK;
}

void ck_labels_release(struct ck_labels *l)
{
    ck_free(l->narrow);
    ck_free(l->wide);
    memset(l, 0, sizeof *l);
}

int ck_slots_init(struct ck_slots *s, int64_t n, int slots)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    s->slots = slots;
    s->label = ck_alloc_array((size_t)n, (size_t)slots * sizeof *s->label);
    s->weight = ck_calloc_array((size_t)n, (size_t)slots * sizeof *s->weight);
    if (!s->label || !s->weight) {
        ck_slots_release(s);
        return COKE_ENOMEM;
    }
    for (int64_t i = 0; i < n * slots; i++)
        s->label[i] = -1;
    return COKE_OK;
}

void ck_slots_release(struct ck_slots *s)
{
    ck_free(s->label);
    ck_free(s->weight);
    memset(s, 0, sizeof *s);
}

/* The slot that holds label, else the one of least weight (free ones weigh 0), lowest first. */
static int find_slot(const int32_t *slot, const float *weight, int n, int32_t label)
{
    int least = 0;
    for (int j = 0; j < n; j++) {
        if (slot[j] == label && weight[j] > 0)
            return j;
        if (weight[j] < weight[least])
            least = j;
    }
    return least;
}

/* (1 - f) / (1 - v) in the reference's roundings: PyTorch divides by multiplying with the
 * reciprocal in f32, and rounds 1 - f, a double, once. With two slots, weights that are both .5
 * in exact arithmetic are ordered by these roundings, and so is what is evicted next. */
static float keep_factor(double f, float v)
{
    return v < 1 ? 1 / (1 - v) * (float)(1 - f) : 0;
}

void ck_slots_update(struct ck_slots *s, int64_t i, int32_t label, double f)
{
    int32_t *slot = s->label + i * s->slots;
    float *weight = s->weight + i * s->slots;
    int j = find_slot(slot, weight, s->slots, label);
    float evicted = 0;
    if (slot[j] != label) {
        evicted = weight[j];
        weight[j] = 0;
    }
    float keep = keep_factor(f, evicted);
    for (int m = 0; m < s->slots; m++) {
        weight[m] *= keep;
        if (weight[m] == 0)
            slot[m] = -1;
    }
    slot[j] = label;
    weight[j] += (float)f;
}

/* The softmax is summed in double: its weights must sum to 1 within float rounding. */
void ck_slots_read(const struct ck_slots *s, int64_t i, float temperature, int32_t *label,
                   float *weight)
{
    double sum = 0;
    for (int j = 0; j < s->slots; j++) {
        float w = s->weight[i * s->slots + j];
        label[j] = w > 0 ? s->label[i * s->slots + j] : -1;
        weight[j] = w > 0 ? expf(w / temperature) : 0;
        sum += (double)weight[j];
    }
    for (int j = 0; j < s->slots; j++)
        weight[j] = sum > 0 ? (float)((double)weight[j] / sum) : 0;
}

void ck_slots_target(const struct ck_slots *s, int64_t i, float temperature, float *target,
                     int64_t k)
{
    int32_t label[CK_SLOTS_MAX];
    float weight[CK_SLOTS_MAX];
    memset(target, 0, (size_t)k * sizeof *target);
    ck_slots_read(s, i, temperature, label, weight);
    for (int j = 0; j < s->slots; j++)
        if (label[j] >= 0)
            target[label[j]] = weight[j];
}
