/* kernels_winograd_simd.h - Winograd's transforms, written once.
 *
 * Included by one file per instruction set, which first defines INLINE; vec (LANES floats) and
 * vmask; load, load_if (0 where the mask is unset), store and stream (a store that bypasses the
 * caches); keep(v), a v that the compiler may not reload; zero, all, add, sub, mul and madd(a,
 * b, c) = a b + c. */
#include "kernels/kernels_winograd.h"

#define UNROLL _Pragma("GCC unroll 16")

/* The finite points except 0 are +-a and +-b. This pair had the smallest error of those tried,
 * about half that of 1 and 2. */
#define A1 0.625
#define B1 1.5
#define A2 (A1 * A1)
#define B2 (B1 * B1)
/* 1 / the product of the differences to the other points, for 0, +-a and +-b. */
#define F0 (1 / (A2 * B2))
#define FA (1 / (2 * A2 * (A2 - B2)))
#define FB (1 / (2 * B2 * (B2 - A2)))

INLINE vec number(double x)
{
    return all((float)x);
}

/* ---- one dimension ---- */

/* The values of a polynomial at p and -p from its even and odd parts. */
INLINE void plus_minus(double p, vec odd, vec even, vec v[2])
{
    v[0] = madd(number(p), odd, even);
    v[1] = madd(number(-p), odd, even);
}

/* Of degree 3, at +-p and +-q. */
INLINE void at_four(const vec y[4], double p, double q, vec v[4])
{
    vec even_p = madd(number(p * p), y[2], y[0]), odd_p = madd(number(p * p), y[3], y[1]);
    vec even_q = madd(number(q * q), y[2], y[0]), odd_q = madd(number(q * q), y[3], y[1]);
    plus_minus(p, odd_p, even_p, v);
    plus_minus(q, odd_q, even_q, v + 2);
}

/* The transposes: what +-p and +-q, in this order, give together. */
struct pairs {
    vec sum_p, diff_p, sum_q, diff_q;
};

INLINE struct pairs pairs_of(const vec m[4])
{
    return (struct pairs){add(m[0], m[1]), sub(m[0], m[1]), add(m[2], m[3]), sub(m[2], m[3])};
}

/* Outputs 1 to 3; `last` is the product of infinity. */
INLINE void higher_powers(const struct pairs *s, double p, double q, vec last, vec y[4])
{
    y[1] = madd(number(p), s->diff_p, mul(number(q), s->diff_q));
    y[2] = madd(number(p * p), s->sum_p, mul(number(q * q), s->sum_q));
    y[3] = madd(number(p * p * p), s->diff_p, madd(number(q * q * q), s->diff_q, last));
}

/* B': each row is the polynomial that vanishes at all points but one. */
INLINE void input6(const vec d[6], vec v[6])
{
    vec even_a = madd(number(-B2), d[2], d[4]), odd_a = madd(number(-B2), d[1], d[3]);
    vec even_b = madd(number(-A2), d[2], d[4]), odd_b = madd(number(-A2), d[1], d[3]);
    v[0] = madd(number(A2 * B2), d[0], madd(number(-(A2 + B2)), d[2], d[4]));
    plus_minus(A1, odd_a, even_a, v + 1);
    plus_minus(B1, odd_b, even_b, v + 3);
    v[5] = madd(number(A2 * B2), d[1], madd(number(-(A2 + B2)), d[3], d[5]));
}

/* A': powers of the points. */
INLINE void output6(const vec m[6], vec y[4])
{
    struct pairs s = pairs_of(m + 1);
    y[0] = add(add(m[0], s.sum_p), s.sum_q);
    higher_powers(&s, A1, B1, m[5], y);
}

/* A, the transpose of output6. */
INLINE void output_grad4(const vec y[4], vec m[6])
{
    m[0] = y[0];
    at_four(y, A1, B1, m + 1);
    m[5] = y[3];
}

/* G: the kernel's polynomial at each point, divided by the product of differences. */
INLINE void weights3(const vec g[3], vec u[6])
{
    vec even_a = madd(number(FA * A2), g[2], mul(number(FA), g[0]));
    vec even_b = madd(number(FB * B2), g[2], mul(number(FB), g[0]));
    u[0] = mul(number(F0), g[0]);
    u[1] = madd(number(FA * A1), g[1], even_a);
    u[2] = madd(number(-FA * A1), g[1], even_a);
    u[3] = madd(number(FB * B1), g[1], even_b);
    u[4] = madd(number(-FB * B1), g[1], even_b);
    u[5] = g[2];
}

/* G', the transpose of weights3. */
INLINE void weights_grad6(const vec u[6], vec g[3])
{
    struct pairs s = pairs_of(u + 1);
    g[0] = madd(number(F0), u[0], madd(number(FA), s.sum_p, mul(number(FB), s.sum_q)));
    g[1] = madd(number(FA * A1), s.diff_p, mul(number(FB * B1), s.diff_q));
    g[2] = madd(number(FA * A2), s.sum_p, madd(number(FB * B2), s.sum_q, u[5]));
}

