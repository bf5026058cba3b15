/* kernels_layers_ref.c - defines the layers' kernels in plain C, one element at a time; the
 * oracle of the fast versions. */
#include "kernels/kernels_layers.h"

#include <math.h>
#include <string.h>

static float widen(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Rounds to nearest even; the carry of the largest value ends in infinity. Makes a NaN quiet:
 * truncated to its upper half it could read as infinity. */
static uint16_t narrow(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float load(enum ck_dtype t, const void *p, int64_t i)
{
    return t == CK_F32 ? ((const float *)p)[i] : widen(((const uint16_t *)p)[i]);
}

static void store(enum ck_dtype t, void *p, int64_t i, float x)
{
    if (t == CK_F32)
        ((float *)p)[i] = x;
    else
        ((uint16_t *)p)[i] = narrow(x);
}

static float positive(float x)
{
    return x < 0 ? 0 : x;
}

/* The gradient of a ReLU with output y; passes g where y is NaN. */
static float gate(float g, float y)
{
    return y <= 0 ? 0 : g;
}

static void add_arrays(enum ck_dtype t, int64_t n, const void *a, const void *b, void *out)
{
    for (int64_t i = 0; i < n; i++)
        store(t, out, i, load(t, a, i) + load(t, b, i));
}

static void relu(enum ck_dtype t, int64_t n, const void *x, void *y)
{
    for (int64_t i = 0; i < n; i++)
        store(t, y, i, positive(load(t, x, i)));
}

static void relu_grad(enum ck_dtype t, int64_t n, const void *dy, const void *y, void *dx)
{
    for (int64_t i = 0; i < n; i++)
        store(t, dx, i, gate(load(t, dy, i), load(t, y, i)));
}

static void to_bf16(int64_t n, const float *src, uint16_t *dst)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = narrow(src[i]);
}

static void from_bf16(int64_t n, const uint16_t *src, float *dst)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = widen(src[i]);
}

/* ---- sums down the rows, in the order of kernels_layers.h ---- */

static float sum4(const float v[4])
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

static float dot4(const float a[4], const float b[4])
{
    return fmaf(a[1], b[1], a[0] * b[0]) + fmaf(a[3], b[3], a[2] * b[2]);
}

/* Running sums of a and of a * b over one channel. */
struct column {
    float sum, dot;
};

/* Adds 1 to 4 rows: four at once as a tree, fewer one by one. */
static void column_rows(struct column *c, int rows, const float *a, const float *b)
{
    if (rows == 4) {
        c->sum += sum4(a);
        c->dot += dot4(a, b);
        return;
    }
    for (int r = 0; r < rows; r++) {
        c->sum += a[r];
        c->dot = fmaf(a[r], b[r], c->dot);
    }
}

/* Rows that the step at row `row` takes. */
static int step_rows(int64_t row, int64_t rows)
{
    return rows - row >= 4 ? 4 : (int)(rows - row);
}

/* Sums of x - pivot and its square over channel c. */
static struct column channel_sums(const struct ck_strip *s, enum ck_dtype t, const void *x,
                                  int c, float pivot)
{
    struct column sums = {0, 0};
    for (int64_t i = 0; i < s->segs; i++)
        for (int64_t r = 0; r < s->rows; r += 4) {
            float d[4];
            int rows = step_rows(r, s->rows);
            for (int k = 0; k < rows; k++)
                d[k] = load(t, x, i * s->seg_stride + (r + k) * s->ld + c) - pivot;
            column_rows(&sums, rows, d, d);
        }
    return sums;
}

static void bn_sums(const struct ck_strip *s, enum ck_dtype t, const void *x,
                    struct ck_moments *out)
{
    const struct ck_strip quarter = ck_strip_quarter(s);
    float inverse = 1 / (float)(quarter.segs * quarter.rows);
    for (int c = 0; c < s->width; c++) {
        float pivot = channel_sums(&quarter, t, x, c, 0).sum * inverse;
        struct column about = channel_sums(s, t, x, c, pivot);
        out->pivot[c] = pivot;
        out->dev[c] = about.sum;
        out->square[c] = about.dot;
    }
}

/* The gradient at element i of channel c. */
static float gradient(const struct ck_bn_grad *in, enum ck_dtype t, int64_t i, int64_t c)
{
    float g = load(t, in->dy, i);
    if (in->dy2)
        g += load(t, in->dy2, i);
    if (in->y)
        return gate(g, load(t, in->y, i));
    if (in->scale)
        return gate(g, fmaf(load(t, in->x, i), in->scale[c], in->shift[c]));
    return g;
}

static void bn_grad_sums(const struct ck_strip *s, enum ck_dtype t, const struct ck_bn_grad *in,
                         const float *mean, void *masked, struct ck_grad_moments *out)
{
    for (int c = 0; c < s->width; c++) {
        struct column sums = {0, 0};
        for (int64_t i = 0; i < s->segs; i++)
            for (int64_t r = 0; r < s->rows; r += 4) {
                float g[4], d[4];
                int rows = step_rows(r, s->rows);
                for (int k = 0; k < rows; k++) {
                    int64_t j = i * s->seg_stride + (r + k) * s->ld + c;
                    g[k] = gradient(in, t, j, c);
                    d[k] = load(t, in->x, j) - mean[c];
                    if (masked)
                        store(t, masked, j, g[k]);
                }
                column_rows(&sums, rows, g, d);
            }
        out->g[c] = sums.sum;
        out->gx[c] = sums.dot;
    }
}

