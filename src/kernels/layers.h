/* layers.h - elementwise arithmetic of a network's layers, on arrays of f32 or bf16.
 *
 * Common to layers.h, norm.h and pool.h: the element type is CK_F32 or CK_BF16 (uint16_t, the
 * upper half of an f32) and nothing else. bf16 is widened, computed in f32 and rounded once, to
 * nearest even, when stored. Results have the same bytes for any number of threads and for
 * every instruction set (of a NaN only that it is one). Arrays need no alignment; 64 bytes is
 * fastest. Nothing allocates or fails. "May alias" means the same address; no other overlap is
 * allowed.
 *
 * Each call splits its work over the OpenMP team (core/workers.h) and returns when all of it is
 * done; called from inside ck_parallel it runs on the calling worker alone.
 *
 * NaN as in PyTorch: relu(NaN) = NaN, and the gradient passes where the output is NaN, so that
 * a broken run shows. relu(-0) = -0. */
#ifndef CK_LAYERS_H
#define CK_LAYERS_H

#include "core/state.h"

#include <stdint.h>

/* An array [n][cb][s][blk]: channel c = block * blk + lane, s = height * width. blk = 16 is
 * oneDNN's nChw16c, its channels padded with zeros; cb = 1, blk = C is nhwc, and with s = 1 a
 * matrix [n][C], C any number; blk <= 128 if cb > 1. Arrays of one number per channel have
 * cb * blk entries. */
struct ck_act_shape {
    int64_t n, cb, s, blk;
};

static inline int64_t ck_act_channels(const struct ck_act_shape *a)
{
    return a->cb * a->blk; /* padding included */
}

static inline int64_t ck_act_size(const struct ck_act_shape *a)
{
    return a->n * a->cb * a->s * a->blk;
}

/* out = a + b; out may alias a or b. */
void ck_add(enum ck_dtype t, int64_t n, const void *a, const void *b, void *out);
/* y = x < 0 ? 0 : x; y may alias x. */
void ck_relu(enum ck_dtype t, int64_t n, const void *x, void *y);
/* dx = y <= 0 ? 0 : dy, y the output of ck_relu; dx may alias dy or y. */
void ck_relu_grad(enum ck_dtype t, int64_t n, const void *dy, const void *y, void *dx);
/* dst += src: adds a gradient to what earlier calls accumulated. */
void ck_accumulate_f32(int64_t n, const float *src, float *dst);
void ck_zero_f32(int64_t n, float *out);

/* Rounded to nearest even; beyond the largest bf16 to infinity; a NaN stays a NaN. */
void ck_to_bf16(int64_t n, const float *src, uint16_t *dst);
/* Exact. */
void ck_from_bf16(int64_t n, const uint16_t *src, float *dst);

#endif