/* ---- two dimensions ----
 *
 * Transforms one dimension after the other, unrolled so that intermediate values stay in
 * registers: loads and stores are the bottleneck. */

#define LOOP _Pragma("GCC unroll 1")
#define EACH_PART                                                                              \
    LOOP                                                                                       \
    for (int lane = 0; lane < CK_WINO_BLOCK; lane += LANES)

/* Loads n vectors, `stride` floats apart. */
INLINE void take(const float *from, int64_t stride, int n, vec *to)
{
    UNROLL
    for (int i = 0; i < n; i++, from += stride)
        to[i] = keep(load(from));
}

INLINE void put(const vec *from, int n, float *to, int64_t stride, int streamed)
{
    UNROLL
    for (int i = 0; i < n; i++, to += stride)
        if (streamed)
            stream(to, from[i]);
        else
            store(to, from[i]);
}

typedef void line_function(const vec *, vec *);

/* Column j of a matrix whose columns are transformed first. */
INLINE void set_column(vec half[][6], int j, const vec *c, int n)
{
    UNROLL
    for (int i = 0; i < n; i++)
        half[i][j] = c[i];
}

/* Then its rows, each to `count` vectors; they are `row` vectors apart. */
INLINE void put_rows_by(line_function *one, vec half[][6], int rows, int count, float *to,
                        int64_t stride, int64_t row, int streamed)
{
    UNROLL
    for (int i = 0; i < rows; i++) {
        vec r[6];
        one(half[i], r);
        put(r, count, to + i * row * stride, stride, streamed);
    }
}

/* A tile whose pixels outside the image read as zeros. */
struct window {
    const float *row[CK_WINO_IN]; /* column 0, which may be outside the image */
    vmask inside[CK_WINO_IN];     /* per column */
};

INLINE struct window window_of(const struct ck_wino_tile *t, int size, int lane)
{
    struct window w;
    UNROLL
    for (int i = 0; i < size; i++) {
        w.row[i] = t->row[i] - t->first * CK_WINO_BLOCK + lane;
        w.inside[i] = mask(i >= t->first && i < t->end);
    }
    return w;
}

INLINE vec pixel(const struct window *w, int i, int j)
{
    return keep(load_if(w->inside[j], w->row[i] + j * CK_WINO_BLOCK));
}

/* Rows 1 to 4 of B' d depend on the pixels' rows 1 to 4 only, so that all of it fits the
 * registers. */
INLINE void input_inner(const struct window *w, float *v, int64_t stride, int streamed)
{
    vec half[4][6];
    UNROLL
    for (int j = 0; j < 6; j++) {
        vec d[6], c[6];
        d[0] = d[5] = zero();
        UNROLL
        for (int i = 1; i < 5; i++)
            d[i] = pixel(w, i, j);
        input6(d, c);
        set_column(half, j, c + 1, 4);
    }
    put_rows_by(input6, half, 4, 6, v + 6 * stride, stride, 6, streamed);
}

/* Rows 0 and 5 of B' d; loads the pixels a second time. */
INLINE void input_outer(const struct window *w, float *v, int64_t stride, int streamed)
{
    vec half[2][6];
    UNROLL
    for (int j = 0; j < 6; j++) {
        vec d[6], c[6];
        UNROLL
        for (int i = 0; i < 6; i++)
            d[i] = pixel(w, i, j);
        input6(d, c);
        half[0][j] = c[0];
        half[1][j] = c[5];
    }
    put_rows_by(input6, half, 2, 6, v, stride, 30, streamed);
}

INLINE void input_part(const struct ck_wino_tile *t, float *v, int64_t stride, int streamed)
{
    EACH_PART
    {
        struct window w = window_of(t, 6, lane);
        input_inner(&w, v + lane, stride, streamed);
        input_outer(&w, v + lane, stride, streamed);
    }
}

/* A member of struct ck_wino_kernels that transforms a tile; the last arguments are those of
 * `part`. */
#define TILE(name, part, ...)                                                                  \
    static void name(const struct ck_wino_tile *t, float *to, int64_t stride)                  \
    {                                                                                          \
        part(t, to, stride, __VA_ARGS__);                                                      \
    }
TILE(input, input_part, 0)
TILE(input_streamed, input_part, 1)

INLINE void output_grad_part(const struct ck_wino_tile *t, float *m, int64_t stride,
                             int streamed)
{
    EACH_PART
    {
        struct window w = window_of(t, 4, lane);
        vec half[6][6];
        UNROLL
        for (int j = 0; j < 4; j++) {
            vec d[4], c[6];
            UNROLL
            for (int i = 0; i < 4; i++)
                d[i] = pixel(&w, i, j);
            output_grad4(d, c);
            set_column(half, j, c, 6);
        }
        put_rows_by(output_grad4, half, 6, 6, m + lane, stride, 6, streamed);
    }
}

