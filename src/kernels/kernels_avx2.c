/* kernels_avx2.c - AVX2 + FMA versions: tiles of 4 rows x 24 centers, 12 accumulators. */
#include <immintrin.h>

#include "kernels/kernels_vec_avx2.h"

#include <stdint.h>

enum { ROWS = 4 };
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)

INLINE uint64_t reached(vec s, vec limit)
{
    return (uint64_t)_mm256_movemask_ps(_mm256_cmp_ps(s, limit, _CMP_GE_OQ));
}

#include "kernels/kernels_dense_simd.h"

/* 16 registers hold 12 accumulators, so a tile of CK_TILE rows is computed in two halves. */
static unsigned dense_tile(const float *panel, const float *bias, const float *x, int ld,
                           const float *limit, uint64_t *hits, float *out)
{
    unsigned low = rows_tile(panel, bias, x, ld, limit, hits, out);
    unsigned high = rows_tile(panel, bias, x + (int64_t)ROWS * ld, ld, limit + ROWS,
                              hits + ROWS, out + ROWS * PANEL);
    return low | high << ROWS;
}

/* AVX2 has no conversion to int64: adding 1.5 * 2^52 leaves the integer, rounded to even, in
 * the low bits of a double. */
static void accumulate(int64_t *sum, const float *x, int ld, float scale)
{
    __m256d s = _mm256_set1_pd((double)scale), magic = _mm256_set1_pd(0x1.8p52);
    for (int j = 0; j < ld; j += 4) {
        __m256d v = _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + j)), s);
        __m256i i = _mm256_sub_epi64(_mm256_castpd_si256(_mm256_add_pd(v, magic)),
                                     _mm256_castpd_si256(magic));
        __m256i *to = (__m256i *)(sum + j);
        _mm256_storeu_si256(to, _mm256_add_epi64(_mm256_loadu_si256(to), i));
    }
}

const struct ck_kernels ck_kernels_avx2 = {.name = "avx2",
                                           .panel = PANEL,
                                           .dot = dot,
                                           .dot4 = dot4,
                                           .dense_tile = dense_tile,
                                           .accumulate = accumulate,
                                           .restore = ck_restore_ref};
