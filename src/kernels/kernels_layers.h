/* kernels_layers.h - the interface between layers.c, norm.c, pool.c, update.c and an instruction
 * set.
 *
 * The drivers cut arrays into pieces that do not depend on the number of threads; a version
 * handles one piece, on the thread that calls it. Every version returns the bits of
 * kernels_layers_ref.c: lanes are channels, so only the order along the rows matters, and that
 * is specified here. */
#ifndef CK_KERNELS_LAYERS_H
#define CK_KERNELS_LAYERS_H

#include "kernels/norm.h"
#include "kernels/pool.h"
#include "kernels/update.h"

enum { CK_STRIP = 128 }; /* largest number of channels summed at a time */

/* Rows of `width` channels: `segs` groups `seg_stride` apart of `rows` rows `ld` apart, all in
 * elements. Sums run down the rows of each group in fours, (v0 + v1) + (v2 + v3), products as
 * fma(a1, b1, a0 * b0) + fma(a3, b3, a2 * b2), the remaining rows one by one, each added to one
 * f32 per channel. */
struct ck_strip {
    int64_t segs, seg_stride, rows, ld;
    int width;    /* <= CK_STRIP */
    int64_t next; /* offset of the next strip, to prefetch; may be out of bounds */
};

/* Consecutive planes [rows][blk]; the first is plane `plane` of [n][cb]. */
struct ck_region {
    int64_t plane, planes, cb, rows, blk;
};

/* Sums of x - pivot and (x - pivot)^2. The pivot is the mean, sum * (1 / count), of every
 * fourth row: it is never further than sqrt(3) standard deviations from the mean of all rows,
 * so that its square costs at most two bits of the sum of squares. */
struct ck_moments {
    float pivot[CK_STRIP], dev[CK_STRIP], square[CK_STRIP];
};

/* Every fourth row of each group, from its first. */
static inline struct ck_strip ck_strip_quarter(const struct ck_strip *s)
{
    return (struct ck_strip){s->segs, s->seg_stride, (s->rows + 3) / 4, 4 * s->ld, s->width, 0};
}

/* Sums of g and g * (x - mean). */
struct ck_grad_moments {
    float g[CK_STRIP], gx[CK_STRIP];
};

struct ck_bn_forward {
    const void *x;
    const float *scale, *shift;
    struct ck_bn_residual res;
    int relu;
    int stream; /* bypass the caches for y; requires blk % 16 = 0 and y aligned to 64 bytes */
    void *y;
};

struct ck_bn_backward {
    struct ck_bn_grad in;
    const float *kg, *kx, *k0;
    int stream; /* the same for dx */
    void *dx;
};

/* One version: constant, shared by all threads. Pointers point to the piece's first element,
 * per-channel ones to its first channel (regions: to channel 0). */
struct ck_layer_kernels {
    const char *name;
    void (*add)(enum ck_dtype t, int64_t n, const void *a, const void *b, void *out);
    void (*relu)(enum ck_dtype t, int64_t n, const void *x, void *y);
    void (*relu_grad)(enum ck_dtype t, int64_t n, const void *dy, const void *y, void *dx);
    void (*to_bf16)(int64_t n, const float *src, uint16_t *dst);
    void (*from_bf16)(int64_t n, const uint16_t *src, float *dst);

    void (*bn_sums)(const struct ck_strip *s, enum ck_dtype t, const void *x,
                    struct ck_moments *out);
    void (*bn_grad_sums)(const struct ck_strip *s, enum ck_dtype t, const struct ck_bn_grad *in,
                         const float *mean, void *masked, struct ck_grad_moments *out);
    /* fma(x, scale, shift) + fma(res, res.scale, res.shift). */
    void (*bn_apply)(const struct ck_region *r, enum ck_dtype t, const struct ck_bn_forward *f);
    /* fma(kg, g, fma(kx, x, k0)). */
    void (*bn_grad_apply)(const struct ck_region *r, enum ck_dtype t,
                          const struct ck_bn_backward *b);

    /* One output row `oh` of the plane x [h][w][blk]; y and where [ow][blk]. */
    void (*max_pool_row)(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, int oh,
                         void *y, uint8_t *where);
    /* One input row `h` of the plane; dy and where [oh][ow][blk], dx [w][blk]. Sums run over
     * the windows in row-major order. */
    void (*max_pool_grad_row)(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy,
                              const uint8_t *where, int h, void *dx);

    /* update.h */
    void (*update_measure)(const struct ck_update_rule *u, int64_t n, const float *p,
                           const float *grad, struct ck_update_norms *out);
    int64_t (*update_check)(int64_t n, const float *grad);
    void (*update_move)(const struct ck_update_rule *u, int64_t n, const float *grad, float *p,
                        float *m);
};

/* The version that matches ck_kernels(), or the forced one. Only tests and benchmarks force one
 * (NULL = stop forcing), while no other thread computes. */
const struct ck_layer_kernels *ck_layer_kernels(void);
void ck_layer_kernels_force(const struct ck_layer_kernels *version);
/* Batch norm bypasses the caches for results of more bytes than this; 0, the default, means
 * half the last-level cache. Tests set it. */
extern int64_t ck_bn_stream_from;
/* The version that matches ck_kernels_named(name); NULL if it does not run on this CPU. */
const struct ck_layer_kernels *ck_layer_kernels_named(const char *name);

/* The table of a file whose static functions have the names of the fields. */
#define CK_LAYER_KERNELS(isa)                                                                  \
    {                                                                                          \
        .name = isa, .add = add_arrays, .relu = relu, .relu_grad = relu_grad,                  \
        .to_bf16 = to_bf16, .from_bf16 = from_bf16, .bn_sums = bn_sums,                        \
        .bn_grad_sums = bn_grad_sums, .bn_apply = bn_apply, .bn_grad_apply = bn_grad_apply,    \
        .max_pool_row = max_pool_row, .max_pool_grad_row = max_pool_grad_row,                  \
        .update_measure = update_measure, .update_check = update_check,                        \
        .update_move = update_move                                                             \
    }

extern const struct ck_layer_kernels ck_layer_kernels_ref;
extern const struct ck_layer_kernels ck_layer_kernels_avx2;
extern const struct ck_layer_kernels ck_layer_kernels_avx512;

/* Address of element i of an array of t. Drops const: callers write only to outputs. */
static inline void *ck_at(enum ck_dtype t, const void *p, int64_t i)
{
    return (char *)(uintptr_t)p + i * (t == CK_F32 ? 4 : 2);
}

/* The windows [*first, *end) that cover position `at`, of `out` windows of `k` elements. */
static inline void ck_pool_cover(int at, int k, int stride, int pad, int out, int *first,
                                 int *end)
{
    int low = at + pad - k + 1, high = (at + pad) / stride + 1;
    *first = low <= 0 ? 0 : (low + stride - 1) / stride;
    *end = high < out ? high : out;
}

/* The window's elements [*first, *end) that lie inside [0, size), for window `o`. */
static inline void ck_pool_inside(int o, int k, int stride, int pad, int size, int *first,
                                  int *end)
{
    int start = o * stride - pad;
    *first = start < 0 ? -start : 0;
    *end = start + k > size ? size - start : k;
}

#endif
