/* heads.h - the clusterings of a training: targets for the loss, labels and centers for the
 * next epoch, and what an epoch says of their health. */
#ifndef CK_HEADS_H
#define CK_HEADS_H

#include "cluster/learned.h"
#include "cluster/multihead.h"
#include "core/state.h"
#include "core/targets.h"
#include "train/train_options.h"

/* Sums of one head over an epoch so far. */
struct ck_head_sums {
    double fit;     /* similarity of each image to the last epoch's center of its new label */
    double old_fit; /* the same for its last label */
    double loss, accuracy;
    int64_t changed; /* images whose label is not the last epoch's */
    int64_t seen;
};

struct ck_heads {
    int n, dim;
    int64_t images, batch;
    int keep_best, current_centers;
    int64_t round; /* images; 0 = the centers of the loss change with the epochs */
    struct coke_multihead *multi; /* owns the heads; NULL while they are made */
    struct coke_kmeans *head[COKE_MAX_HEADS];
    int32_t *label, *old;                     /* [n][batch] of this step and before it */
    struct ck_targets target[COKE_MAX_HEADS]; /* of this step's loss */
    int32_t *target_label;                    /* memory of the targets */
    float *target_weight;
    int slots;
    float *center[COKE_MAX_HEADS];        /* [k][dim] of the loss */
    const float *centers[COKE_MAX_HEADS]; /* the same, as the loss wants them */
    int32_t *kept[COKE_MAX_HEADS];        /* [images] labels of the last epoch, for keep_best */
    struct ck_head_sums sums[COKE_MAX_HEADS];
    struct ck_entropy entropy[COKE_MAX_HEADS]; /* weight 0: labels are chosen by duals */
};

/* Copies from o what it needs. After a failure *h holds what was built so far: call
 * ck_heads_release in any case. All functions: one thread at a time, which runs the team. */
int ck_heads_init(struct ck_heads *h, const struct ck_train_options *o, int64_t images);
void ck_heads_release(struct ck_heads *h);
/* Labels are chosen by the entropy of the sizes instead of by duals (cluster/learned.h). */
int ck_heads_use_entropy(struct ck_heads *h, double weight);

/* Targets of the images ids [n], which begin at index `first` of the batch of all ranks: the
 * labels of the last epoch. In epoch 0 and for current labels ck_heads_update makes the targets
 * instead, of the whole batch. */
void ck_heads_read(struct ck_heads *h, const int64_t *ids, int64_t n, int64_t first,
                   int current);
/* One step of all heads: x [n][dim] and ids [n], the batch of all processes. current: its labels
 * become the targets. share: the processes that divide the work, NULL = alone. Collective. */
int ck_heads_update(struct ck_heads *h, const float *x, const int64_t *ids, int64_t n,
                    int current, const struct ck_share *share);
int ck_heads_epoch_end(struct ck_heads *h);

/* What one head looks like at the end of an epoch; call before ck_heads_epoch_end. */
struct ck_head_health {
    int64_t k;
    double loss, accuracy, objective;
    int64_t size_min, size_median, size_max, bound, below, empty, duplicates;
    double changed; /* fraction of the labels */
    double entropy; /* of the sizes, over ln k: 1 = balanced */
    double dual_min, dual_max;
    int32_t kept; /* keep_best kept the last labels */
};
int ck_heads_health(const struct ck_heads *h, int i, struct ck_head_health *out);

/* ---- heads_state.c ---- */

/* Tensors are borrowed from h. */
int ck_heads_save(const struct ck_heads *h, struct ck_state *s);
int ck_heads_load(struct ck_heads *h, const struct ck_state *s);
/* Head i alone, without a training around it; *out is NULL where the state has none. */
int ck_heads_restore_one(const struct ck_state *s, int i, struct coke_kmeans **out);

/* Used by it: takes over fresh [n] in place of the heads, which are freed; on failure they stay
 * as they are. */
int ck_heads_replace(struct ck_heads *h, struct coke_kmeans *const *fresh);

#endif
