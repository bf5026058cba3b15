/* batch_run.h - one batch of rows through one or several heads: the only place where rows are
 * assigned and centers moved. coke cluster, coke train and the public step all come here. */
#ifndef CK_BATCH_RUN_H
#define CK_BATCH_RUN_H

#include "cluster/kmeans.h"
#include "core/share.h"

/* Reads the rows of a batch block by block, where they are not in memory yet. Both functions run
 * on several threads at once, for separate blocks of at most CK_ASSIGN_BLOCK rows. */
struct ck_row_source {
    /* Writes the ids of rows first .. first + n - 1 to the array that the batch's ids point to;
     * NULL: they are there. */
    void (*name)(void *arg, int64_t first, int n);
    /* Those rows, whose ids are known, to x [n][ld]. */
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
    float *score;                       /* out [heads][n], x.c without the bias; may be NULL */
};

/* Memory of processes that share batches; zeroed = none yet. Grows with the first batches. */
struct ck_batch_scratch {
    int64_t *bytes, bytes_room; /* [size] */
    int64_t *sum, sum_room;     /* [largest k][ld] */
    int32_t *packed;            /* labels and scores on their way */
    int64_t packed_room;
};

void ck_batch_scratch_release(struct ck_batch_scratch *s);

/* Assigns the rows, moves duals and centers of all heads, stores the labels. share: NULL = this
 * process has all rows; else each process assigns its part of them, and all move the centers by
 * the same exact sums, so that they hold the same heads (collective; needs scratch). When it
 * fails in reading rows, no head has changed. */
int ck_batch_run(struct coke_kmeans *const *head, int heads, const struct ck_row_batch *b,
                 const struct ck_share *share, struct ck_batch_scratch *scratch);

/* ---- between batch_run.c and batch_share.c ---- */

/* A batch on its way through the heads. */
struct ck_batch {
    struct coke_kmeans *const *head;
    int heads;
    const struct ck_row_batch *rows;
    struct ck_share share;
    int64_t from, to; /* the rows that this process assigns */
    struct ck_batch_scratch *scratch;
};

/* After each process has assigned its rows: labels, scores and ids of all rows, and the rows
 * themselves unless ck_batch_prefers_sums, on all processes. */
int ck_batch_exchange(const struct ck_batch *b);
/* Exchange sums by cluster instead of the rows: whatever is shorter. */
int ck_batch_prefers_sums(const struct ck_batch *b);
/* Moves head h by the sums over the rows of all processes. */
int ck_batch_apply_sums(const struct ck_batch *b, int h);

#endif
