/* kernels_layers_avx2.c - the layers' kernels on 8 lanes (AVX2 + FMA).
 *
 * Defines the vector operations that the kernels_*_simd.h are written in, then includes them. */
#include <immintrin.h>

#include "kernels/kernels_vec_avx2.h"

#include <stdint.h>
#include <string.h>

#define vmask __m256

INLINE __m256i head(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINE vec load_f32(const float *p, int n)
{
    return n == LANES ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, head(n));
}

INLINE void store_f32(float *p, vec v, int n)
{
    if (n == LANES)
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, head(n), v);
}

/* AVX2 has no masked loads of 8-bit and 16-bit elements: partial vectors are copied through
 * memory. */
INLINE __m128i load_bytes(const void *p, size_t bytes)
{
    uint8_t all16[16] = {0};
    memcpy(all16, p, bytes);
    return _mm_loadu_si128((const void *)all16);
}

INLINE void store_bytes(void *p, __m128i v, size_t bytes)
{
    uint8_t all16[16];
    _mm_storeu_si128((void *)all16, v);
    memcpy(p, all16, bytes);
}

INLINE vec load_bf16(const uint16_t *p, int n)
{
    __m128i half = n == LANES ? _mm_loadu_si128((const void *)p) : load_bytes(p, 2 * (size_t)n);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

/* Rounds to nearest even and makes NaN quiet, like narrow() of kernels_layers_ref.c. */
INLINE __m128i narrow(vec v)
{
    __m256i bits = _mm256_castps_si256(v), high = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(_mm256_srli_epi32(rounded, 16),
                                 _mm256_or_si256(high, _mm256_set1_epi32(0x40)), nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(rounded),
                            _mm256_extracti128_si256(rounded, 1));
}

INLINE void store_bf16(uint16_t *p, vec v, int n)
{
    if (n == LANES)
        _mm_storeu_si128((void *)p, narrow(v));
    else
        store_bytes(p, narrow(v), 2 * (size_t)n);
}

INLINE void stream_bf16(uint16_t *p, vec v)
{
    _mm_stream_si128((void *)p, narrow(v));
}

INLINE void stream_end(void)
{
    _mm_sfence();
}

INLINE void store_u8(uint8_t *p, vec v, int n)
{
    __m256i wide = _mm256_cvtps_epi32(v);
    __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    __m128i bytes = _mm_packus_epi16(words, words);
    if (n == LANES)
        _mm_storel_epi64((void *)p, bytes);
    else
        store_bytes(p, bytes, (size_t)n);
}

/* most() returns its second operand for NaN and zeros, which keeps NaN and -0. */
INLINE vec positive(vec v)
{
    return most(zero(), v);
}

INLINE vec gate(vec g, vec y)
{
    return _mm256_and_ps(_mm256_cmp_ps(y, zero(), _CMP_NLE_UQ), g);
}

INLINE vmask beats(vec v, vec best)
{
    return _mm256_or_ps(_mm256_cmp_ps(v, best, _CMP_GT_OQ), _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}

INLINE vmask equal_u8(const uint8_t *p, int x, int n)
{
    __m128i v = n == LANES ? _mm_loadl_epi64((const void *)p) : load_bytes(p, (size_t)n);
    return _mm256_castsi256_ps(
        _mm256_cmpeq_epi32(_mm256_cvtepu8_epi32(v), _mm256_set1_epi32(x)));
}

INLINE vec choose(vmask m, vec yes, vec no)
{
    return _mm256_blendv_ps(no, yes, m);
}

struct wide {
    __m256d low, high;
};

INLINE struct wide wide_zero(void)
{
    return (struct wide){_mm256_setzero_pd(), _mm256_setzero_pd()};
}

INLINE struct wide wide_add_square(struct wide w, vec v)
{
    __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
    __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
    return (struct wide){_mm256_fmadd_pd(low, low, w.low), _mm256_fmadd_pd(high, high, w.high)};
}

INLINE void wide_store(double *p, struct wide w)
{
    _mm256_storeu_pd(p, w.low);
    _mm256_storeu_pd(p + 4, w.high);
}

/* v - v is NaN for these and 0 for all others. */
INLINE int count_bad(vec v)
{
    vec d = _mm256_sub_ps(v, v);
    return __builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_cmp_ps(d, d, _CMP_UNORD_Q)));
}

#include "kernels/kernels_layers_simd.h"
#include "kernels/kernels_norm_simd.h"
#include "kernels/kernels_update_simd.h"

const struct ck_layer_kernels ck_layer_kernels_avx2 = CK_LAYER_KERNELS("avx2");
