/* kmeans.h - online constrained k-means, one head, as other layers see it.
 *
 * struct coke_kmeans is private to cluster/ (kmeans_internal.h). One thread at a time may change
 * a head; functions that take it const may run on several threads. Returned pointers are
 * borrowed: valid until the next call that changes the head. */
#ifndef CK_KMEANS_H
#define CK_KMEANS_H

#include "cluster/kmeans_options.h"
#include "coke/types.h"
#include "core/targets.h"

struct ck_state;

/* centers [k][dim]: by cosine they are copied unchanged, so pass unit vectors; Euclidean ones
 * should span the rows. min_sizes, max_sizes [k]: one bound per cluster, which replaces ratio and
 * max_ratio; NULL = from the ratios. *out is set only on success; free it with ck_kmeans_free. */
int ck_kmeans_new(struct coke_kmeans **out, const struct ck_kmeans_options *options,
                  const float *centers, const int64_t *min_sizes, const int64_t *max_sizes);
/* The same in a given frame (copied), whose metric is that of the options; NULL = one that fits
 * the centers. */
struct ck_frame;
int ck_kmeans_new_in(struct coke_kmeans **out, const struct ck_frame *frame,
                     const struct ck_kmeans_options *options, const float *centers,
                     const int64_t *min_sizes, const int64_t *max_sizes);
void ck_kmeans_free(struct coke_kmeans *km);
/* Labels are stored under ids 0 .. ids - 1, of which only options.n are used: the others
 * (rows that were skipped) keep label -1. Requires ids >= n and no second stage; call it before
 * the first batch. */
int ck_kmeans_set_ids(struct coke_kmeans *km, int64_t ids);

/* ---- contents ---- */

int64_t ck_kmeans_k(const struct coke_kmeans *km);
int64_t ck_kmeans_n(const struct coke_kmeans *km); /* rows per epoch */
int ck_kmeans_dim(const struct coke_kmeans *km);
int64_t ck_kmeans_epoch(const struct coke_kmeans *km); /* epochs that ended */

/* CURRENT: the centers that the batches of this epoch move. LAST: those at the end of the last
 * epoch; constant during an epoch. */
enum ck_center_set { CK_CENTERS_CURRENT, CK_CENTERS_LAST };
/* In inner coordinates (frame.h): by cosine, those of the data. */
const float *ck_kmeans_centers(const struct coke_kmeans *km, enum ck_center_set which);
int ck_kmeans_ld(const struct coke_kmeans *km); /* floats between two centers, >= dim */
/* In the coordinates of the data. */
void ck_kmeans_copy_centers(const struct coke_kmeans *km, enum ck_center_set which,
                            float *out /* [k][dim] */);
int32_t ck_kmeans_metric(const struct coke_kmeans *km);
/* [dim] of Euclidean heads (frame.h); borrowed. */
const float *ck_kmeans_reference(const struct coke_kmeans *km);

const float *ck_kmeans_duals(const struct coke_kmeans *km);       /* [k] rho */
const int64_t *ck_kmeans_counts(const struct coke_kmeans *km);    /* [k] received this epoch */
const int64_t *ck_kmeans_min_sizes(const struct coke_kmeans *km); /* [k] */
const int64_t *ck_kmeans_max_sizes(const struct coke_kmeans *km); /* [k]; NULL = unbounded */

/* -1 = not labelled yet. The head must store labels (options.keep_labels). */
int32_t ck_kmeans_label(const struct coke_kmeans *km, int64_t id);
void ck_kmeans_set_label(struct coke_kmeans *km, int64_t id, int32_t label);

/* Targets of the rows ids [n], as the last epoch left them: their labels, or after the
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
/* The same of the labels that are stored, of whichever epoch or round. */
int ck_kmeans_label_sizes(const struct coke_kmeans *km, struct ck_size_summary *out);
/* Counts the current centers that have a cosine above `cosine` to a center of lower index.
 * O(k^2 dim), on all threads. */
int ck_kmeans_count_twins(const struct coke_kmeans *km, float cosine, int64_t *out);

/* Copies one of the arrays to out; room = its capacity in elements. */
int ck_kmeans_copy(const struct coke_kmeans *km, enum coke_array what, void *out, int64_t room);

/* ---- use ---- */

/* COKE_EUSAGE unless all ids [n] are in range (ids NULL: nothing to check). */
int ck_kmeans_check_ids(const struct coke_kmeans *km, const int64_t *ids, int64_t n);
/* One batch: x [n][dim]; label [n] out; ids [n], or NULL: labels are not stored. Runs on all
 * threads; the labels do not depend on how many. */
int ck_kmeans_step(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                   int32_t *label);
/* Ends an epoch: its centers become those that the next one assigns with. */
int ck_kmeans_epoch_end(struct coke_kmeans *km);
/* Within an epoch of the first stage: the centers move as at its end, and the means begin anew.
 * Duals, labels and the number of the epoch stay. */
void ck_kmeans_round_end(struct coke_kmeans *km);
/* The nearest centers of the last epoch, without duals. Packs all centers: O(k dim) per call.
 * scores [n]: cosine or squared distance to it; may be NULL. */
int ck_kmeans_predict(const struct coke_kmeans *km, const float *x, int64_t n, int32_t *label,
                      float *scores);

/* ---- state ---- */

/* The whole state as tensors, borrowed from km. */
int ck_kmeans_state(const struct coke_kmeans *km, struct ck_state *s);
/* Hash of all its tensors: equal bits, equal hash. */
uint64_t ck_kmeans_hash(const struct coke_kmeans *km, uint64_t seed);
/* A new head from such a state, copied and validated; COKE_EFORMAT if it is inconsistent. */
int ck_kmeans_restore(struct coke_kmeans **out, const struct ck_state *s);

/* Fills min_size [k] and, unless NULL, max_size [k]: the given sizes, or from the ratios
 * floor(ratio n/k) and ceil(max_ratio n/k). Fails if no assignment of n rows can satisfy
 * them. */
int ck_kmeans_bounds(int64_t n, int64_t k, double ratio, double max_ratio,
                     const int64_t *min_sizes, const int64_t *max_sizes, int64_t *min_size,
                     int64_t *max_size);

#endif
