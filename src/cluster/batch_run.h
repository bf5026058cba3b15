/* batch_run.h - one batch of rows through one or several heads: the only place that assigns rows
 * and moves centers. coke cluster, coke train and the public step functions all call it. */
#ifndef CK_BATCH_RUN_H
#define CK_BATCH_RUN_H

#include "cluster/kmeans.h"
#include "core/share.h"

/* Reads the rows of a batch block by block, if they are not in memory yet. Both functions run
 * on several threads at once, for separate blocks of at most CK_ASSIGN_BLOCK rows. */
struct ck_row_source {
    /* Writes the ids of rows first .. first + n - 1 to the array that the batch's ids point to;
     * NULL: the caller has filled it. */
    void (*name)(void *arg, int64_t first, int n);
    /* Writes these rows, whose ids are known by then, to x [n][ld]. */
    int (*read)(void *arg, int64_t first, int n, float *x);
    void *arg;
    int in_order; /* read is called in ascending order, by one thread */
};

struct ck_row_batch {
    int64_t n;                          /* < 2^31 */
    float *x;                           /* [n + CK_TILE][ld] padded rows */
    const int64_t *ids;                 /* [n], NULL = labels are not stored */
    const struct ck_row_source *source; /* fills x; NULL: every process has all rows in x */
    int32_t *label;                     /* out [heads][n] */
    float *score; /* out [heads][n], may be NULL: x.c without the bias, Euclidean w |x - c|^2 */
};

/* Buffers of processes that divide batches; zeroed = empty. Owned by the caller, grows with the
 * first batches, released by ck_batch_scratch_release. */
struct ck_batch_scratch {
    int64_t *bytes, bytes_room; /* [size] */
    int64_t *sum, sum_room;     /* [largest k][ld] */
    int32_t *packed;            /* labels and scores in transit */
    int64_t packed_room;
};

void ck_batch_scratch_release(struct ck_batch_scratch *s);

/* Assigns the rows, moves duals and centers of all heads, stores the labels. share NULL: this
 * process has all rows. Else each process assigns its part of them, and all move the centers by
 * the same exact sums, so that they hold identical heads (collective; needs scratch). If
 * reading rows fails, no head has changed. */
int ck_batch_run(struct coke_kmeans *const *head, int heads, const struct ck_row_batch *b,
                 const struct ck_share *share, struct ck_batch_scratch *scratch);

/* ---- between batch_run.c and batch_share.c ---- */

/* One batch while ck_batch_run works on it. */
struct ck_batch {
    struct coke_kmeans *const *head;
    int heads;
    const struct ck_row_batch *rows;
    struct ck_share share;
    int64_t from, to; /* the rows that this process assigns */
    struct ck_batch_scratch *scratch;
};

/* After each process has assigned its rows: labels, scores and ids of all rows, and the rows
 * themselves unless ck_batch_prefers_sums, on all processes. Collective. */
int ck_batch_exchange(const struct ck_batch *b);
/* Are the sums by cluster shorter than the rows? Then exchange these. The same answer on all
 * processes: it depends on sizes only. */
int ck_batch_prefers_sums(const struct ck_batch *b);
/* Moves head h by the sums over the rows of all processes. */
int ck_batch_apply_sums(const struct ck_batch *b, int h);

#endif
