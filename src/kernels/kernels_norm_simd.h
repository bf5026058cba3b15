/* kernels_norm_simd.h - the vector versions of batch norm's kernels, written once. Included
 * after kernels_layers_simd.h, whose operations it uses.
 *
 * Each kernel is inlined once per element type, kind of mask or residual, and width of a strip:
 * these are constants in the inner loops. The functions named *_typed, *_masked and *_strip
 * choose among the copies. */

/* A block of 16 channels in registers; f32 images have blocks of 16, bf16 ones of 32. */
enum { BLOCK = 16, PANEL = BLOCK / LANES, STRIP = CK_STRIP / LANES };
/* Kinds of residual, and sources of the ReLU's mask. */
enum { RES_NONE, RES_PLAIN, RES_AFFINE };
enum { MASK_NONE, MASK_Y, MASK_X };

/* Prefetches what the next step reads; the address need not be valid. */
INLINE void fetch(enum ck_dtype t, const void *p, int64_t i)
{
    __builtin_prefetch(ck_at(t, p, i), 0, 2);
}

/* Streams whole vectors only: streams() in norm.c ensures full, aligned blocks. */
INLINE void store_or_stream(enum ck_dtype t, int past, void *p, int64_t i, vec v, int n)
{
    if (!past)
        store_as(t, p, i, v, n);
    else if (t == CK_F32)
        stream((float *)p + i, v);
    else
        stream_bf16((uint16_t *)p + i, v);
}

/* ---- sums down the rows ----
 *
 * nv vectors cover the strip. For a block of 16 channels nv and the width are constants and the
 * sums stay in registers; otherwise they are in the first-level cache and touched once per four
 * rows. */

INLINE void put(const vec *v, int nv, float *out)
{
    for (int k = 0; k < nv; k++)
        store_f32(out + k * LANES, v[k], LANES);
}

/* sum [nv] += the rows of the strip, in the order of kernels_layers.h. */
INLINE void row_sums(const struct ck_strip *s, enum ck_dtype t, const void *x, int nv,
                     int width, vec *sum)
{
    int64_t ld = s->ld;
    for (int64_t i = 0; i < s->segs; i++) {
        int64_t at = i * s->seg_stride, r = 0;
        for (; r + 4 <= s->rows; r += 4, at += 4 * ld)
            for (int k = 0; k < nv; k++) {
                int64_t j = at + k * LANES;
                int n = lanes(k * LANES, width);
                vec low = add(load_as(t, x, j, n), load_as(t, x, j + ld, n));
                vec high = add(load_as(t, x, j + 2 * ld, n), load_as(t, x, j + 3 * ld, n));
                sum[k] = add(sum[k], add(low, high));
            }
        for (; r < s->rows; r++, at += ld)
            for (int k = 0; k < nv; k++)
                sum[k] = add(sum[k], load_as(t, x, at + k * LANES, lanes(k * LANES, width)));
    }
}

/* dev and square [nv] += the deviations from the pivot and their squares; prefetches the next
 * strip. */
INLINE void row_squares(const struct ck_strip *s, enum ck_dtype t, const void *x, int nv,
                        int width, const vec *pivot, vec *dev, vec *square)
{
    int64_t ld = s->ld;
    for (int64_t i = 0; i < s->segs; i++) {
        int64_t at = i * s->seg_stride, r = 0;
        for (; r + 4 <= s->rows; r += 4, at += 4 * ld)
            for (int k = 0; k < nv; k++) {
                int64_t j = at + k * LANES;
                int n = lanes(k * LANES, width);
                for (int row = 0; row < 4; row++)
                    fetch(t, x, j + row * ld + s->next);
                vec d0 = sub(load_as(t, x, j, n), pivot[k]);
                vec d1 = sub(load_as(t, x, j + ld, n), pivot[k]);
                vec d2 = sub(load_as(t, x, j + 2 * ld, n), pivot[k]);
                vec d3 = sub(load_as(t, x, j + 3 * ld, n), pivot[k]);
                dev[k] = add(dev[k], add(add(d0, d1), add(d2, d3)));
                square[k] =
                    add(square[k], add(madd(d1, d1, mul(d0, d0)), madd(d3, d3, mul(d2, d2))));
            }
        for (; r < s->rows; r++, at += ld)
            for (int k = 0; k < nv; k++) {
                vec d = sub(load_as(t, x, at + k * LANES, lanes(k * LANES, width)), pivot[k]);
                dev[k] = add(dev[k], d);
                square[k] = madd(d, d, square[k]);
            }
    }
}

