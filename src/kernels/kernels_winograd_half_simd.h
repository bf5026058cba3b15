/* kernels_winograd_half_simd.h - Winograd's transforms with stride 2, written once. Included by
 * kernels_winograd_simd.h.
 *
 * Slots are 9x9: in each dimension 5 of odd pixels, then 4 of even ones. The four quarters (odd
 * or even rows, odd or even columns) are separate, and even dimensions are not transformed. */

/* The points of odd pixels are +-c, +-d and infinity: the smallest error of those tried. */
#define C1 0.5
#define D1 1.25
#define C2 (C1 * C1)
#define D2 (D1 * D1)
/* 1 / the product of the differences to the other points, for c and d; that of -c and -d has the
 * other sign. */
#define FC (1 / (2 * C1 * (C2 - D2)))
#define FD (1 / (2 * D1 * (D2 - C2)))

enum { ODD = 5, EVEN = 4, SLOTS = ODD + EVEN };

/* ---- one dimension ---- */

INLINE void input5(const vec d[5], vec v[5])
{
    vec even_c = madd(number(-D2), d[0], d[2]), odd_c = madd(number(-D2), d[1], d[3]);
    vec even_d = madd(number(-C2), d[0], d[2]), odd_d = madd(number(-C2), d[1], d[3]);
    plus_minus(C1, even_c, odd_c, v); /* without the point 0 the parts change roles */
    plus_minus(D1, even_d, odd_d, v + 2);
    v[4] = madd(number(C2 * D2), d[0], madd(number(-(C2 + D2)), d[2], d[4]));
}

INLINE void output5(const vec m[5], vec y[4])
{
    struct pairs s = pairs_of(m);
    y[0] = add(s.sum_p, s.sum_q);
    higher_powers(&s, C1, D1, m[4], y);
}

INLINE void output_grad5(const vec y[4], vec m[5])
{
    at_four(y, C1, D1, m);
    m[4] = y[3];
}

/* The outer taps are those of odd pixels. */
INLINE void half_weights3(const vec g[3], vec u[6])
{
    vec c0 = mul(number(FC), g[0]), d0 = mul(number(FD), g[0]);
    u[0] = madd(number(FC * C1), g[2], c0);
    u[1] = madd(number(FC * C1), g[2], sub(zero(), c0));
    u[2] = madd(number(FD * D1), g[2], d0);
    u[3] = madd(number(FD * D1), g[2], sub(zero(), d0));
    u[4] = g[2];
    u[5] = g[1];
}

INLINE void half_weights_grad6(const vec u[6], vec g[3])
{
    struct pairs s = pairs_of(u);
    g[0] = madd(number(FC), s.diff_p, mul(number(FD), s.diff_q));
    g[1] = u[5];
    g[2] = madd(number(FC * C1), s.sum_p, madd(number(FD * D1), s.sum_q, u[4]));
}

/* ---- two dimensions ---- */

/* Pixels of a tile that belong to odd slots, i and j of them counted from the first; `step` is 2
 * where even ones are between them. */
INLINE void odd_columns(const struct window *w, int i, int step, vec d[5])
{
    UNROLL
    for (int j = 0; j < ODD; j++)
        d[j] = pixel(w, i, j * step);
}

INLINE void odd_rows(const struct window *w, int j, int step, vec d[5])
{
    UNROLL
    for (int i = 0; i < ODD; i++)
        d[i] = pixel(w, i * step, j);
}

/* step 2: pixels 0, 2 .. 8 are odd and 1, 3 .. 7 even ones; step 1: pixels 0 .. 4 serve as odd
 * and 0 .. 3 as even ones. */
INLINE void half_input(const struct ck_wino_tile *t, float *v, int64_t stride, int step,
                       int streamed)
{
    int even = step - 1;
    EACH_PART
    {
        struct window w = window_of(t, step == 2 ? SLOTS : ODD, lane);
        vec half[ODD][6], d[ODD], c[ODD];
        UNROLL
        for (int j = 0; j < ODD; j++) {
            odd_rows(&w, j * step, step, d);
            input5(d, c);
            set_column(half, j, c, ODD);
        }
        put_rows_by(input5, half, ODD, ODD, v + lane, stride, SLOTS, streamed);
        UNROLL
        for (int j = 0; j < EVEN; j++) {
            odd_rows(&w, j * step + even, step, d);
            input5(d, c);
            put(c, ODD, v + (ODD + j) * stride + lane, SLOTS * stride, streamed);
        }
        UNROLL
        for (int i = 0; i < EVEN; i++) {
            float *row = v + (ODD + i) * SLOTS * stride + lane;
            odd_columns(&w, i * step + even, step, d);
            input5(d, c);
            put(c, ODD, row, stride, streamed);
            UNROLL
            for (int j = 0; j < EVEN; j++)
                c[j] = pixel(&w, i * step + even, j * step + even);
            put(c, EVEN, row + ODD * stride, stride, streamed);
        }
    }
}

TILE(down_input, half_input, 2, 0)
TILE(down_input_streamed, half_input, 2, 1)
TILE(up_input, half_input, 1, 0)
TILE(up_input_streamed, half_input, 1, 1)

