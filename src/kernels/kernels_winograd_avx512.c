/* kernels_winograd_avx512.c - Winograd's convolutions on 16 lanes (AVX-512). */
#include <immintrin.h>

#include "kernels/kernels_vec_avx512.h"

#define vmask __mmask16
enum { ROWS = 16 };

INLINE vmask mask(int yes)
{
    return (__mmask16)-yes;
}

INLINE vec load_if(vmask m, const float *p)
{
    return _mm512_maskz_loadu_ps(m, p);
}

/* GCC repeats loads as memory operands of the arithmetic, but loads are the bottleneck. */
INLINE vec keep(vec v)
{
    __asm__("" : "+v"(v));
    return v;
}

#include "kernels/kernels_winograd_simd.h"

/* ---- products ----
 *
 * rows x nv sums, nv vectors of b and one number of a fill the 32 registers: 6 x 4, which loads
 * least per product, or 14 x 2 where there are fewer columns. */

struct sums {
    vec v[ROWS][4];
};

/* Starts from c, or from 0. */
INLINE void take_sums(int rows, int nv, const float *c, int64_t c_row, int accumulate,
                      struct sums *s)
{
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < nv; j++)
            s->v[i][j] = accumulate ? load(c + i * c_row + j * LANES) : zero();
    }
}

/* One k: s += the numbers a[i * a_row] times b [nv]. */
INLINE void add_product(int rows, int nv, const float *a, int64_t a_row, const float *b,
                        struct sums *s)
{
    vec bv[4];
    UNROLL
    for (int j = 0; j < nv; j++)
        bv[j] = load(b + j * LANES);
    UNROLL
    for (int i = 0; i < rows; i++) {
        vec x = all(a[i * a_row]);
        UNROLL
        for (int j = 0; j < nv; j++)
            s->v[i][j] = madd(x, bv[j], s->v[i][j]);
    }
}

INLINE void put_sums(int rows, int nv, const struct sums *s, float *c, int64_t c_row)
{
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < nv; j++)
            store(c + i * c_row + j * LANES, s->v[i][j]);
    }
}

/* rows and nv are constants in each copy, so that the sums stay in registers. Prefetches one
 * line per k; without `ahead` that is b itself, which is cheaper than a branch. */
INLINE void product_part(const struct ck_wino_product *p, int rows, int nv)
{
    struct sums s;
    const float *b = p->b, *block = p->a;
    float *c = p->c;
    const float *ahead = p->ahead ? p->ahead : b;
    take_sums(rows, nv, c, nv * LANES, p->accumulate, &s);
    for (int64_t k = p->k; k > 0; k -= CK_WINO_BLOCK, block += p->a_stride)
        for (int l = 0; l < CK_WINO_BLOCK; l++, b += nv * LANES, ahead += LANES) {
            _mm_prefetch((const char *)ahead, _MM_HINT_T1);
            add_product(rows, nv, block + l, CK_WINO_BLOCK, b, &s);
        }
    put_sums(rows, nv, &s, c, nv * LANES);
}

#define PRODUCT(rows, nv)                                                                      \
    static void product##rows##x##nv(const struct ck_wino_product *p)                          \
    {                                                                                          \
        product_part(p, rows, nv);                                                             \
    }
#define NARROW_PRODUCTS(rows) PRODUCT(rows, 1) PRODUCT(rows, 2)
#define ALL_PRODUCTS(rows) NARROW_PRODUCTS(rows) PRODUCT(rows, 3) PRODUCT(rows, 4)
ALL_PRODUCTS(1)
ALL_PRODUCTS(2)
ALL_PRODUCTS(3)
ALL_PRODUCTS(4)
ALL_PRODUCTS(5)
ALL_PRODUCTS(6)
NARROW_PRODUCTS(7)
NARROW_PRODUCTS(8)
NARROW_PRODUCTS(9)
NARROW_PRODUCTS(10)
NARROW_PRODUCTS(11)
NARROW_PRODUCTS(12)
NARROW_PRODUCTS(13)
NARROW_PRODUCTS(14)

#define NARROW(rows) product##rows##x1, product##rows##x2
#define WIDE(rows) NARROW(rows), product##rows##x3, product##rows##x4

