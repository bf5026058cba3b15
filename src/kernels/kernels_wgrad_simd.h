/* kernels_wgrad_simd.h - packing for the gradient of the weights on AVX-512. Included by
 * kernels_wgrad_amx.c and kernels_wgrad_bf16.c, after <immintrin.h>. */
#include "kernels/kernels_wgrad.h"

#define INLINE static inline __attribute__((always_inline))

static void pairs(const struct ck_wgrad_pixels *p, uint16_t *low, uint16_t *high)
{
    /* Words 0..15 of two vectors in turn; 16..31 in the other half. */
    const __m512i first =
        _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7,
                         38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
    for (int64_t i = 0; i < p->n; i += 2, low += 32, high += 32) {
        __m512i u = _mm512_loadu_si512(ck_wgrad_pixel(p, i));
        __m512i v = _mm512_loadu_si512(ck_wgrad_pixel(p, i + 1));
        _mm512_store_si512(low, _mm512_permutex2var_epi16(u, first, v));
        _mm512_store_si512(high, _mm512_permutex2var_epi16(u, second, v));
    }
}

/* The 16 bytes at p in lane j, the other lanes of v. */
#define LANE(v, j, p)                                                                          \
    _mm512_mask_broadcast_i32x4(v, (__mmask16)(0xf << 4 * (j)),                                \
                                _mm_loadu_si128((const void *)(p)))

/* Eight channels of 32 pixels, from byte `at` of each: transposes 8 x 8 words in each lane. */
INLINE void lines_of_8(const unsigned char *const px[32], int at, uint16_t *out)
{
    __m512i v[8], t[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        v[i] = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(px[i] + at)));
        v[i] = LANE(v[i], 1, px[8 + i] + at);
        v[i] = LANE(v[i], 2, px[16 + i] + at);
        v[i] = LANE(v[i], 3, px[24 + i] + at);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm512_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        int k = i / 2 * 4 + i % 2;
        v[2 * i] = _mm512_unpacklo_epi32(t[k], t[k + 2]);
        v[2 * i + 1] = _mm512_unpackhi_epi32(t[k], t[k + 2]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        _mm512_store_si512(out + 64 * i, _mm512_unpacklo_epi64(v[i], v[i + 4]));
        _mm512_store_si512(out + 64 * i + 32, _mm512_unpackhi_epi64(v[i], v[i + 4]));
    }
}

static void lines(const struct ck_wgrad_pixels *p, uint16_t *out)
{
    for (int64_t i = 0; i < p->n; i += 32, out += 2 * CK_WGRAD_TILE) {
        const unsigned char *px[32];
        for (int j = 0; j < 32; j++)
            px[j] = ck_wgrad_pixel(p, i + j);
        for (int c = 0; c < 4; c++)
            lines_of_8(px, 16 * c, out + 256 * c);
    }
}