INLINE void half_output_grad_part(const struct ck_wino_tile *t, float *m, int64_t stride,
                                  int streamed)
{
    EACH_PART
    {
        struct window w = window_of(t, EVEN, lane);
        vec half[ODD][6], d[EVEN], c[ODD];
        UNROLL
        for (int j = 0; j < EVEN; j++) {
            UNROLL
            for (int i = 0; i < EVEN; i++)
                d[i] = pixel(&w, i, j);
            output_grad5(d, c);
            set_column(half, j, c, ODD);
        }
        put_rows_by(output_grad5, half, ODD, ODD, m + lane, stride, SLOTS, streamed);
        UNROLL
        for (int i = 0; i < ODD; i++)
            put(half[i], EVEN, m + (i * SLOTS + ODD) * stride + lane, stride, streamed);
        UNROLL
        for (int i = 0; i < EVEN; i++) {
            float *row = m + (ODD + i) * SLOTS * stride + lane;
            UNROLL
            for (int j = 0; j < EVEN; j++)
                d[j] = pixel(&w, i, j);
            output_grad5(d, c);
            put(c, ODD, row, stride, streamed);
            put(d, EVEN, row + ODD * stride, stride, streamed);
        }
    }
}

TILE(half_output_grad, half_output_grad_part, 0)
TILE(half_output_grad_streamed, half_output_grad_part, 1)

/* One row of slots to 4 columns: those of odd pixels and of even ones are added. */
INLINE void down_row(const float *m, int64_t stride, vec r[4])
{
    vec d[ODD];
    take(m, stride, ODD, d);
    output5(d, r);
    UNROLL
    for (int j = 0; j < EVEN; j++)
        r[j] = add(r[j], load(m + (ODD + j) * stride));
}

INLINE void down_output_part(const float *m, int64_t stride, float *y, int64_t y_stride,
                             int rows, int cols, int streamed)
{
    vec half[EVEN][6], sum[EVEN][6], r[EVEN];
    UNROLL
    for (int i = 0; i < ODD; i++) {
        down_row(m + i * SLOTS * stride, stride, r);
        set_column(half, i, r, EVEN);
    }
    UNROLL
    for (int j = 0; j < EVEN; j++) {
        output5(half[j], r);
        set_column(sum, j, r, EVEN);
    }
    UNROLL
    for (int i = 0; i < EVEN; i++) {
        down_row(m + (ODD + i) * SLOTS * stride, stride, r);
        UNROLL
        for (int j = 0; j < EVEN; j++)
            put_pixel(y + i * y_stride + j * CK_WINO_BLOCK, add(sum[i][j], r[j]),
                      i < rows && j < cols, streamed);
    }
}

static void down_output(const float *m, int64_t stride, float *y, int64_t y_stride, int rows,
                        int cols, int streamed)
{
    EACH_PART
    {
        if (rows == EVEN && cols == EVEN && streamed)
            down_output_part(m + lane, stride, y + lane, y_stride, EVEN, EVEN, 1);
        else
            down_output_part(m + lane, stride, y + lane, y_stride, rows, cols, 0);
    }
}

/* Odd rows of pixels: slots of 5 rows become 4 in every column; then the odd columns as well. */
INLINE void up_odd_rows(const float *m, int64_t stride, float *y, int64_t y_stride, int rows,
                        int cols, int streamed)
{
    vec half[EVEN][6], d[ODD], r[EVEN];
    UNROLL
    for (int j = 0; j < ODD; j++) {
        take(m + j * stride, SLOTS * stride, ODD, d);
        output5(d, r);
        set_column(half, j, r, EVEN);
    }
    UNROLL
    for (int i = 0; i < EVEN; i++) {
        output5(half[i], r);
        UNROLL
        for (int j = 0; j < EVEN; j++)
            put_pixel(y + (2 * i + 1) * y_stride + (2 * j + 1) * CK_WINO_BLOCK, r[j],
                      2 * i + 1 < rows && 2 * j + 1 < cols, streamed);
    }
    UNROLL
    for (int j = 0; j < EVEN; j++) {
        take(m + (ODD + j) * stride, SLOTS * stride, ODD, d);
        output5(d, r);
        UNROLL
        for (int i = 0; i < EVEN; i++)
            put_pixel(y + (2 * i + 1) * y_stride + 2 * j * CK_WINO_BLOCK, r[i],
                      2 * i + 1 < rows && 2 * j < cols, streamed);
    }
}

INLINE void up_even_rows(const float *m, int64_t stride, float *y, int64_t y_stride, int rows,
                         int cols, int streamed)
{
    vec d[ODD], r[EVEN];
    UNROLL
    for (int i = 0; i < EVEN; i++) {
        const float *row = m + (ODD + i) * SLOTS * stride;
        take(row, stride, ODD, d);
        output5(d, r);
        UNROLL
        for (int j = 0; j < EVEN; j++) {
            float *at = y + 2 * i * y_stride + 2 * j * CK_WINO_BLOCK;
            put_pixel(at, load(row + (ODD + j) * stride), 2 * i < rows && 2 * j < cols,
                      streamed);
            put_pixel(at + CK_WINO_BLOCK, r[j], 2 * i < rows && 2 * j + 1 < cols, streamed);
        }
    }
}

static void up_output(const float *m, int64_t stride, float *y, int64_t y_stride, int rows,
                      int cols, int streamed)
{
    EACH_PART
    {
        const float *from = m + lane;
        if (rows == 2 * EVEN && cols == 2 * EVEN && streamed) {
            up_odd_rows(from, stride, y + lane, y_stride, 2 * EVEN, 2 * EVEN, 1);
            up_even_rows(from, stride, y + lane, y_stride, 2 * EVEN, 2 * EVEN, 1);
        } else {
            up_odd_rows(from, stride, y + lane, y_stride, rows, cols, 0);
            up_even_rows(from, stride, y + lane, y_stride, rows, cols, 0);
        }
    }
}
