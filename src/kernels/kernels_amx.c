/* kernels_amx.c - AVX-512 with the matrix unit: screening on tiles. The rest is VNNI's. */
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define vec __m512

INLINE vec load(const float *p)
{
    return _mm512_loadu_ps(p);
}

INLINE void store(float *p, vec v)
{
    _mm512_storeu_ps(p, v);
}

INLINE vec load_sums(const int *p)
{
    return _mm512_cvtepi32_ps(_mm512_load_si512(p));
}

INLINE vec all(float x)
{
    return _mm512_set1_ps(x);
}

INLINE vec mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

INLINE vec madd(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

INLINE vec most(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

#include "kernels/kernels_screen_tiles.h"

const struct ck_kernels ck_kernels_amx = {.name = "amx",
                                          .panel = 48,
                                          .dot = ck_dot_avx512,
                                          .dot4 = ck_dot4_avx512,
                                          .dense_tile = ck_dense_tile_avx512,
                                          .accumulate = ck_accumulate_avx512,
                                          .restore = ck_restore_avx512,
                                          .unit_rows = CK_TILE_ROWS,
                                          .range8 = ck_range8_vnni,
                                          .round8 = ck_round8_vnni,
                                          .screen = screen,
                                          .peak = ck_peak_vnni,
                                          .reach = ck_reach_vnni};
