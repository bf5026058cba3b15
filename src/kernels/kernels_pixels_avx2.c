/* kernels_pixels_avx2.c - pixel arithmetic on 32 bytes (AVX2 + FMA).
 *
 * Defines the operations that kernels_pixels_simd.h and kernels_pixels_lines_simd.h are written
 * in, then includes them. */
#include <immintrin.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define vi __m256i
#define vf __m256
#define vmask __m256i
enum { BYTES = 32 };

#define zero() _mm256_setzero_si256()
#define all_b(x) _mm256_set1_epi8((char)(x))
#define all_w(x) _mm256_set1_epi16((short)(x))
#define all_d(x) _mm256_set1_epi32(x)
#define all_f(x) _mm256_set1_ps(x)
#define unpack_low_b _mm256_unpacklo_epi8
#define unpack_high_b _mm256_unpackhi_epi8
#define unpack_low_w _mm256_unpacklo_epi16
#define unpack_high_w _mm256_unpackhi_epi16
#define pack_to_w _mm256_packs_epi32
#define pack_to_b _mm256_packus_epi16
#define shuffle_b _mm256_shuffle_epi8
#define min_b _mm256_min_epu8
#define max_b _mm256_max_epu8
#define add_b _mm256_add_epi8
#define sub_b _mm256_sub_epi8
#define equal_b _mm256_cmpeq_epi8
#define choose_b(mask, yes, no) _mm256_blendv_epi8(no, yes, mask)
#define sum_b(v) _mm256_sad_epu8(v, zero())
#define min_w _mm256_min_epi16
#define max_w _mm256_max_epi16
#define add_w _mm256_add_epi16
#define sub_w _mm256_sub_epi16
#define mul_w _mm256_mullo_epi16
#define dot_w _mm256_madd_epi16
#define add_d _mm256_add_epi32
#define add_q _mm256_add_epi64
#define shift_left_d(v, n) _mm256_slli_epi32(v, n)
#define shift_right_d(v, n) _mm256_srai_epi32(v, n)
#define to_f _mm256_cvtepi32_ps
#define to_d _mm256_cvttps_epi32
#define add_f _mm256_add_ps
#define sub_f _mm256_sub_ps
#define mul_f _mm256_mul_ps
#define as_f _mm256_castsi256_ps
#define fma_f _mm256_fmadd_ps
#define div_f _mm256_div_ps
#define about_inverse_f _mm256_rcp_ps
#define fnma_f _mm256_fnmadd_ps
#define store_f _mm256_storeu_ps

INLINE vi load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

INLINE void store(uint8_t *p, vi v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

/* Words are scratch of the blur, aligned to 64 bytes; pixels are not aligned. */
INLINE vi load_w(const uint16_t *p)
{
    return _mm256_load_si256((const __m256i *)p);
}

INLINE void store_w(uint16_t *p, vi v)
{
    _mm256_store_si256((__m256i *)p, v);
}

/* `minus` holds bytes of 0 or 255, widened: bit 0 becomes the sign. */
INLINE vf negate_if(vf v, vi minus)
{
    return _mm256_xor_ps(v, _mm256_castsi256_ps(_mm256_slli_epi32(minus, 31)));
}

INLINE vf choose_if_negative(vf v, vf yes, vf no)
{
    return _mm256_blendv_ps(no, yes, v);
}

/* LANES bytes as 32-bit integers. */
INLINE vi load_levels(const uint8_t *p, int reversed)
{
    __m128i v = _mm_loadl_epi64((const __m128i *)p);
    if (reversed)
        v = _mm_shuffle_epi8(
            v, _mm_set_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_cvtepu8_epi32(v);
}

/* Two weights, in every pair of words. */
INLINE vi all_pairs(const int16_t *p)
{
    int32_t pair;
    __builtin_memcpy(&pair, p, sizeof pair);
    return _mm256_set1_epi32(pair);
}

INLINE vi all_lanes(const int8_t *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}

/* 16 bytes from each row, one row per 128-bit lane. */
INLINE vi load_rows(const uint8_t *const row[2], int64_t at)
{
    vi v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(row[0] + at)));
    return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(row[1] + at)), 1);
}

INLINE void store_rows(uint8_t *const row[2], int64_t at, vi v)
{
    _mm_storeu_si128((__m128i *)(row[0] + at), _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i *)(row[1] + at), _mm256_extracti128_si256(v, 1));
}

/* Transposes LANES quads into four planes of LANES bytes. */
INLINE vi planes_of_quads(vi v)
{
    const __m128i in_lane = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i across = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return _mm256_permutevar8x32_epi32(
        _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(in_lane)), across);
}

INLINE void widen_levels(__m256i v, uint16_t *out)
{
    store_w(out, _mm256_cvtepu8_epi16(_mm256_castsi256_si128(v)));
    store_w(out + 16, _mm256_cvtepu8_epi16(_mm256_extracti128_si256(v, 1)));
}

INLINE void widen_strip(const uint8_t *in, uint16_t *out)
{
    widen_levels(load(in), out);
}

INLINE __m256i narrow_strip(const uint16_t *in)
{
    __m256i v = _mm256_packus_epi16(load_w(in), load_w(in + 16));
    return _mm256_permute4x64_epi64(v, 0xd8);
}

#include "kernels/kernels_pixels_simd.h"
#include "kernels/kernels_pixels_lines_simd.h"

const struct ck_pixels ck_pixels_avx2 = CK_PIXELS;