/* Two sweeps: every fourth row for the pivot, then all rows about it. */
INLINE void sums_strip(const struct ck_strip *s, enum ck_dtype t, const void *x, int nv,
                       int width, struct ck_moments *out)
{
    vec pivot[STRIP], dev[STRIP], square[STRIP];
    const struct ck_strip quarter = ck_strip_quarter(s);
    vec inverse = all(1 / (float)(quarter.segs * quarter.rows));
    for (int k = 0; k < nv; k++)
        pivot[k] = dev[k] = square[k] = zero();
    row_sums(&quarter, t, x, nv, width, pivot);
    for (int k = 0; k < nv; k++)
        pivot[k] = mul(pivot[k], inverse);
    row_squares(s, t, x, nv, width, pivot, dev, square);
    put(pivot, nv, out->pivot);
    put(dev, nv, out->dev);
    put(square, nv, out->square);
}

INLINE void sums_typed(const struct ck_strip *s, enum ck_dtype t, const void *x,
                       struct ck_moments *out)
{
    if (s->width == BLOCK)
        sums_strip(s, t, x, PANEL, BLOCK, out);
    else if (s->width == 2 * BLOCK)
        sums_strip(s, t, x, 2 * PANEL, 2 * BLOCK, out);
    else
        sums_strip(s, t, x, (s->width + LANES - 1) / LANES, s->width, out);
}

/* Here and below: copies the arguments so that the compiler knows no store can change them. */
static void bn_sums(const struct ck_strip *s, enum ck_dtype t, const void *x,
                    struct ck_moments *out)
{
    const struct ck_strip strip = *s;
    if (t == CK_F32)
        sums_typed(&strip, CK_F32, x, out);
    else
        sums_typed(&strip, CK_BF16, x, out);
}

INLINE int mask_of(const struct ck_bn_grad *in)
{
    return in->y ? MASK_Y : in->scale ? MASK_X : MASK_NONE;
}

/* The gradient at element i. scale and shift are used for MASK_X only. */
INLINE vec gradient(const struct ck_bn_grad *in, enum ck_dtype t, int mask, int64_t i, int n,
                    vec x, vec scale, vec shift)
{
    vec g = load_as(t, in->dy, i, n);
    if (in->dy2)
        g = add(g, load_as(t, in->dy2, i, n));
    if (mask == MASK_Y)
        return gate(g, load_as(t, in->y, i, n));
    return mask == MASK_X ? gate(g, madd(x, scale, shift)) : g;
}

/* A strip's coefficients per channel, and its running sums. */
struct columns {
    vec mean[STRIP], scale[STRIP], shift[STRIP], g[STRIP], gx[STRIP];
};

/* The gradient at element i of vector k, also stored in `masked` unless NULL; *d = x - mean. */
INLINE vec gradient_step(const struct ck_bn_grad *in, enum ck_dtype t, int mask,
                         const struct columns *c, int k, int64_t i, int n, void *masked, vec *d)
{
    vec x = load_as(t, in->x, i, n);
    vec g = gradient(in, t, mask, i, n, x, c->scale[k], c->shift[k]);
    if (masked)
        store_as(t, masked, i, g, n);
    *d = sub(x, c->mean[k]);
    return g;
}

/* Prefetches all inputs of a step. For wide strips only: blocks are contiguous, and the
 * hardware prefetcher suffices. */
INLINE void fetch_gradient(const struct ck_bn_grad *in, enum ck_dtype t, int mask, int64_t i,
                           const void *masked)
{
    fetch(t, in->dy, i);
    fetch(t, in->x, i);
    if (in->dy2)
        fetch(t, in->dy2, i);
    if (mask == MASK_Y)
        fetch(t, in->y, i);
    if (masked)
        fetch(t, masked, i);
}

/* c->g and c->gx += g and g * (x - mean) over the rows, in the order of kernels_layers.h. */
INLINE void gradient_rows(const struct ck_strip *s, enum ck_dtype t,
                          const struct ck_bn_grad *in, int mask, int nv, int width,
                          void *masked, struct columns *c)
{
    int64_t ld = s->ld;
    for (int64_t i = 0; i < s->segs; i++) {
        int64_t at = i * s->seg_stride, r = 0;
        for (; r + 4 <= s->rows; r += 4, at += 4 * ld)
            for (int k = 0; k < nv; k++) {
                int64_t j = at + k * LANES;
                int n = lanes(k * LANES, width);
                vec d0, d1, d2, d3;
                for (int row = 0; row < 4 && nv > 2 * PANEL; row++)
                    fetch_gradient(in, t, mask, j + row * ld + s->next, masked);
                vec g0 = gradient_step(in, t, mask, c, k, j, n, masked, &d0);
                vec g1 = gradient_step(in, t, mask, c, k, j + ld, n, masked, &d1);
                vec g2 = gradient_step(in, t, mask, c, k, j + 2 * ld, n, masked, &d2);
                vec g3 = gradient_step(in, t, mask, c, k, j + 3 * ld, n, masked, &d3);
                c->g[k] = add(c->g[k], add(add(g0, g1), add(g2, g3)));
                c->gx[k] =
                    add(c->gx[k], add(madd(g1, d1, mul(g0, d0)), madd(g3, d3, mul(g2, d2))));
            }
        for (; r < s->rows; r++, at += ld)
            for (int k = 0; k < nv; k++) {
                vec d, g = gradient_step(in, t, mask, c, k, at + k * LANES,
                                         lanes(k * LANES, width), masked, &d);
                c->g[k] = add(c->g[k], g);
                c->gx[k] = madd(g, d, c->gx[k]);
            }
    }
}

