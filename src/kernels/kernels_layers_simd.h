/* kernels_layers_simd.h - the vector versions of the layers' kernels, written once.
 *
 * Included by one file per instruction set, which first defines
 *
 *   vec, vmask, LANES        LANES floats, and the result of comparing them
 *   load_f32, load_bf16      the first n lanes, 0 in the others
 *   store_f32, store_bf16, store_u8 (floats converted to bytes)   the first n lanes
 *   stream, stream_bf16      a whole aligned vector, bypassing the caches
 *   stream_end               makes streamed stores visible to other threads
 *   zero, all, add, sub, mul, madd
 *   positive(v)              v < 0 ? 0 : v
 *   gate(g, y)               y <= 0 ? 0 : g
 *   beats(v, best)           v > best, or v is NaN
 *   equal_u8(p, x, n)        bytes p[.] = x
 *   choose(mask, yes, no)
 *
 * kernels_layers.h specifies what is computed in which order. Functions named *_typed are
 * inlined once per element type, so that `t` is a constant in their loops. */
#include "kernels/kernels_layers.h"

#include <math.h>

INLINE vec load_as(enum ck_dtype t, const void *p, int64_t i, int n)
{
    return t == CK_F32 ? load_f32((const float *)p + i, n)
                       : load_bf16((const uint16_t *)p + i, n);
}

INLINE void store_as(enum ck_dtype t, void *p, int64_t i, vec v, int n)
{
    if (t == CK_F32)
        store_f32((float *)p + i, v, n);
    else
        store_bf16((uint16_t *)p + i, v, n);
}

/* Lanes used by the vector that begins at channel c of `width`. */
INLINE int lanes(int64_t c, int64_t width)
{
    return width - c < LANES ? (int)(width - c) : LANES;
}

/* ---- flat arrays ---- */

INLINE void add_typed(enum ck_dtype t, int64_t n, const void *a, const void *b, void *out)
{
    for (int64_t i = 0; i < n; i += LANES) {
        int k = lanes(i, n);
        store_as(t, out, i, add(load_as(t, a, i, k), load_as(t, b, i, k)), k);
    }
}

static void add_arrays(enum ck_dtype t, int64_t n, const void *a, const void *b, void *out)
{
    if (t == CK_F32)
        add_typed(CK_F32, n, a, b, out);
    else
        add_typed(CK_BF16, n, a, b, out);
}

INLINE void relu_typed(enum ck_dtype t, int64_t n, const void *x, void *y)
{
    for (int64_t i = 0; i < n; i += LANES) {
        int k = lanes(i, n);
        store_as(t, y, i, positive(load_as(t, x, i, k)), k);
    }
}

static void relu(enum ck_dtype t, int64_t n, const void *x, void *y)
{
    if (t == CK_F32)
        relu_typed(CK_F32, n, x, y);
    else
        relu_typed(CK_BF16, n, x, y);
}

INLINE void relu_grad_typed(enum ck_dtype t, int64_t n, const void *dy, const void *y, void *dx)
{
    for (int64_t i = 0; i < n; i += LANES) {
        int k = lanes(i, n);
        store_as(t, dx, i, gate(load_as(t, dy, i, k), load_as(t, y, i, k)), k);
    }
}

static void relu_grad(enum ck_dtype t, int64_t n, const void *dy, const void *y, void *dx)
{
    if (t == CK_F32)
        relu_grad_typed(CK_F32, n, dy, y, dx);
    else
        relu_grad_typed(CK_BF16, n, dy, y, dx);
}

static void to_bf16(int64_t n, const float *src, uint16_t *dst)
{
    for (int64_t i = 0; i < n; i += LANES) {
        int k = lanes(i, n);
        store_bf16(dst + i, load_f32(src + i, k), k);
    }
}

static void from_bf16(int64_t n, const uint16_t *src, float *dst)
{
    for (int64_t i = 0; i < n; i += LANES) {
        int k = lanes(i, n);
        store_f32(dst + i, load_bf16(src + i, k), k);
    }
}

/* ---- pooling ---- */

