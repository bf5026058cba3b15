/* pool.h - pooling, forward and backward. Types, NaN, threads and equal bytes: layers.h. Inputs
 * and outputs may not overlap; the caller owns all arrays. */
#ifndef CK_POOL_H
#define CK_POOL_H

#include "kernels/layers.h"

/* Mean over s: writes [0, channels) of each row of y [n][ld], f32; channels <= cb * blk. */
void ck_mean_pool(const struct ck_act_shape *a, enum ck_dtype t, const void *x,
                  int64_t channels, int64_t ld, float *y);
/* dx = dy / s; the lanes from `channels` on get 0. */
void ck_mean_pool_grad(const struct ck_act_shape *a, enum ck_dtype t, const float *dy,
                       int64_t channels, int64_t ld, void *dx);

/* Windows kh x kw over [n][cb][h][w][blk], giving [n][cb][oh][ow][blk]. As in PyTorch the
 * padding is at most half the window, so that no window lies entirely outside the image. */
struct ck_pool_shape {
    int64_t n, cb, blk;
    int h, w, oh, ow;
    int kh, kw; /* 1..15 */
    int stride_h, stride_w;
    int pad_h, pad_w; /* on either side */
};

/* Sets oh and ow from the rest: (h + 2 pad - k) / stride + 1, rounded down. */
void ck_pool_out(struct ck_pool_shape *p);

/* Padding never wins. Of equal values the first in row-major order wins; if there are NaNs, the
 * last of them, as in PyTorch. where [n][cb][oh][ow][blk], NULL = not wanted, receives the
 * winner's row * kw + column in its window. */
void ck_max_pool(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, void *y,
                 uint8_t *where);
/* Adds every dy to the winner of its window; `where` is the one ck_max_pool wrote. */
void ck_max_pool_grad(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy,
                      const uint8_t *where, void *dx);

/* Sums of the window, padding = 0, divided by kh * kw (PyTorch's count_include_pad). */
void ck_avg_pool(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, void *y);
void ck_avg_pool_grad(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy, void *dx);

#endif