INLINE void gradient_strip(const struct ck_strip *s, enum ck_dtype t,
                           const struct ck_bn_grad *in, int mask, int nv, int width,
                           const float *mean, void *masked, struct ck_grad_moments *out)
{
    struct columns c;
    for (int k = 0; k < nv; k++) {
        int n = lanes(k * LANES, width);
        c.mean[k] = load_f32(mean + k * LANES, n);
        c.scale[k] = mask == MASK_X ? load_f32(in->scale + k * LANES, n) : zero();
        c.shift[k] = mask == MASK_X ? load_f32(in->shift + k * LANES, n) : zero();
        c.g[k] = c.gx[k] = zero();
    }
    gradient_rows(s, t, in, mask, nv, width, masked, &c);
    put(c.g, nv, out->g);
    put(c.gx, nv, out->gx);
}

INLINE void gradient_masked(const struct ck_strip *s, enum ck_dtype t,
                            const struct ck_bn_grad *in, int nv, int width, const float *mean,
                            void *masked, struct ck_grad_moments *out)
{
    if (mask_of(in) == MASK_Y)
        gradient_strip(s, t, in, MASK_Y, nv, width, mean, masked, out);
    else if (mask_of(in) == MASK_X)
        gradient_strip(s, t, in, MASK_X, nv, width, mean, masked, out);
    else
        gradient_strip(s, t, in, MASK_NONE, nv, width, mean, masked, out);
}

INLINE void gradient_typed(const struct ck_strip *s, enum ck_dtype t,
                           const struct ck_bn_grad *in, const float *mean, void *masked,
                           struct ck_grad_moments *out)
{
    if (s->width == BLOCK)
        gradient_masked(s, t, in, PANEL, BLOCK, mean, masked, out);
    else if (s->width == 2 * BLOCK)
        gradient_masked(s, t, in, 2 * PANEL, 2 * BLOCK, mean, masked, out);
    else
        gradient_masked(s, t, in, (s->width + LANES - 1) / LANES, s->width, mean, masked, out);
}

static void bn_grad_sums(const struct ck_strip *s, enum ck_dtype t, const struct ck_bn_grad *in,
                         const float *mean, void *masked, struct ck_grad_moments *out)
{
    const struct ck_strip strip = *s;
    const struct ck_bn_grad grad = *in;
    if (t == CK_F32)
        gradient_typed(&strip, CK_F32, &grad, mean, masked, out);
    else
        gradient_typed(&strip, CK_BF16, &grad, mean, masked, out);
}

/* ---- element by element ---- */

/* Coefficients of the vector that begins at channel c. */
struct forward_coef {
    vec scale, shift, res_scale, res_shift;
};

INLINE struct forward_coef forward_coef(const struct ck_bn_forward *f, int res, int64_t c,
                                        int n)
{
    struct forward_coef k = {load_f32(f->scale + c, n), load_f32(f->shift + c, n), zero(),
                             zero()};
    if (res == RES_AFFINE) {
        k.res_scale = load_f32(f->res.scale + c, n);
        k.res_shift = load_f32(f->res.shift + c, n);
    }
    return k;
}

INLINE void forward_at(const struct ck_bn_forward *f, enum ck_dtype t, int res,
                       const struct forward_coef *k, int64_t i, int n)
{
    vec v = madd(load_as(t, f->x, i, n), k->scale, k->shift);
    if (res != RES_NONE) {
        vec w = load_as(t, f->res.x, i, n);
        v = add(v, res == RES_AFFINE ? madd(w, k->res_scale, k->res_shift) : w);
    }
    store_or_stream(t, f->stream, f->y, i, f->relu ? positive(v) : v, n);
}

/* `rows` rows of nv vectors of n lanes, from channel c and element i on; the coefficients stay in
 * registers. */
INLINE void forward_rows(enum ck_dtype t, const void *forward, int res, int nv, int n,
                         int64_t c, int64_t rows, int64_t i)
{
    const struct ck_bn_forward *f = forward;
    struct forward_coef k[2 * PANEL];
    for (int v = 0; v < nv; v++)
        k[v] = forward_coef(f, res, c + v * LANES, n);
    for (int64_t row = 0; row < rows; row++)
        for (int v = 0; v < nv; v++, i += LANES)
            forward_at(f, t, res, &k[v], i, n);
}