/* Windows along one axis, or elements of a window: [first, end). */
struct span {
    int first, end;
};

/* The maximum of a window whose corner is at element `corner`; *at receives its position, as a
 * float, which holds 15 * 15 exactly. */
INLINE vec max_at(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, int64_t corner,
                  struct span i, struct span j, int n, vec *at)
{
    vec best = all(-INFINITY);
    *at = all((float)(i.first * p->kw + j.first));
    for (int a = i.first; a < i.end; a++)
        for (int b = j.first; b < j.end; b++) {
            vec v = load_as(t, x, corner + ((int64_t)a * p->w + b) * p->blk, n);
            vmask m = beats(v, best);
            best = choose(m, v, best);
            *at = choose(m, all((float)(a * p->kw + b)), *at);
        }
    return best;
}

INLINE void max_row(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, int oh,
                    void *y, uint8_t *where)
{
    struct span i, j;
    ck_pool_inside(oh, p->kh, p->stride_h, p->pad_h, p->h, &i.first, &i.end);
    for (int ow = 0; ow < p->ow; ow++) {
        ck_pool_inside(ow, p->kw, p->stride_w, p->pad_w, p->w, &j.first, &j.end);
        int64_t top = (int64_t)(oh * p->stride_h - p->pad_h) * p->w;
        int64_t corner = (top + ow * p->stride_w - p->pad_w) * p->blk;
        for (int64_t lane = 0; lane < p->blk; lane += LANES) {
            int n = lanes(lane, p->blk);
            vec at, best = max_at(p, t, x, corner + lane, i, j, n, &at);
            store_as(t, y, ow * p->blk + lane, best, n);
            if (where)
                store_u8(where + ow * p->blk + lane, at, n);
        }
    }
}

/* Copies the shape so that the compiler knows no store can change it. */
static void max_pool_row(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, int oh,
                         void *y, uint8_t *where)
{
    const struct ck_pool_shape shape = *p;
    if (t == CK_F32)
        max_row(&shape, CK_F32, x, oh, y, where);
    else
        max_row(&shape, CK_BF16, x, oh, y, where);
}

/* The gradient at element (h, w) from the windows oh x ow. */
INLINE vec max_grad_at(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy,
                       const uint8_t *where, int h, int w, struct span oh, struct span ow,
                       int64_t lane, int n)
{
    vec sum = zero();
    for (int a = oh.first; a < oh.end; a++)
        for (int b = ow.first; b < ow.end; b++) {
            int at = (h + p->pad_h - a * p->stride_h) * p->kw + w + p->pad_w - b * p->stride_w;
            int64_t o = ((int64_t)a * p->ow + b) * p->blk + lane;
            vmask m = equal_u8(where + o, at, n);
            sum = add(sum, choose(m, load_as(t, dy, o, n), zero()));
        }
    return sum;
}

INLINE void max_grad_row(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy,
                         const uint8_t *where, int h, void *dx)
{
    struct span oh, ow = {0, 0};
    ck_pool_cover(h, p->kh, p->stride_h, p->pad_h, p->oh, &oh.first, &oh.end);
    for (int w = 0; w < p->w; w++) {
        /* ck_pool_cover without its divisions: both ends only move right. */
        while (ow.first < p->ow && ow.first * p->stride_w - p->pad_w + p->kw <= w)
            ow.first++;
        while (ow.end < p->ow && ow.end * p->stride_w - p->pad_w <= w)
            ow.end++;
        for (int64_t lane = 0; lane < p->blk; lane += LANES) {
            int n = lanes(lane, p->blk);
            store_as(t, dx, w * p->blk + lane,
                     max_grad_at(p, t, dy, where, h, w, oh, ow, lane, n), n);
        }
    }
}

static void max_pool_grad_row(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy,
                              const uint8_t *where, int h, void *dx)
{
    const struct ck_pool_shape shape = *p;
    if (t == CK_F32)
        max_grad_row(&shape, CK_F32, dy, where, h, dx);
    else
        max_grad_row(&shape, CK_BF16, dy, where, h, dx);
}
