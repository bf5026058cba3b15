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

/* Rounds sum [32] to y and adds it to the moments. */
INLINE void finish(uint16_t *y, const float *sum, struct ck_tile_moments *m)
{
    __m512 low = _mm512_load_ps(sum), high = _mm512_load_ps(sum + 16);
    _mm512_storeu_si512(y, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    if (!m)
        return;
    sum_half(low, m->pivot, m->dev, m->square, !m->rows);
    sum_half(high, m->pivot + 16, m->dev + 16, m->square + 16, !m->rows);
    m->rows++;
}

static void pixels(int64_t n, const void *src, int64_t from, void *dst, int64_t to)
{
    for (int64_t i = 0; i < n; i++)
        _mm512_storeu_si512((char *)dst + i * to,
                            _mm512_loadu_si512((const char *)src + i * from));
}
