/* assign.h - rows to their best centers: argmax_k x.c_k + bias_k, bit for bit the f32 score of
 * kernels_ref.c, lowest index on ties, by whichever path is fastest. */
#ifndef CK_ASSIGN_H
#define CK_ASSIGN_H

#include "kernels/kernels.h"

#include <stdint.h>

struct ck_assigner;

enum ck_assign_path { CK_PATH_AUTO, CK_PATH_DENSE, CK_PATH_SCREEN };

struct ck_assign_stats {
    const char *path;
    int64_t rows;       /* rows labelled by screening, and */
    int64_t candidates; /* exact scores computed for them */
};

/* center [k][ld] is borrowed and read in every call; say ck_assigner_update when it changes. */
int ck_assigner_new(struct ck_assigner **out, const struct ck_kernels *kn, const float *center,
                    int64_t k, int ld);
void ck_assigner_free(struct ck_assigner *a);
void ck_assigner_force(struct ck_assigner *a, enum ck_assign_path path);
struct ck_assign_stats ck_assigner_stats(const struct ck_assigner *a);

/* All centers changed, or lie elsewhere now. */
void ck_assigner_reset(struct ck_assigner *a, const float *center);
/* Center k changed; may run in parallel for different k. */
void ck_assigner_update(struct ck_assigner *a, int64_t k);
/* Sets bias [k] (NULL = 0) and settles what changed; before the first assignment and after
 * every change. */
void ck_assigner_settle(struct ck_assigner *a, const float *bias);

/* Labels x [n][ld], readable (contents free) up to a multiple of CK_TILE rows. score [n] (x.c
 * without the bias) may be NULL. */
void ck_assign(struct ck_assigner *a, const float *x, int64_t n, int32_t *label, float *score);

/* The same for at most CK_ASSIGN_BLOCK rows on the calling thread, for callers that run their
 * own parallel loop. */
enum { CK_ASSIGN_BLOCK = 64 };
/* How many of n rows such a caller should give to one call. */
int ck_assign_chunk_rows(int64_t n);
void ck_assign_block(struct ck_assigner *a, const float *x, int n, int32_t *label,
                     float *score);

/* All centers of a row within `margin` of its best. */
struct ck_near {
    int32_t row; /* within the block */
    int32_t k;
    float score; /* x.c without the bias */
};

struct ck_near_list {
    struct ck_near *item;
    int64_t n, room;
    float nearest[CK_ASSIGN_BLOCK]; /* highest x.c met in each row of the last block */
};

/* Widens the margin of the rows labelled k by more[k], that of any row to center k by rise[k]
 * (>= 0, taken in by ck_assigner_settle); and lets rows labelled k look at all centers within
 * look[k] of their best, without listing them, for `nearest`. Borrowed; NULL = not. */
void ck_assigner_widen(struct ck_assigner *a, const float *more, const float *rise,
                       const float *look);

/* As ck_assign_block; besides, appends for every row all k with x.c_k + bias_k >= best -
 * margin, ordered by (row, k). */
int ck_assign_near_block(struct ck_assigner *a, const float *x, int n, float margin,
                         int32_t *label, float *score, struct ck_near_list *near);

/* To be called between batches: looks at what the paths cost and picks one. */
void ck_assigner_choose(struct ck_assigner *a);

#endif
