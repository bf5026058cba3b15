/* kernels_wgrad_simd.h - packing for the gradient of the weights on AVX-512. Included by
 * kernels_wgrad_amx.c and kernels_wgrad_bf16.c, after <immintrin.h>. */
#include "kernels/kernels_wgrad.h"

#define INLINE static inline __attribute__((always_inline))

/* Words 0..15 of two vectors in turn. */
static void pairs_of_16(const struct ck_wgrad_pixels *p, uint16_t *low)
{
    const __m512i order =
        _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7,
                         38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    for (int64_t i = 0; i < p->n; i += 2, low += 32) {
        __m256i u = _mm256_loadu_si256((const void *)ck_wgrad_pixel(p, i));
        __m256i v = _mm256_loadu_si256((const void *)ck_wgrad_pixel(p, i + 1));
        _mm512_store_si512(low, _mm512_permutex2var_epi16(_mm512_castsi256_si512(u), order,
                                                          _mm512_castsi256_si512(v)));
    }
}

static void pairs(const struct ck_wgrad_pixels *p, uint16_t *low, uint16_t *high)
{
    if (!high) {
        pairs_of_16(p, low);
        return;
    }
    for (int64_t i = 0; i < p->n; i += 2, low += 32, high += 32) {
        __m512i u = _mm512_loadu_si512(ck_wgrad_pixel(p, i));
        __m512i v = _mm512_loadu_si512(ck_wgrad_pixel(p, i + 1));
        _mm512_store_si512(low, _mm512_unpacklo_epi16(u, v));
        _mm512_store_si512(high, _mm512_unpackhi_epi16(u, v));
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

/* Pixels to prefetch: their pieces are read in an order that the hardware does not foresee. */
enum { AHEAD = 64 };

static void lines(const struct ck_wgrad_pixels *p, int tiles, uint16_t *out)
{
    for (int64_t i = 0; i < p->n; i += 32, out += 2 * CK_WGRAD_TILE) {
        const unsigned char *px[32];
        for (int j = 0; j < 32; j++) {
            px[j] = ck_wgrad_pixel(p, i + j);
            if (i + j + AHEAD < p->n)
                _mm_prefetch((const char *)ck_wgrad_pixel(p, i + j + AHEAD), _MM_HINT_T0);
        }
        for (int c = 0; c < 2 * tiles; c++)
            lines_of_8(px, 16 * c, out + 256 * c);
    }
}
