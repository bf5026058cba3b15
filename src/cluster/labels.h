/* labels.h - labels per row: one, and in the second stage several with weights. */
#ifndef CK_LABELS_H
#define CK_LABELS_H

#include <stdint.h>

/* One label per row, stored in 16 bits if k < CK_NO_LABEL. Threads may set different
 * rows at the same time. */
struct ck_labels {
    int64_t n;
    uint16_t *narrow; /* one of the two is NULL */
    int32_t *wide;
};

int ck_labels_init(struct ck_labels *l, int64_t n, int64_t k);
void ck_labels_release(struct ck_labels *l);

enum { CK_NO_LABEL = 0xffff };

static inline int32_t ck_labels_get(const struct ck_labels *l, int64_t i)
{
    if (l->wide)
        return l->wide[i];
    return l->narrow[i] == CK_NO_LABEL ? -1 : l->narrow[i];
}

static inline void ck_labels_set(struct ck_labels *l, int64_t i, int32_t label)
{
    if (l->wide)
        l->wide[i] = label;
    else
        l->narrow[i] = (uint16_t)label; /* -1 becomes CK_NO_LABEL */
}

enum { CK_SLOTS_MAX = 64 }; /* bound of the option slots */

/* Second stage: up to `slots` (label, weight) pairs per row; weight 0 = free. */
struct ck_slots {
    int64_t n;
    int slots;
    int32_t *label; /* [n][slots], -1 = free */
    float *weight;  /* [n][slots] */
};

int ck_slots_init(struct ck_slots *s, int64_t n, int slots);
void ck_slots_release(struct ck_slots *s);
/* Adds weight f to `label` for row i and scales its other weights so that the total stays
 * 1; f = 1 discards them. If no slot is free, the label of least weight is evicted. */
void ck_slots_update(struct ck_slots *s, int64_t i, int32_t label, double f);
/* The slots of row i as a target, label and weight [slots]: the weights of the slots in use
 * are the softmax of weight / temperature; a free slot has label -1 and weight 0. */
void ck_slots_read(const struct ck_slots *s, int64_t i, float temperature, int32_t *label,
                   float *weight);
/* The same as target [k], 0 for labels without a slot. */
void ck_slots_target(const struct ck_slots *s, int64_t i, float temperature, float *target,
                     int64_t k);

#endif