/* Indexed by rows - 1 and vectors - 1; wide products have at most 6 rows. */
static void product(const struct ck_wino_product *p)
{
    static void (*const version[14][4])(const struct ck_wino_product *) = {
        {WIDE(1)},    {WIDE(2)},    {WIDE(3)},    {WIDE(4)},    {WIDE(5)},
        {WIDE(6)},    {NARROW(7)},  {NARROW(8)},  {NARROW(9)},  {NARROW(10)},
        {NARROW(11)}, {NARROW(12)}, {NARROW(13)}, {NARROW(14)},
    };
    version[p->rows - 1][p->width / LANES - 1](p);
}

/* Rows first..first + rows - 1 of the 16. */
INLINE void outer_part(const struct ck_wino_outer *o, int first, int rows, int nv,
                       const float *ahead)
{
    struct sums s;
    const float *a = o->a + first, *b = o->b;
    float *c = o->c + first * o->c_row;
    take_sums(rows, nv, c, o->c_row, o->accumulate, &s);
    if (!ahead)
        ahead = a;
    for (int64_t t = o->k; t > 0; t--, a += CK_WINO_BLOCK, b += nv * LANES) {
        _mm_prefetch((const char *)ahead, _MM_HINT_T1);
        ahead += CK_WINO_BLOCK;
        add_product(rows, nv, a, 1, b, &s);
    }
    put_sums(rows, nv, &s, c, o->c_row);
}

/* Splits the 16 rows so that each part's sums fit the registers. */
static void outer(const struct ck_wino_outer *o)
{
    switch (o->width / LANES) {
    case 4:
        outer_part(o, 0, 6, 4, o->ahead[0]);
        outer_part(o, 6, 5, 4, o->ahead[1]);
        outer_part(o, 11, 5, 4, NULL);
        break;
    case 3:
        outer_part(o, 0, 8, 3, o->ahead[0]);
        outer_part(o, 8, 8, 3, o->ahead[1]);
        break;
    case 2:
        outer_part(o, 0, 8, 2, o->ahead[0]);
        outer_part(o, 8, 8, 2, o->ahead[1]);
        break;
    default:
        outer_part(o, 0, 16, 1, o->ahead[0]);
    }
}

/* ---- transposes of 16x16 floats ---- */

/* Mask of the first n lanes. */
INLINE __mmask16 head(int n)
{
    return (__mmask16)((1u << n) - 1);
}

/* Pairs, then quadruples, within 128-bit lanes; then the lanes among the vectors. */
INLINE void transpose(vec r[16])
{
    vec t[16];
    UNROLL
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

static void gather(const float *from, int64_t ld, int rows, int cols, float *to)
{
    for (int j = 0; j < cols; j += 16) {
        int n = cols - j < 16 ? cols - j : 16;
        vec r[16];
        UNROLL
        for (int i = 0; i < 16; i++)
            r[i] = i < rows ? _mm512_maskz_loadu_ps(head(n), from + i * ld + j) : zero();
        transpose(r);
        UNROLL
        for (int i = 0; i < 16; i++)
            if (i < n)
                store(to + (j + i) * LANES, r[i]);
    }
}

static void scatter(const float *from, int rows, int cols, int accumulate, float *to,
                    int64_t ld)
{
    for (int j = 0; j < cols; j += 16) {
        int n = cols - j < 16 ? cols - j : 16;
        vec r[16];
        UNROLL
        for (int i = 0; i < 16; i++)
            r[i] = i < n ? load(from + (j + i) * LANES) : zero();
        transpose(r);
        for (int i = 0; i < rows; i++) {
            float *at = to + i * ld + j;
            vec v = accumulate ? add(_mm512_maskz_loadu_ps(head(n), at), r[i]) : r[i];
            _mm512_mask_storeu_ps(at, head(n), v);
        }
    }
}

const struct ck_wino_kernels ck_wino_kernels_avx512 = {
    .name = "avx512",
    .width = 4 * LANES,
    .rows = {14, 14, 6, 6},
    TRANSFORMS,
    .product = product,
    .outer = outer,
    .gather = gather,
    .scatter = scatter,
};
