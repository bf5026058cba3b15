/* kernels_matrix_avx512.c - a tile of a product of matrices of double for AVX-512: sixteen
 * accumulators, named individually to keep them in registers. */
#include "kernels/matrix.h"

#include <immintrin.h>

#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define START(i)                                                                               \
    __m512d s##i##0 = _mm512_loadu_pd(c + (i)*CK_TILE_COLS),                                   \
            s##i##1 = _mm512_loadu_pd(c + (i)*CK_TILE_COLS + 8);
#define STEP(i)                                                                                \
    {                                                                                          \
        __m512d v = _mm512_set1_pd(a[i]);                                                      \
        s##i##0 = _mm512_fmadd_pd(v, b0, s##i##0);                                             \
        s##i##1 = _mm512_fmadd_pd(v, b1, s##i##1);                                             \
    }
#define STORE(i)                                                                               \
    _mm512_storeu_pd(c + (i)*CK_TILE_COLS, s##i##0);                                           \
    _mm512_storeu_pd(c + (i)*CK_TILE_COLS + 8, s##i##1);

void ck_matrix_tile_avx512(const double *a, const double *b, int64_t depth, double *c)
{
    EACH(START)
    for (int64_t t = 0; t < depth; t++, a += CK_TILE_ROWS, b += CK_TILE_COLS) {
        __m512d b0 = _mm512_loadu_pd(b), b1 = _mm512_loadu_pd(b + 8);
        EACH(STEP)
    }
    EACH(STORE)
}
