/* kmeans.h - online constrained k-means, one head, as other layers see it.
 *
 * struct coke_kmeans is private to cluster/ (kmeans_internal.h). One thread at a time may change
 * a head; functions that take it const may run on several threads. Returned pointers are
 * borrowed: valid until the next call that changes the head. */
#ifndef CK_KMEANS_H
#define CK_KMEANS_H

#include "coke.h"
#include "core/targets.h"

struct ck_state;

/* Labels are stored under ids 0 .. ids - 1, of which only options.n are instances: the others
 * (rows that were skipped) keep label -1. ids >= n; without a second stage; before the first
 * batch. */
int ck_kmeans_set_ids(struct coke_kmeans *km, int64_t ids);

/* ---- what it holds ---- */

int64_t ck_kmeans_k(const struct coke_kmeans *km);
int64_t ck_kmeans_n(const struct coke_kmeans *km); /* instances per epoch */
int ck_kmeans_dim(const struct coke_kmeans *km);
int64_t ck_kmeans_epoch(const struct coke_kmeans *km); /* epochs that ended */

/* The centers being moved, or those that the last epoch ended with. */
enum ck_center_set { CK_CENTERS_CURRENT, CK_CENTERS_LAST };
const float *ck_kmeans_centers(const struct coke_kmeans *km, enum ck_center_set which);
int ck_kmeans_ld(const struct coke_kmeans *km); /* floats between two centers, >= dim */
void ck_kmeans_copy_centers(const struct coke_kmeans *km, enum ck_center_set which,
                            float *out /* [k][dim] */);

const float *ck_kmeans_duals(const struct coke_kmeans *km);       /* [k] rho */
const int64_t *ck_kmeans_counts(const struct coke_kmeans *km);    /* [k] received this epoch */
const int64_t *ck_kmeans_min_sizes(const struct coke_kmeans *km); /* [k] */
const int64_t *ck_kmeans_max_sizes(const struct coke_kmeans *km); /* [k]; NULL = unbounded */

/* -1 = none yet. The head must keep labels (options.keep_labels). */
int32_t ck_kmeans_label(const struct coke_kmeans *km, int64_t id);
void ck_kmeans_set_label(struct coke_kmeans *km, int64_t id, int32_t label);

/* Targets of the instances ids [n], as the last epoch left them: their labels, or after the
 * first epoch of the second stage several labels with weights. label and weight [n][slots] are
 * the caller's memory, which *out refers to; slots is ck_kmeans_target_slots. */
void ck_kmeans_targets(const struct coke_kmeans *km, const int64_t *ids, int64_t n,
                       int32_t *label, float *weight, struct ck_targets *out);
int ck_kmeans_target_slots(const struct coke_kmeans *km);
/* The same as probabilities of all clusters, targets [n][k]; needs a second stage. */
int ck_kmeans_soft_targets(const struct coke_kmeans *km, const int64_t *ids, int64_t n,
                           float *targets);

/* Sizes of the clusters in this epoch so far. */
struct ck_size_summary {
    int64_t min, median, max;
    int64_t below, empty; /* clusters below their minimum, without a member */
    double entropy;       /* of the sizes, over ln k: 1 = balanced */
};
int ck_kmeans_sizes(const struct coke_kmeans *km, struct ck_size_summary *out);
/* How many current centers have an earlier one with a cosine beyond `cosine`. */
int ck_kmeans_count_twins(const struct coke_kmeans *km, float cosine, int64_t *out);

/* A copy of one of the arrays, out [room]. */
int ck_kmeans_copy(const struct coke_kmeans *km, enum coke_kmeans_array what, void *out,
                   int64_t room);

/* ---- use ---- */

/* Are all ids [n] within the instances? (ids NULL: nothing to check.) */
int ck_kmeans_check_ids(const struct coke_kmeans *km, const int64_t *ids, int64_t n);
/* One batch: x [n][dim]; ids [n], or NULL: labels are not stored. */
int ck_kmeans_step(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                   int32_t *label);
/* The nearest centers of the last epoch, without duals. Packs all centers: O(k dim) per call.
 * scores [n] may be NULL. */
int ck_kmeans_predict(const struct coke_kmeans *km, const float *x, int64_t n, int32_t *label,
                      float *scores);

/* ---- state ---- */

/* The whole state as tensors, borrowed from km. */
int ck_kmeans_state(const struct coke_kmeans *km, struct ck_state *s);
/* Of all its tensors. */
uint64_t ck_kmeans_hash(const struct coke_kmeans *km, uint64_t seed);
int ck_kmeans_restore(struct coke_kmeans **out, const struct ck_state *s);

/* Bounds from ratios, floor(ratio * n / k), or given ones. Fails if no assignment can meet
 * them. */
int ck_kmeans_bounds(int64_t n, int64_t k, double ratio, double max_ratio,
                     const int64_t *min_sizes, const int64_t *max_sizes, int64_t *min_size,
                     int64_t *max_size);

#endif
