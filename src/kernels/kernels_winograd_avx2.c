/* kernels_winograd_avx2.c - Winograd's convolutions on 8 lanes (AVX2 + FMA). */
#include <immintrin.h>

#include "kernels/kernels_vec_avx2.h"

#define vmask __m256i
enum { ROWS = 6, WIDTH = 16 };

INLINE vmask mask(int yes)
{
    return _mm256_set1_epi32(-yes);
}

INLINE vec load_if(vmask m, const float *p)
{
    return _mm256_maskload_ps(p, m);
}

/* GCC repeats loads as memory operands of the arithmetic, but loads are the bottleneck. */
INLINE vec keep(vec v)
{
    __asm__("" : "+x"(v));
    return v;
}

#include "kernels/kernels_winograd_simd.h"

/* ---- products ----
 *
 * 6 rows of 2 vectors: 12 sums, 2 vectors of b and one number of a fill the 16 registers. */

/* One k: s [rows][2] += the numbers a[i * a_row] times b [16]. */
INLINE void rank_one(int rows, const float *a, int64_t a_row, const float *b, vec s[][2])
{
    vec b0 = load(b), b1 = load(b + LANES);
    UNROLL
    for (int i = 0; i < rows; i++) {
        vec x = all(a[i * a_row]);
        s[i][0] = madd(x, b0, s[i][0]);
        s[i][1] = madd(x, b1, s[i][1]);
    }
}

INLINE void take_rows(int rows, const float *c, int64_t c_row, int accumulate, vec s[][2])
{
    UNROLL
    for (int i = 0; i < rows; i++) {
        s[i][0] = accumulate ? load(c + i * c_row) : zero();
        s[i][1] = accumulate ? load(c + i * c_row + LANES) : zero();
    }
}

INLINE void put_rows(int rows, vec s[][2], float *c, int64_t c_row)
{
    UNROLL
    for (int i = 0; i < rows; i++) {
        store(c + i * c_row, s[i][0]);
        store(c + i * c_row + LANES, s[i][1]);
    }
}

/* rows is a constant in each copy, so that the sums stay in registers. Ignores `ahead`. */
INLINE void product_rows(const struct ck_wino_product *p, int rows)
{
    vec s[ROWS][2];
    const float *b = p->b, *block = p->a;
    take_rows(rows, p->c, WIDTH, p->accumulate, s);
    for (int64_t k = 0; k < p->k; k += CK_WINO_BLOCK, block += p->a_stride)
        for (int l = 0; l < CK_WINO_BLOCK; l++, b += WIDTH)
            rank_one(rows, block + l, CK_WINO_BLOCK, b, s);
    put_rows(rows, s, p->c, WIDTH);
}

static void product(const struct ck_wino_product *p)
{
    switch (p->rows) {
    case 6:
        product_rows(p, 6);
        break;
    case 5:
        product_rows(p, 5);
        break;
    case 4:
        product_rows(p, 4);
        break;
    case 3:
        product_rows(p, 3);
        break;
    case 2:
        product_rows(p, 2);
        break;
    default:
        product_rows(p, 1);
    }
}

INLINE void outer_rows(const struct ck_wino_outer *o, int first, int rows)
{
    vec s[ROWS][2];
    float *c = o->c + first * o->c_row;
    take_rows(rows, c, o->c_row, o->accumulate, s);
    for (int64_t t = 0; t < o->k; t++)
        rank_one(rows, o->a + t * CK_WINO_BLOCK + first, 1, o->b + t * WIDTH, s);
    put_rows(rows, s, c, o->c_row);
}

/* Splits the 16 rows so that each part's sums fit the registers. */
static void outer(const struct ck_wino_outer *o)
{
    outer_rows(o, 0, 6);
    outer_rows(o, 6, 5);
    outer_rows(o, 11, 5);
}

const struct ck_wino_kernels ck_wino_kernels_avx2 = {
    .name = "avx2",
    .width = WIDTH,
    .rows = {ROWS},
    TRANSFORMS,
    .product = product,
    .outer = outer,
    .gather = ck_wino_gather_ref,
    .scatter = ck_wino_scatter_ref,
};