/* ---- element by element ---- */

/* Channel of element i of the region. */
static int64_t channel(const struct ck_region *r, int64_t i)
{
    int64_t plane = r->plane + i / (r->rows * r->blk);
    return plane % r->cb * r->blk + i % r->blk;
}

static void bn_apply(const struct ck_region *r, enum ck_dtype t, const struct ck_bn_forward *f)
{
    for (int64_t i = 0; i < r->planes * r->rows * r->blk; i++) {
        int64_t c = channel(r, i);
        float v = fmaf(load(t, f->x, i), f->scale[c], f->shift[c]);
        if (f->res.x) {
            float w = load(t, f->res.x, i);
            v += f->res.scale ? fmaf(w, f->res.scale[c], f->res.shift[c]) : w;
        }
        store(t, f->y, i, f->relu ? positive(v) : v);
    }
}

static void bn_grad_apply(const struct ck_region *r, enum ck_dtype t,
                          const struct ck_bn_backward *b)
{
    for (int64_t i = 0; i < r->planes * r->rows * r->blk; i++) {
        int64_t c = channel(r, i);
        float g = gradient(&b->in, t, i, c);
        store(t, b->dx, i,
              b->kx ? fmaf(b->kg[c], g, fmaf(b->kx[c], load(t, b->in.x, i), b->k0[c]))
                    : b->kg[c] * g);
    }
}

/* ---- pooling ---- */

/* One output element. `at` starts at the first element inside the image, so that a window of
 * -inf alone has a winner, too. */
static void max_pool_at(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, int oh,
                        int ow, int64_t lane, void *y, uint8_t *where)
{
    int i0, i1, j0, j1;
    ck_pool_inside(oh, p->kh, p->stride_h, p->pad_h, p->h, &i0, &i1);
    ck_pool_inside(ow, p->kw, p->stride_w, p->pad_w, p->w, &j0, &j1);
    int64_t corner =
        (int64_t)(oh * p->stride_h - p->pad_h) * p->w + ow * p->stride_w - p->pad_w;
    float best = -INFINITY;
    int at = i0 * p->kw + j0;
    for (int i = i0; i < i1; i++)
        for (int j = j0; j < j1; j++) {
            float v = load(t, x, (corner + (int64_t)i * p->w + j) * p->blk + lane);
            if (v > best || isnan(v)) {
                best = v;
                at = i * p->kw + j;
            }
        }
    store(t, y, ow * p->blk + lane, best);
    if (where)
        where[ow * p->blk + lane] = (uint8_t)at;
}

static void max_pool_row(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, int oh,
                         void *y, uint8_t *where)
{
    for (int ow = 0; ow < p->ow; ow++)
        for (int64_t lane = 0; lane < p->blk; lane++)
            max_pool_at(p, t, x, oh, ow, lane, y, where);
}

static float max_pool_grad_at(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy,
                              const uint8_t *where, int h, int w, int64_t lane)
{
    int oh0, oh1, ow0, ow1;
    ck_pool_cover(h, p->kh, p->stride_h, p->pad_h, p->oh, &oh0, &oh1);
    ck_pool_cover(w, p->kw, p->stride_w, p->pad_w, p->ow, &ow0, &ow1);
    float sum = 0;
    for (int oh = oh0; oh < oh1; oh++)
        for (int ow = ow0; ow < ow1; ow++) {
            int at =
                (h + p->pad_h - oh * p->stride_h) * p->kw + w + p->pad_w - ow * p->stride_w;
            int64_t o = ((int64_t)oh * p->ow + ow) * p->blk + lane;
            sum += where[o] == at ? load(t, dy, o) : 0;
        }
    return sum;
}

static void max_pool_grad_row(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy,
                              const uint8_t *where, int h, void *dx)
{
    for (int w = 0; w < p->w; w++)
        for (int64_t lane = 0; lane < p->blk; lane++)
            store(t, dx, w * p->blk + lane, max_pool_grad_at(p, t, dy, where, h, w, lane));
}

/* ---- optimizers ---- */

static float change_of(const struct ck_update_rule *u, float p, float grad)
{
    return grad * u->scale + u->decay * p;
}

static double fold(double s[16])
{
    for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; l++)
            s[l] += s[l + half];
    return s[0];
}

static int64_t update_check(int64_t n, const float *grad)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad += !isfinite(grad[i]);
    return bad;
}

static void update_measure(const struct ck_update_rule *u, int64_t n, const float *p,
                           const float *grad, struct ck_update_norms *out)
{
    double square[16] = {0}, change[16] = {0};
    for (int64_t i = 0; i < n; i++) {
        double x = (double)p[i], dp = (double)change_of(u, p[i], grad[i]);
        square[i % 16] += x * x;
        change[i % 16] += dp * dp;
    }
    *out = (struct ck_update_norms){fold(square), fold(change), update_check(n, grad)};
}

static void update_move(const struct ck_update_rule *u, int64_t n, const float *grad, float *p,
                        float *m)
{
    for (int64_t i = 0; i < n; i++) {
        m[i] = u->keep * m[i] + change_of(u, p[i], grad[i]) * u->trust;
        p[i] -= u->rate * m[i];
    }
}

const struct ck_layer_kernels ck_layer_kernels_ref = CK_LAYER_KERNELS("ref");
