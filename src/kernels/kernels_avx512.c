/* kernels_avx512.c - AVX-512 versions: tiles of 8 rows x 48 centers, 24 accumulators. */
#include <immintrin.h>

#include "kernels/kernels_vec_avx512.h"

#include <stdint.h>

enum { ROWS = 8 };
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)

INLINE uint64_t reached(vec s, vec limit)
{
    return _mm512_cmp_ps_mask(s, limit, _CMP_GE_OQ);
}

#include "kernels/kernels_dense_simd.h"

float ck_dot_avx512(const float *x, const float *c, int ld)
{
    return dot(x, c, ld);
}

void ck_dot4_avx512(const float *x, const float *const c[4], int ld, float out[4])
{
    dot4(x, c, ld, out);
}

unsigned ck_dense_tile_avx512(const float *panel, const float *bias, const float *x, int ld,
                              const float *limit, uint64_t *hits, float *out)
{
    return rows_tile(panel, bias, x, ld, limit, hits, out);
}

/* cvtps rounds to even in the default mode, as llrintf does in the reference. */
void ck_accumulate_avx512(int64_t *sum, const float *x, int ld, float scale)
{
    __m256 s = _mm256_set1_ps(scale);
    for (int j = 0; j < ld; j += 8) {
        __m512i v = _mm512_cvtps_epi64(_mm256_mul_ps(_mm256_loadu_ps(x + j), s));
        _mm512_storeu_si512(sum + j, _mm512_add_epi64(_mm512_loadu_si512(sum + j), v));
    }
}

void ck_restore_avx512(const int64_t *sum, int ld, double unit, float *x)
{
    __m512d u = _mm512_set1_pd(unit);
    for (int j = 0; j < ld; j += 8) {
        __m512d v = _mm512_mul_pd(_mm512_cvtepi64_pd(_mm512_loadu_si512(sum + j)), u);
        _mm256_storeu_ps(x + j, _mm512_cvtpd_ps(v));
    }
}

const struct ck_kernels ck_kernels_avx512 = {.name = "avx512", CK_DENSE_AVX512};
