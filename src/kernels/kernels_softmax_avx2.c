/* kernels_softmax_avx2.c - softmax kernels for AVX2 + FMA: tiles of 4 x 24, 12 accumulators. */
#include <immintrin.h>

#include "kernels/kernels_vec_avx2.h"
#include "kernels/softmax.h"

enum { TILE = 4 };
#define EACH(DO) DO(0) DO(1) DO(2) DO(3)

INLINE vec round_even(vec v)
{
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE vec power_or_zero(vec y, vec n, vec x)
{
    vec normal = _mm256_cmp_ps(x, all(CK_EXP_MIN), _CMP_GE_OQ);
    __m256i power = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    y = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), power));
    return _mm256_and_ps(y, normal);
}

#include "kernels/kernels_softmax_simd.h"

const struct ck_softmax ck_softmax_avx2 = {
    .name = "avx2", .scores = scores, .exps = exps, .mix = mix};
