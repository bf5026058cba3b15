/* kmeans_internal.h - the struct behind coke_kmeans and the parts of one batch. Only for files
 * of this folder; other layers use kmeans.h. */
#ifndef CK_KMEANS_INTERNAL_H
#define CK_KMEANS_INTERNAL_H

#include "cluster/assign.h"
#include "cluster/duals.h"
#include "cluster/frame.h"
#include "cluster/kmeans.h"
#include "cluster/kmeans_options.h"
#include "cluster/labels.h"
#include "cluster/padded_rows.h"
#include "cluster/tree.h"

/* Vectors are inner ones (frame.h), padded to ld floats (kernels.h); the padding is zero. Duals
 * are in inner units, too; o has those of the data. */
struct coke_kmeans {
    struct ck_kmeans_options o;
    struct ck_frame frame;
    const struct ck_kernels *kn;
    int64_t k;
    int ld;
    int64_t ids; /* labels are stored for ids 0 .. ids - 1; o.n, unless ck_kmeans_set_ids */
    int64_t epoch;
    float *cur, *prev; /* [k][ld] centers being moved, and those of the last epoch */
    int64_t *sum;      /* [k][ld] sums in fixed point: exact, so the order does not matter */
    float sum_scale;   /* a power of two */
    int64_t *count;    /* [k] received this epoch */
    int given_bounds;  /* one bound per cluster, not a ratio */
    int64_t *min_size; /* [k] lower bounds */
    int64_t *max_size; /* [k] upper bounds, NULL = none */
    float *bias;       /* [k] */
    struct ck_duals duals;
    float *average;          /* [k] mean bias of the last epoch */
    struct ck_labels labels; /* if o.keep_labels */
    struct ck_slots slots;   /* if o.stage >= 0 */
    struct ck_assigner *assigner; /* of all centers; NULL with a tree */
    struct ck_tree *tree;         /* NULL = every row is compared with all centers */
    /* scratch of a batch, reused: only one batch runs at a time */
    int32_t *batch_count; /* [k] */
    int32_t *first;       /* [k + 1] where a cluster's members begin in `member` */
    int32_t *touched;     /* [k] */
    int32_t *member;      /* [room] rows ordered by cluster */
    int64_t room;
    struct ck_padded_rows batch;
};

/* Moves a head that has seen no rows to another frame of the same metric and dim (copied). */
int ck_kmeans_set_frame(struct coke_kmeans *km, const struct ck_frame *frame);
/* Do the centers move as in the second stage (docs/algorithm.md)? */
int ck_kmeans_second_stage(const struct coke_kmeans *km);
/* Makes the assigner read the centers that this epoch assigns with: current ones in the first
 * stage, those of the last epoch in the second. */
void ck_kmeans_point_assigner(struct coke_kmeans *km);
/* Rows are assigned by this tree from now on; km owns it and points it at its centers. Call it
 * before the first batch. */
void ck_kmeans_set_tree(struct coke_kmeans *km, struct ck_tree *tree);

/* Without bounds: lets the duals work towards sizes of ratio n/k all the same, or, with ratio 0,
 * no longer. */
void ck_kmeans_guide(struct coke_kmeans *km, double ratio);

/* ---- one batch: reserve, begin, ck_assign_block on any threads, apply ---- */

/* Reserves memory for a batch of n rows, so that the steps below have no way to fail. */
int ck_kmeans_reserve(struct coke_kmeans *km, int64_t n);
/* Prepares the assigner: biases from the duals, and centers that moved are repacked. */
void ck_kmeans_begin(struct coke_kmeans *km);
/* Euclidean: w |x - c|^2 of rows x [n][ld] and the centers that this epoch assigns with, in inner
 * units. */
void ck_kmeans_squares(const struct coke_kmeans *km, const float *x, int n,
                       const int32_t *label, float *square);
/* Moves duals and centers by a batch of n labelled rows x [n][ld] and, unless ids is NULL,
 * stores the labels under ids [n]. */
void ck_kmeans_apply(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                     const int32_t *label);
/* The same where this process has only some of the rows: sum [touched][ld] are the sums, in
 * fixed point, of all rows of each cluster that received any, in ascending order of clusters. */
void ck_kmeans_apply_sums(struct coke_kmeans *km, const int64_t *sum, const int64_t *ids,
                          int64_t n, const int32_t *label);
/* Those sums, of the rows first .. last - 1 of a batch of n; returns how many clusters received
 * any of the n rows. sum has room for all clusters. */
int64_t ck_kmeans_sum_rows(struct coke_kmeans *km, const float *x, int64_t n,
                           const int32_t *label, int64_t first, int64_t last, int64_t *sum);

/* ---- means of given labels: forget, add all rows, move ---- */

/* Sets sums and counts to 0. */
void ck_kmeans_forget(struct coke_kmeans *km);
/* Adds rows x [n][ld] to the sums and counts of their labels; ck_kmeans_reserve comes first. */
void ck_kmeans_add(struct coke_kmeans *km, const float *x, int64_t n, const int32_t *label);
/* Rounds the centers of the last epoch to what is saved. */
void ck_kmeans_round(struct coke_kmeans *km);
/* Moves the centers, those of the last epoch as well, to the means; a cluster without members
 * keeps its center. Returns the total similarity of the rows to them. *moved = 0: they have the
 * same bits as before. */
double ck_kmeans_move_to_means(struct coke_kmeans *km, int *moved);

#endif
