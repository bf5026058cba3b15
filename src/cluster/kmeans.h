/* kmeans.h - online constrained k-means, one head: the parts of a batch, for callers that run
 * the rows themselves. Vectors are padded to ld floats (kernels.h). */
#ifndef CK_KMEANS_H
#define CK_KMEANS_H

#include "cluster/assign.h"
#include "cluster/padded_rows.h"
#include "cluster/duals.h"
#include "cluster/kmeans_options.h"
#include "cluster/labels.h"
#include "coke/types.h"

struct ck_state;

struct coke_kmeans {
    struct ck_kmeans_options o;
    const struct ck_kernels *kn;
    int64_t k;
    int ld;
    int64_t epoch;
    float *cur, *prev; /* [k][ld] centers being moved, and those of the last epoch */
    int64_t *sum;      /* [k][ld] sums in fixed point: exact, so the order does not matter */
    float sum_scale;   /* a power of two */
    int64_t *count;    /* [k] received this epoch */
    int given_bounds;  /* one bound a cluster, not a ratio */
    int64_t *min_size; /* [k] lower bounds */
    int64_t *max_size; /* [k] upper bounds, NULL = none */
    float *bias;       /* [k] */
    struct ck_duals duals;
    float *average;          /* [k] mean bias of the last epoch */
    struct ck_labels labels; /* if o.keep_labels */
    struct ck_slots slots;   /* if o.stage >= 0 */
    struct ck_assigner *assigner;
    /* scratch of a batch */
    int32_t *batch_count; /* [k] */
    int32_t *first;       /* [k + 1] where a cluster's members begin in `member` */
    int32_t *touched;     /* [k] */
    int32_t *member;      /* [room] rows ordered by cluster */
    int64_t room;
    struct ck_padded_rows batch;
};

/* centers [k][dim]: copied as they are. min_sizes, max_sizes [k]: bounds of each cluster instead
 * of ratio and max_ratio, or NULL. */
int ck_kmeans_new(struct coke_kmeans **out, const struct ck_kmeans_options *options,
                  const float *centers, const int64_t *min_sizes, const int64_t *max_sizes);
void ck_kmeans_free(struct coke_kmeans *km);
int ck_kmeans_epoch_end(struct coke_kmeans *km);

/* Are all ids [n] within the instances? (ids NULL: nothing to check.) */
int ck_kmeans_check_ids(const struct coke_kmeans *km, const int64_t *ids, int64_t n);
/* Lets the assigner read the centers that this epoch assigns with. */
void ck_kmeans_point_assigner(struct coke_kmeans *km);
int ck_kmeans_reserve(struct coke_kmeans *km, int64_t batch);

/* One batch in three parts. begin; then ck_kmeans_assign_block on any threads; then apply. */
void ck_kmeans_begin(struct coke_kmeans *km);
void ck_kmeans_apply(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                     const int32_t *label);
/* The same where this process has only some of the rows in x: sum [touched][ld] are the sums,
 * in fixed point, of all rows of each cluster that got any, in the order of the clusters. */
void ck_kmeans_apply_sums(struct coke_kmeans *km, int64_t n, const int32_t *label,
                          const int64_t *sum);
/* Those sums of the rows first .. first + count - 1 of a batch of n; returns how many clusters
 * were touched by any of the n. sum has room for all clusters. */
int64_t ck_kmeans_sum_rows(struct coke_kmeans *km, const float *x, int64_t n,
                           const int32_t *label, int64_t first, int64_t count, int64_t *sum);
/* All three; x [n][ld] as ck_assign wants it. */
int ck_kmeans_step(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                   int32_t *label);

/* kmeans_query.c. One batch of x [n][dim], which is checked and padded. */
int ck_kmeans_step_rows(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                        int32_t *labels);
/* Nearest center of each row of x [n][dim] among those of the last epoch, without duals; scores
 * [n] may be NULL. Packs all centers on every call: hand it many rows. */
int ck_kmeans_predict(const struct coke_kmeans *km, const float *x, int64_t n, int32_t *labels,
                      float *scores);
/* Copies an array into out, which has room for `room` elements. */
int ck_kmeans_copy(const struct coke_kmeans *km, enum coke_array what, void *out, int64_t room);
/* Dense second-stage targets [n][k] of instances ids [n]. */
int ck_kmeans_soft_targets(const struct coke_kmeans *km, const int64_t *ids, int64_t n,
                           float *targets);

/* The whole state as tensors, borrowed from km. */
int ck_kmeans_state(const struct coke_kmeans *km, struct ck_state *s);
/* Of all its tensors. */
uint64_t ck_kmeans_hash(const struct coke_kmeans *km, uint64_t seed);
int ck_kmeans_restore(struct coke_kmeans **out, const struct ck_state *s);

/* Bounds from a ratio or given ones: floor(ratio * n / k). Checks that they can be met. */
int ck_kmeans_bounds(int64_t n, int64_t k, double ratio, double max_ratio,
                     const int64_t *min_sizes, const int64_t *max_sizes, int64_t *min_size,
                     int64_t *max_size);

#endif
