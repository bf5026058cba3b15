/* kernels_wgrad_bf16.c - the gradient of the weights on AVX-512's products of bf16 pairs. */
#include <immintrin.h>

#include "kernels/kernels_wgrad_simd.h"

#include <string.h>

static void nothing(void)
{
}

/* Four lines by up to four tiles of columns: one vector of sums per line and tile. */
INLINE void four_lines(const struct ck_wgrad_panel *p, int line, int columns)
{
    __m512 s[4][4];
    const uint16_t *first = p->a + line / 16 * CK_WGRAD_TILE + line % 16 * 32;
#pragma GCC unroll 4
    for (int j = 0; j < columns; j++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const float *old = p->sum + ((j * p->lines * 16) + line + i) * 16;
            s[j][i] = p->resume ? _mm512_loadu_ps(old) : _mm512_setzero_ps();
        }
    for (int64_t n = 0; n < p->bundles; n++)
        for (int64_t k = 0; k < p->steps; k++) {
            const uint16_t *a = first + n * p->a_bundle + k * 2 * CK_WGRAD_TILE;
            int64_t at = n * p->b_bundle + k * CK_WGRAD_TILE;
            for (int q = 0; q < 16; q++, a += 2, at += 32) {
                __m512bh x[4];
#pragma GCC unroll 4
                for (int i = 0; i < 4; i++) {
                    int32_t v;
                    memcpy(&v, a + 32 * i, sizeof v);
                    x[i] = (__m512bh)_mm512_set1_epi32(v);
                }
#pragma GCC unroll 4
                for (int j = 0; j < columns; j++) {
                    __m512bh b = (__m512bh)_mm512_loadu_si512(p->b[j] + at);
#pragma GCC unroll 4
                    for (int i = 0; i < 4; i++)
                        s[j][i] = _mm512_dpbf16_ps(s[j][i], x[i], b);
                }
            }
        }
#pragma GCC unroll 4
    for (int j = 0; j < columns; j++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            _mm512_storeu_ps(p->sum + ((j * p->lines * 16) + line + i) * 16, s[j][i]);
}

static void panel(const struct ck_wgrad_panel *p)
{
    for (int line = 0; line < 16 * p->lines; line += 4)
        if (p->columns == 4)
            four_lines(p, line, 4);
        else if (p->columns == 3)
            four_lines(p, line, 3);
        else if (p->columns == 2)
            four_lines(p, line, 2);
        else
            four_lines(p, line, 1);
}

const struct ck_wgrad_kernels ck_wgrad_kernels_bf16 = {nothing, nothing, pairs, lines, panel};
