/* kernels_layers_avx512.c - the layers' kernels on 16 lanes (AVX-512).
 *
 * Defines the vector operations that the kernels_*_simd.h are written in, then includes them. */
#include <immintrin.h>

#include "kernels/kernels_vec_avx512.h"

#include <stdint.h>

#define vmask __mmask16

/* Mask of the first n lanes. */
INLINE __mmask16 head(int n)
{
    return (__mmask16)((1u << n) - 1);
}

INLINE vec load_f32(const float *p, int n)
{
    return n == LANES ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(head(n), p);
}

INLINE void store_f32(float *p, vec v, int n)
{
    if (n == LANES)
        _mm512_storeu_ps(p, v);
    else
        _mm512_mask_storeu_ps(p, head(n), v);
}

/* A single permutation of 16-bit words widens (load) or narrows (store). */
INLINE vec load_bf16(const uint16_t *p, int n)
{
    const __m512i index = _mm512_set_epi16(15, 0, 14, 0, 13, 0, 12, 0, 11, 0, 10, 0, 9, 0, 8, 0,
                                           7, 0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0, 0, 0);
    __m256i half =
        n == LANES ? _mm256_loadu_si256((const void *)p) : _mm256_maskz_loadu_epi16(head(n), p);
    return _mm512_castsi512_ps(
        _mm512_maskz_permutexvar_epi16(0xaaaaaaaa, index, _mm512_castsi256_si512(half)));
}

/* Rounds to nearest even and makes NaN quiet, like narrow() of kernels_layers_ref.c. */
INLINE __m256i narrow(vec v)
{
    const __m512i index = _mm512_castsi256_si512(
        _mm256_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1));
    __m512i bits = _mm512_castps_si512(v);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    rounded = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
    return _mm512_castsi512_si256(_mm512_permutexvar_epi16(index, rounded));
}

INLINE void store_bf16(uint16_t *p, vec v, int n)
{
    if (n == LANES)
        _mm256_storeu_si256((void *)p, narrow(v));
    else
        _mm256_mask_storeu_epi16(p, head(n), narrow(v));
}

INLINE void stream_bf16(uint16_t *p, vec v)
{
    _mm256_stream_si256((void *)p, narrow(v));
}

/* Streamed stores are weakly ordered: fence them before other threads may read. */
INLINE void stream_end(void)
{
    _mm_sfence();
}

INLINE void store_u8(uint8_t *p, vec v, int n)
{
    __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v));
    if (n == LANES)
        _mm_storeu_si128((void *)p, bytes);
    else
        _mm_mask_storeu_epi8(p, head(n), bytes);
}

/* most() returns its second operand for NaN and zeros, which keeps NaN and -0. */
INLINE vec positive(vec v)
{
    return most(zero(), v);
}

/* "Not less or equal, unordered" passes the gradient where y is NaN. */
INLINE vec gate(vec g, vec y)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, zero(), _CMP_NLE_UQ), g);
}

INLINE vmask beats(vec v, vec best)
{
    return _mm512_cmp_ps_mask(v, best, _CMP_GT_OQ) | _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
}

INLINE vmask equal_u8(const uint8_t *p, int x, int n)
{
    __m128i v =
        n == LANES ? _mm_loadu_si128((const void *)p) : _mm_maskz_loadu_epi8(head(n), p);
    return _mm_cmpeq_epi8_mask(v, _mm_set1_epi8((char)x));
}

INLINE vec choose(vmask m, vec yes, vec no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}

struct wide {
    __m512d low, high;
};

INLINE struct wide wide_zero(void)
{
    return (struct wide){_mm512_setzero_pd(), _mm512_setzero_pd()};
}

INLINE struct wide wide_add_square(struct wide w, vec v)
{
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    return (struct wide){_mm512_fmadd_pd(low, low, w.low), _mm512_fmadd_pd(high, high, w.high)};
}

INLINE void wide_store(double *p, struct wide w)
{
    _mm512_storeu_pd(p, w.low);
    _mm512_storeu_pd(p + 8, w.high);
}

/* The classes: NaNs (1, 128) and infinities (8, 16). */
INLINE int count_bad(vec v)
{
    return __builtin_popcount(_mm512_fpclass_ps_mask(v, 1 | 8 | 16 | 128));
}

#include "kernels/kernels_layers_simd.h"
#include "kernels/kernels_norm_simd.h"
#include "kernels/kernels_update_simd.h"

const struct ck_layer_kernels ck_layer_kernels_avx512 = CK_LAYER_KERNELS("avx512");
