/* batch.h - rows of the caller's layout, checked and padded for the kernels. */
#ifndef CK_BATCH_H
#define CK_BATCH_H

#include <stdint.h>

struct ck_batch {
    float *x; /* [room + tile][ld] */
    int64_t room;
};

void ck_batch_release(struct ck_batch *b);
/* Sums are kept in fixed point (kmeans.c), which limits the numbers; unit vectors are far
 * below. */
#define CK_BATCH_LARGEST 8192.0f
/* Copies x [n][dim]; a number beyond that, or not finite, is an error that names its row. */
int ck_batch_fill(struct ck_batch *b, const float *x, int64_t n, int dim);

#endif
