/* kernels_matrix_avx2.c - a tile of a product of matrices of double for AVX2: four parts of four
 * rows and eight columns, eight accumulators each. */
#include "kernels/matrix.h"

#include <immintrin.h>

#define EACH(DO) DO(0) DO(1) DO(2) DO(3)
#define START(i)                                                                               \
    __m256d s##i##0 = _mm256_loadu_pd(c + (i)*CK_TILE_COLS),                                   \
            s##i##1 = _mm256_loadu_pd(c + (i)*CK_TILE_COLS + 4);
#define STEP(i)                                                                                \
    {                                                                                          \
        __m256d v = _mm256_broadcast_sd(a + (i));                                              \
        s##i##0 = _mm256_fmadd_pd(v, b0, s##i##0);                                             \
        s##i##1 = _mm256_fmadd_pd(v, b1, s##i##1);                                             \
    }
#define STORE(i)                                                                               \
    _mm256_storeu_pd(c + (i)*CK_TILE_COLS, s##i##0);                                           \
    _mm256_storeu_pd(c + (i)*CK_TILE_COLS + 4, s##i##1);

static void part(const double *a, const double *b, int64_t depth, double *c)
{
    EACH(START)
    for (int64_t t = 0; t < depth; t++, a += CK_TILE_ROWS, b += CK_TILE_COLS) {
        __m256d b0 = _mm256_loadu_pd(b), b1 = _mm256_loadu_pd(b + 4);
        EACH(STEP)
    }
    EACH(STORE)
}

void ck_matrix_tile_avx2(const double *a, const double *b, int64_t depth, double *c)
{
    for (int i = 0; i < CK_TILE_ROWS; i += 4)
        for (int j = 0; j < CK_TILE_COLS; j += 8)
            part(a + i, b + j, depth, c + i * CK_TILE_COLS + j);
}
