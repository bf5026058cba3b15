/* kernels_conv_bf16.c - convolutions on AVX-512's products of bf16 pairs. */
#include <immintrin.h>

#include "kernels/kernels_conv_simd.h"

static void begin(int pairs)
{
    (void)pairs;
}

static void end(void)
{
}

/* Pixels whose sums are in registers, two vectors each. */
enum { ROWS = 8 };

INLINE __m512bh pair(const unsigned char *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return (__m512bh)_mm512_set1_epi32(v);
}

/* sum [ROWS][32] = the products of ROWS pixels from `a`. pairs and halves are constants in each
 * copy: with 16 channels or less the rest of a block is zeros. */
INLINE void multiply_rows(const struct ck_tile_panel *p, const unsigned char *a, int pairs,
                          int halves, float *sum)
{
    __m512 s[ROWS][2];
    for (int r = 0; r < ROWS; r++)
        s[r][0] = s[r][1] = _mm512_setzero_ps();
    const uint16_t *b = p->b;
    for (int64_t k = 0; k < p->steps; k++, b += 1024)
        for (int i = 0; i < pairs; i++) {
            __m512bh b0 = (__m512bh)_mm512_load_si512(b + 32 * i);
            __m512bh b1 = (__m512bh)_mm512_load_si512(b + 512 + 32 * i);
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; r++) {
                __m512bh x = pair(a + p->at[k] + r * p->pixel + 4 * i);
                s[r][0] = _mm512_dpbf16_ps(s[r][0], x, b0);
                if (halves == 2)
                    s[r][1] = _mm512_dpbf16_ps(s[r][1], x, b1);
            }
        }
    for (int r = 0; r < ROWS; r++) {
        _mm512_store_ps(sum + 32 * r, s[r][0]);
        _mm512_store_ps(sum + 32 * r + 16, s[r][1]);
    }
}

INLINE void run_tiles(const struct ck_tile_panel *p, int pairs, int halves)
{
    _Alignas(64) float sum[16 * CK_TILE_CHANNELS];
    for (int64_t i = 0; i < p->tiles; i++) {
        for (int r = 0; r < 16; r += ROWS)
            multiply_rows(p, p->tile[i].a + r * p->pixel, pairs, halves, sum + 32 * r);
        const struct ck_tile *t = &p->tile[i];
        for (int r = t->from; r < t->to; r++)
            finish(t->out + p->out + 16 * halves * r, sum + 32 * r, halves,
                   ck_moments_of(p->moments, t));
    }
}

static void panel(const struct ck_tile_panel *p)
{
    if (p->pairs == 16 && p->halves == 2)
        run_tiles(p, 16, 2);
    else if (p->pairs == 16)
        run_tiles(p, 16, 1);
    else if (p->halves == 2)
        run_tiles(p, 8, 2);
    else
        run_tiles(p, 8, 1);
}

const struct ck_tile_kernels ck_tile_kernels_bf16 = {"avx512_bf16", begin, end,
                                                     panel,         pack,  pixels};