TILE(output_grad, output_grad_part, 0)
TILE(output_grad_streamed, output_grad_part, 1)

INLINE void put_pixel(float *y, vec v, int inside, int streamed)
{
    if (inside && streamed)
        stream(y, v);
    else if (inside)
        store(y, v);
}

INLINE void output_part(const float *m, int64_t stride, float *y, int64_t y_stride, int rows,
                        int cols, int streamed)
{
    vec half[4][6];
    UNROLL
    for (int i = 0; i < 6; i++, m += 6 * stride) {
        vec d[6], r[4];
        take(m, stride, 6, d);
        output6(d, r);
        set_column(half, i, r, 4);
    }
    UNROLL
    for (int j = 0; j < 4; j++) {
        vec c[4];
        output6(half[j], c);
        UNROLL
        for (int i = 0; i < 4; i++)
            put_pixel(y + i * y_stride + j * CK_WINO_BLOCK, c[i], i < rows && j < cols,
                      streamed);
    }
}

/* Whole tiles with constant bounds, which lets the compiler drop the tests. */
static void output_whole(const float *m, int64_t stride, float *y, int64_t y_stride)
{
    EACH_PART
    output_part(m + lane, stride, y + lane, y_stride, 4, 4, 0);
}

static void output_streamed(const float *m, int64_t stride, float *y, int64_t y_stride)
{
    EACH_PART
    output_part(m + lane, stride, y + lane, y_stride, 4, 4, 1);
}

static void output(const float *m, int64_t stride, float *y, int64_t y_stride, int rows,
                   int cols, int streamed)
{
    if (rows == 4 && cols == 4 && streamed)
        output_streamed(m, stride, y, y_stride);
    else if (rows == 4 && cols == 4)
        output_whole(m, stride, y, y_stride);
    else
        EACH_PART
    output_part(m + lane, stride, y + lane, y_stride, rows, cols, 0);
}

#include "kernels/kernels_winograd_half_simd.h"

/* ---- weights, with either stride ---- */

INLINE void weights_part(const float *g, int64_t tap_stride, float *u, int64_t stride,
                         int halved, int streamed)
{
    line_function *one = halved ? half_weights3 : weights3;
    EACH_PART
    {
        vec half[6][6];
        UNROLL
        for (int j = 0; j < 3; j++) {
            vec d[3], c[6];
            take(g + j * tap_stride + lane, 3 * tap_stride, 3, d);
            one(d, c);
            set_column(half, j, c, 6);
        }
        put_rows_by(one, half, 6, 6, u + lane, stride, 6, streamed);
    }
}

#define WEIGHTS(name, halved, streamed)                                                        \
    static void name(const float *g, int64_t tap_stride, float *u, int64_t stride)             \
    {                                                                                          \
        weights_part(g, tap_stride, u, stride, halved, streamed);                              \
    }
WEIGHTS(weights, 0, 0)
WEIGHTS(weights_streamed, 0, 1)
WEIGHTS(half_weights, 1, 0)
WEIGHTS(half_weights_streamed, 1, 1)

INLINE void weights_grad_part(const float *u, int64_t stride, int parts, int64_t part_stride,
                              float *dg, int halved)
{
    line_function *one = halved ? half_weights_grad6 : weights_grad6;
    EACH_PART
    {
        vec half[3][6];
        UNROLL
        for (int i = 0; i < 6; i++) {
            const float *row = u + i * 6 * stride + lane;
            vec d[6], r[3];
            take(row, stride, 6, d);
            LOOP
            for (int p = 1; p < parts; p++) {
                UNROLL
                for (int j = 0; j < 6; j++)
                    d[j] = add(d[j], load(row + p * part_stride + j * stride));
            }
            one(d, r);
            set_column(half, i, r, 3);
        }
        UNROLL
        for (int j = 0; j < 3; j++) {
            vec c[3];
            one(half[j], c);
            put(c, 3, dg + j * CK_WINO_BLOCK + lane, 3 * CK_WINO_BLOCK, 0);
        }
    }
}

static void weights_grad(const float *u, int64_t stride, int parts, int64_t part_stride,
                         float *dg)
{
    weights_grad_part(u, stride, parts, part_stride, dg, 0);
}

static void half_weights_grad(const float *u, int64_t stride, int parts, int64_t part_stride,
                              float *dg)
{
    weights_grad_part(u, stride, parts, part_stride, dg, 1);
}

/* The members of struct ck_wino_kernels that this file defines. */
#define TRANSFORMS                                                                             \
    .input = {{input, input_streamed},                                                         \
              {down_input, down_input_streamed},                                               \
              {up_input, up_input_streamed}},                                                  \
    .output = {output, down_output, up_output},                                                \
    .weights = {{weights, weights_streamed}, {half_weights, half_weights_streamed}},           \
    .output_grad = {{output_grad, output_grad_streamed},                                       \
                    {half_output_grad, half_output_grad_streamed}},                            \
    .weights_grad = {weights_grad, half_weights_grad}
