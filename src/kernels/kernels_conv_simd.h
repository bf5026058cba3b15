/* kernels_conv_simd.h - what follows the products, on AVX-512 with bf16 conversions. Included by
 * kernels_conv_amx.c and kernels_conv_bf16.c. */
#include "kernels/kernels_conv_tiles.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE void sum_rows(const struct ck_tile *t, const float *sum, struct ck_tile_moments *m)
{
    if (!m->rows) {
        _mm512_storeu_ps(m->pivot, _mm512_load_ps(sum + 32 * t->from));
        _mm512_storeu_ps(m->pivot + 16, _mm512_load_ps(sum + 32 * t->from + 16));
    }
    m->rows += t->to - t->from;
    for (int half = 0; half < 32; half += 16) {
        __m512 pivot = _mm512_loadu_ps(m->pivot + half);
        __m512 dev = _mm512_loadu_ps(m->dev + half);
        __m512 square = _mm512_loadu_ps(m->square + half);
        for (int r = t->from; r < t->to; r++) {
            __m512 d = _mm512_sub_ps(_mm512_load_ps(sum + 32 * r + half), pivot);
            dev = _mm512_add_ps(dev, d);
            square = _mm512_fmadd_ps(d, d, square);
        }
        _mm512_storeu_ps(m->dev + half, dev);
        _mm512_storeu_ps(m->square + half, square);
    }
}

/* Rounds sum [16][32] to tile->out and adds its rows to the moments. */
INLINE void finish(const struct ck_tile *t, int64_t out, const float *sum,
                   struct ck_tile_moments *m)
{
    uint16_t *y = t->out + out;
    for (int r = t->from; r < t->to; r++) {
        __m512bh v = _mm512_cvtne2ps_pbh(_mm512_load_ps(sum + 32 * r + 16),
                                         _mm512_load_ps(sum + 32 * r));
        _mm512_storeu_si512(y + 32 * r, (__m512i)v);
    }
    if (m)
        sum_rows(t, sum, m);
}

static void pixels(int64_t n, const void *src, int64_t from, void *dst, int64_t to)
{
    for (int64_t i = 0; i < n; i++)
        _mm512_storeu_si512((char *)dst + i * to,
                            _mm512_loadu_si512((const char *)src + i * from));
}