typedef void rows_function(enum ck_dtype t, const void *args, int mode, int nv, int n,
                           int64_t c, int64_t rows, int64_t i);

/* Blocks of 16 and 32 channels keep their coefficients for a whole plane; other widths reload
 * them in each row. */
INLINE void each_rows(const struct ck_region *r, rows_function *run, enum ck_dtype t,
                      const void *args, int mode)
{
    int64_t i = 0;
    for (int64_t p = r->plane; p < r->plane + r->planes; p++, i += r->rows * r->blk) {
        int64_t c = p % r->cb * r->blk;
        if (r->blk == BLOCK)
            run(t, args, mode, PANEL, LANES, c, r->rows, i);
        else if (r->blk == 2 * BLOCK)
            run(t, args, mode, 2 * PANEL, LANES, c, r->rows, i);
        else
            for (int64_t row = 0; row < r->rows; row++)
                for (int64_t lane = 0; lane < r->blk; lane += LANES)
                    run(t, args, mode, 1, lanes(lane, r->blk), c + lane, 1,
                        i + row * r->blk + lane);
    }
}

INLINE void forward_typed(const struct ck_region *r, enum ck_dtype t,
                          const struct ck_bn_forward *f)
{
    if (!f->res.x)
        each_rows(r, forward_rows, t, f, RES_NONE);
    else if (!f->res.scale)
        each_rows(r, forward_rows, t, f, RES_PLAIN);
    else
        each_rows(r, forward_rows, t, f, RES_AFFINE);
}

static void bn_apply(const struct ck_region *r, enum ck_dtype t, const struct ck_bn_forward *f)
{
    const struct ck_region region = *r;
    const struct ck_bn_forward forward = *f;
    if (t == CK_F32)
        forward_typed(&region, CK_F32, &forward);
    else
        forward_typed(&region, CK_BF16, &forward);
    if (forward.stream)
        stream_end();
}

struct backward_coef {
    vec kg, kx, k0, scale, shift;
};

INLINE struct backward_coef backward_coef(const struct ck_bn_backward *b, int mask, int64_t c,
                                          int n)
{
    struct backward_coef k = {load_f32(b->kg + c, n), zero(), zero(), zero(), zero()};
    if (b->kx) {
        k.kx = load_f32(b->kx + c, n);
        k.k0 = load_f32(b->k0 + c, n);
    }
    if (mask == MASK_X) {
        k.scale = load_f32(b->in.scale + c, n);
        k.shift = load_f32(b->in.shift + c, n);
    }
    return k;
}

/* Reads x only if a coefficient or the mask needs it, as norm.h promises. */
INLINE void backward_at(const struct ck_bn_backward *b, enum ck_dtype t, int mask,
                        const struct backward_coef *k, int64_t i, int n)
{
    vec x = b->kx || mask == MASK_X ? load_as(t, b->in.x, i, n) : zero();
    vec g = gradient(&b->in, t, mask, i, n, x, k->scale, k->shift);
    store_or_stream(t, b->stream, b->dx, i,
                    b->kx ? madd(k->kg, g, madd(k->kx, x, k->k0)) : mul(k->kg, g), n);
}

INLINE void backward_rows(enum ck_dtype t, const void *backward, int mask, int nv, int n,
                          int64_t c, int64_t rows, int64_t i)
{
    const struct ck_bn_backward *b = backward;
    struct backward_coef k[2 * PANEL];
    for (int v = 0; v < nv; v++)
        k[v] = backward_coef(b, mask, c + v * LANES, n);
    for (int64_t row = 0; row < rows; row++)
        for (int v = 0; v < nv; v++, i += LANES)
            backward_at(b, t, mask, &k[v], i, n);
}

INLINE void backward_typed(const struct ck_region *r, enum ck_dtype t,
                           const struct ck_bn_backward *b)
{
    if (mask_of(&b->in) == MASK_Y)
        each_rows(r, backward_rows, t, b, MASK_Y);
    else if (mask_of(&b->in) == MASK_X)
        each_rows(r, backward_rows, t, b, MASK_X);
    else
        each_rows(r, backward_rows, t, b, MASK_NONE);
}

static void bn_grad_apply(const struct ck_region *r, enum ck_dtype t,
                          const struct ck_bn_backward *b)
{
    const struct ck_region region = *r;
    const struct ck_bn_backward backward = *b;
    if (t == CK_F32)
        backward_typed(&region, CK_F32, &backward);
    else
        backward_typed(&region, CK_BF16, &backward);
    if (backward.stream)
        stream_end();
}
