/* padded_rows.h - rows of the caller's layout, checked and padded for the kernels. */
#ifndef CK_PADDED_ROWS_H
#define CK_PADDED_ROWS_H

#include <stdint.h>

struct ck_padded_rows {
    float *x; /* [room + tile][ld] */
    int64_t room;
};

void ck_padded_rows_release(struct ck_padded_rows *b);
/* Sums are kept in fixed point (kmeans.c), which limits the numbers; unit vectors are far
 * below. */
#define CK_BATCH_LARGEST 8192.0f
/* Copies x [n][dim]; a number beyond that, or not finite, is an error that names its row. */
int ck_padded_rows_fill(struct ck_padded_rows *b, const float *x, int64_t n, int dim);

#endif
