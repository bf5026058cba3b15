/* kernels_amx.c - AVX-512 with the matrix unit: screening on tiles. The rest is VNNI's. */
#include <immintrin.h>

#include "kernels/kernels_vec_avx512.h"

INLINE vec load_sums(const int *p)
{
    return _mm512_cvtepi32_ps(_mm512_load_si512(p));
}

#include "kernels/kernels_screen_tiles.h"

const struct ck_kernels ck_kernels_amx = {.name = "amx",
                                          CK_DENSE_AVX512,
                                          .unit_rows = CK_TILE_ROWS,
                                          .range8 = ck_range8_vnni,
                                          .round8 = ck_round8_vnni,
                                          .screen = screen,
                                          .peak = ck_peak_vnni,
                                          .reach = ck_reach_vnni};
