/* kernels_conv_simd.h - what follows the products, on AVX-512 with bf16 conversions. Included by
 * kernels_conv_amx.c and kernels_conv_bf16.c. */
#include "kernels/kernels_conv_tiles.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE void sum_half(__m512 v, float *pivot, float *dev, float *square, int first)
{
    if (first)
        _mm512_storeu_ps(pivot, v);
    __m512 d = _mm512_sub_ps(v, _mm512_loadu_ps(pivot));
    _mm512_storeu_ps(dev, _mm512_add_ps(_mm512_loadu_ps(dev), d));
    _mm512_storeu_ps(square, _mm512_fmadd_ps(d, d, _mm512_loadu_ps(square)));
}

/* Rounds sum [halves * 16] to y and adds it to the moments. */
INLINE void finish(uint16_t *y, const float *sum, int halves, struct ck_tile_moments *m)
{
    __m512 low = _mm512_load_ps(sum), high = _mm512_load_ps(sum + 16);
    if (halves == 2)
        _mm512_storeu_si512(y, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    else
        _mm256_storeu_si256((__m256i *)y, (__m256i)_mm512_cvtneps_pbh(low));
    if (!m)
        return;
    sum_half(low, m->pivot, m->dev, m->square, !m->rows);
    if (halves == 2)
        sum_half(high, m->pivot + 16, m->dev + 16, m->square + 16, !m->rows);
    m->rows++;
}

static void pixels(int64_t n, int64_t bytes, const void *src, int64_t from, void *dst,
                   int64_t to)
{
    for (int64_t i = 0; bytes == 32 && i < n; i++)
        _mm256_storeu_si256((void *)((char *)dst + i * to),
                            _mm256_loadu_si256((const void *)((const char *)src + i * from)));
    for (int64_t i = 0; bytes == 64 && i < n; i++)
        _mm512_storeu_si512((char *)dst + i * to,
                            _mm512_loadu_si512((const char *)src + i * from));
}

static void pack(const float *w, int64_t from, int64_t to, uint16_t *tile)
{
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i index = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)to));
    for (int i = 0; i < 16; i++, w += 2 * from) {
        __m512 even = _mm512_i32gather_ps(index, w, 4),
               odd = _mm512_i32gather_ps(index, w + from, 4);
        __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(even));
        __m512i high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(odd));
        _mm512_storeu_si512(tile + 32 * i, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
}
