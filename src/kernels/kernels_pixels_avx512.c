/* kernels_pixels_avx512.c - pixel arithmetic on 64 bytes (AVX-512).
 *
 * Defines the operations that kernels_pixels_simd.h and kernels_pixels_lines_simd.h are written
 * in, then includes them. */
#include <immintrin.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define vi __m512i
#define vf __m512
#define vmask __mmask64
enum { BYTES = 64 };

#define zero() _mm512_setzero_si512()
#define all_b(x) _mm512_set1_epi8((char)(x))
#define all_w(x) _mm512_set1_epi16((short)(x))
#define all_d(x) _mm512_set1_epi32(x)
#define all_f(x) _mm512_set1_ps(x)
#define unpack_low_b _mm512_unpacklo_epi8
#define unpack_high_b _mm512_unpackhi_epi8
#define unpack_low_w _mm512_unpacklo_epi16
#define unpack_high_w _mm512_unpackhi_epi16
#define pack_to_w _mm512_packs_epi32
#define pack_to_b _mm512_packus_epi16
#define shuffle_b _mm512_shuffle_epi8
#define min_b _mm512_min_epu8
#define max_b _mm512_max_epu8
#define add_b _mm512_add_epi8
#define sub_b _mm512_sub_epi8
#define equal_b _mm512_cmpeq_epi8_mask
#define choose_b(mask, yes, no) _mm512_mask_blend_epi8(mask, no, yes)
#define sum_b(v) _mm512_sad_epu8(v, zero())
#define min_w _mm512_min_epi16
#define max_w _mm512_max_epi16
#define add_w _mm512_add_epi16
#define sub_w _mm512_sub_epi16
#define mul_w _mm512_mullo_epi16
#define dot_w _mm512_madd_epi16
#define add_d _mm512_add_epi32
#define add_q _mm512_add_epi64
#define shift_left_d(v, n) _mm512_slli_epi32(v, n)
#define shift_right_d(v, n) _mm512_srai_epi32(v, n)
#define to_f _mm512_cvtepi32_ps
#define to_d _mm512_cvttps_epi32
#define add_f _mm512_add_ps
#define sub_f _mm512_sub_ps
#define mul_f _mm512_mul_ps
#define as_f _mm512_castsi512_ps
#define fma_f _mm512_fmadd_ps
#define div_f _mm512_div_ps
#define about_inverse_f _mm512_rcp14_ps
#define fnma_f _mm512_fnmadd_ps
#define store_f _mm512_storeu_ps

INLINE vi load(const uint8_t *p)
{
    return _mm512_loadu_si512(p);
}

INLINE void store(uint8_t *p, vi v)
{
    _mm512_storeu_si512(p, v);
}

/* Words are scratch of the blur, aligned to 64 bytes; pixels are not aligned. */
INLINE vi load_w(const uint16_t *p)
{
    return _mm512_load_si512(p);
}

INLINE void store_w(uint16_t *p, vi v)
{
    _mm512_store_si512(p, v);
}

/* `minus` holds bytes of 0 or 255, widened: bit 0 becomes the sign. */
INLINE vf negate_if(vf v, vi minus)
{
    return _mm512_xor_ps(v, _mm512_castsi512_ps(_mm512_slli_epi32(minus, 31)));
}

INLINE vf choose_if_negative(vf v, vf yes, vf no)
{
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(v)), no, yes);
}

/* LANES bytes as 32-bit integers. */
INLINE vi load_levels(const uint8_t *p, int reversed)
{
    __m128i v = _mm_loadu_si128((const __m128i *)p);
    if (reversed)
        v = _mm_shuffle_epi8(
            v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    return _mm512_cvtepu8_epi32(v);
}

/* Two weights, in every pair of words. */
INLINE vi all_pairs(const int16_t *p)
{
    int32_t pair;
    __builtin_memcpy(&pair, p, sizeof pair);
    return _mm512_set1_epi32(pair);
}

INLINE vi all_lanes(const int8_t *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}

/* 16 bytes from each row, one row per 128-bit lane. */
INLINE vi load_rows(const uint8_t *const row[4], int64_t at)
{
    vi v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(row[0] + at)));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(row[1] + at)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(row[2] + at)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(row[3] + at)), 3);
}

INLINE void store_rows(uint8_t *const row[4], int64_t at, vi v)
{
    _mm_storeu_si128((__m128i *)(row[0] + at), _mm512_castsi512_si128(v));
    _mm_storeu_si128((__m128i *)(row[1] + at), _mm512_extracti32x4_epi32(v, 1));
    _mm_storeu_si128((__m128i *)(row[2] + at), _mm512_extracti32x4_epi32(v, 2));
    _mm_storeu_si128((__m128i *)(row[3] + at), _mm512_extracti32x4_epi32(v, 3));
}

/* Transposes LANES quads into four planes of LANES bytes. */
INLINE vi planes_of_quads(vi v)
{
    const __m128i in_lane = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i across =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(across,
                                    _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(in_lane)));
}

INLINE void widen_levels(__m256i v, uint16_t *out)
{
    _mm512_store_si512(out, _mm512_cvtepu8_epi16(v));
}

INLINE void widen_strip(const uint8_t *in, uint16_t *out)
{
    widen_levels(_mm256_loadu_si256((const __m256i *)in), out);
}

INLINE __m256i narrow_strip(const uint16_t *in)
{
    return _mm512_cvtepi16_epi8(_mm512_load_si512(in));
}

#include "kernels/kernels_pixels_simd.h"
#include "kernels/kernels_pixels_lines_simd.h"

const struct ck_pixels ck_pixels_avx512 = CK_PIXELS;
