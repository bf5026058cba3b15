/* pool.h - pooling, forward and backward. Types, NaN and the promise of equal bytes: layers.h.
 */
#ifndef CK_POOL_H
#define CK_POOL_H

#include "kernels/layers.h"

/* Mean over s: y [n][ld] f32, of which [0, channels) are written; channels <= cb * blk. */
void ck_mean_pool(const struct ck_act_shape *a, enum ck_dtype t, const void *x,
                  int64_t channels, int64_t ld, float *y);
/* dx = dy / s, zeros in the lanes from `channels` on. */
void ck_mean_pool_grad(const struct ck_act_shape *a, enum ck_dtype t, const float *dy,
                       int64_t channels, int64_t ld, void *dx);

/* Windows kh x kw over [n][cb][h][w][blk], giving [n][cb][oh][ow][blk]. As in PyTorch the
 * padding is at most half the window, so that none lies outside altogether. */
struct ck_pool_shape {
    int64_t n, cb, blk;
    int h, w, oh, ow;
    int kh, kw; /* 1..15 */
    int stride_h, stride_w;
    int pad_h, pad_w; /* on either side */
};

/* Sets oh and ow from the rest: (h + 2 pad - k) / stride + 1, rounded down. */
void ck_pool_out(struct ck_pool_shape *p);

/* Padding never wins. The first of equals in row-major order wins, and the last NaN if there is
 * any, as in PyTorch. where [n][cb][oh][ow][blk], NULL = not wanted: the winner's row * kw +
 * column in its window. */
void ck_max_pool(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, void *y,
                 uint8_t *where);
/* Every dy goes to its winner. */
void ck_max_pool_grad(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy,
                      const uint8_t *where, void *dx);

/* Sums of the window, padding = 0, divided by kh * kw (PyTorch's count_include_pad). */
void ck_avg_pool(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, void *y);
void ck_avg_pool_grad(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy, void *dx);

#endif
