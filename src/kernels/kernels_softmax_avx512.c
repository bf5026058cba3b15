/* kernels_softmax_avx512.c - softmax kernels for AVX-512: tiles of 8 x 48, 24 accumulators. */
#include <immintrin.h>

#include "kernels/kernels_vec_avx512.h"
#include "kernels/softmax.h"

enum { TILE = 8 };
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)

INLINE vec round_even(vec v)
{
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE vec power_or_zero(vec y, vec n, vec x)
{
    __mmask16 normal = _mm512_cmp_ps_mask(x, all(CK_EXP_MIN), _CMP_GE_OQ);
    __m512i power = _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23);
    return _mm512_castsi512_ps(_mm512_maskz_add_epi32(normal, _mm512_castps_si512(y), power));
}

#include "kernels/kernels_softmax_simd.h"

const struct ck_softmax ck_softmax_avx512 = {
    .name = "avx512", .scores = scores, .exps = exps, .mix = mix};
