/* padded_rows.h - rows of the caller's layout, checked and padded for the kernels. */
#ifndef CK_PADDED_ROWS_H
#define CK_PADDED_ROWS_H

#include "cluster/frame.h"

#include <stdint.h>

/* Zeroed = empty. Reused from batch to batch; grows, never shrinks. */
struct ck_padded_rows {
    float *x; /* [room + tile][ld] */
    int64_t room;
};

void ck_padded_rows_release(struct ck_padded_rows *b);
/* Limit of the absolute values of rows by cosine, because sums are kept in fixed point
 * (kmeans.c); unit vectors are far below. */
#define CK_BATCH_LARGEST 8192.0f
/* Copies x [n][dim]: by cosine as they are, Euclidean ones to inner coordinates. A number beyond
 * the limit, or not finite, is COKE_ENUMERIC with a message that names its row. Use one frame per
 * object. */
int ck_padded_rows_fill(struct ck_padded_rows *b, const float *x, int64_t n,
                        const struct ck_frame *frame);

#endif
