/* assign.h - rows to their best centers: argmax_k x.c_k + bias_k, with exactly the f32 score of
 * kernels_ref.c, lowest index on ties, by whichever path is fastest.
 *
 * Threads: the block functions may run on any number of threads at once; everything else (new,
 * reset, widen, settle, choose) needs the assigner to itself. */
#ifndef CK_ASSIGN_H
#define CK_ASSIGN_H

#include "kernels/kernels.h"

#include <stdint.h>

struct ck_assigner;

enum ck_assign_path { CK_PATH_AUTO, CK_PATH_DENSE, CK_PATH_SCREEN };

struct ck_assign_stats {
    const char *path;
    int64_t rows;       /* rows labelled by screening */
    int64_t candidates; /* exact scores computed for these rows */
};

/* center [k][ld] is borrowed and read in every call; call ck_assigner_update after changing
 * it. */
int ck_assigner_new(struct ck_assigner **out, const struct ck_kernels *kn, const float *center,
                    int64_t k, int ld);
/* Screening multiplies this column of rows and centers in f32 instead of rounding it to 8 bits:
 * the last column of Euclidean ones (frame.h), which differs in size. All columns behind it are
 * zero. Call it before the first settle. */
void ck_assigner_lift(struct ck_assigner *a, int column);
/* An assigner of the n centers which [n] of another; center [n][ld] gets copies of these and is
 * borrowed. */
int ck_assigner_subset(struct ck_assigner **out, const struct ck_assigner *of,
                       const int32_t *which, int64_t n, float *center);
void ck_assigner_free(struct ck_assigner *a);
void ck_assigner_force(struct ck_assigner *a, enum ck_assign_path path);
struct ck_assign_stats ck_assigner_stats(const struct ck_assigner *a);

/* All centers changed, or moved to another address. */
void ck_assigner_reset(struct ck_assigner *a, const float *center);
/* Center k changed; may run in parallel for different k. */
void ck_assigner_update(struct ck_assigner *a, int64_t k);
/* Sets bias [k] (copied; NULL = 0) and applies pending changes. Call it before the first
 * assignment and after every change of centers, biases or widths. */
void ck_assigner_settle(struct ck_assigner *a, const float *bias);

/* Labels x [n][ld] on all threads. x must be readable, with any contents, up to a multiple of
 * CK_TILE rows. score [n] (x.c without the bias) may be NULL. */
void ck_assign(struct ck_assigner *a, const float *x, int64_t n, int32_t *label, float *score);

/* The same for at most CK_ASSIGN_BLOCK rows on the calling thread, for callers that run their
 * own parallel loop. */
enum { CK_ASSIGN_BLOCK = 64 };
/* Rows per call that keep all threads busy when n rows are to be labelled. */
int ck_assign_chunk_rows(int64_t n);
void ck_assign_block(struct ck_assigner *a, const float *x, int n, int32_t *label,
                     float *score);

/* The score x.c_k as assignments compute it; x [ld]. Any thread. */
float ck_assigner_score(const struct ck_assigner *a, const float *x, int64_t k);

/* Center k [ld]. */
const float *ck_assigner_center(const struct ck_assigner *a, int64_t k);

/* One center within `margin` of the best of a row. */
struct ck_near {
    int32_t row; /* within the block */
    int32_t k;
    float score; /* x.c without the bias */
};

/* Grows as needed; the caller frees item. Not shared: one list per thread. */
struct ck_near_list {
    struct ck_near *item;
    int64_t n, room;
    float nearest[CK_ASSIGN_BLOCK]; /* highest x.c seen for each row of the last block */
};

/* Widens the margins: more[k] for the rows labelled k, rise[k] for center k in any row (both >=
 * 0, applied by ck_assigner_settle). look[k]: rows labelled k also score all centers within
 * look[k] of their best, without listing them, so that `nearest` is exact. All [k], borrowed;
 * NULL = none. */
void ck_assigner_widen(struct ck_assigner *a, const float *more, const float *rise,
                       const float *look);

/* As ck_assign_block, and appends for every row all k with x.c_k + bias_k >= best - margin,
 * ordered by (row, k). Fails only with COKE_ENOMEM. */
int ck_assign_near_block(struct ck_assigner *a, const float *x, int n, float margin,
                         int32_t *label, float *score, struct ck_near_list *near);

/* Compares the measured cost of the paths and selects one; call it between batches. */
void ck_assigner_choose(struct ck_assigner *a);

#endif
