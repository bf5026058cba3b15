/* kernels_conv_amx.c - convolutions on the matrix unit. */
#include <immintrin.h>

#include "kernels/amx_tiles.h"
#include "kernels/kernels_conv_simd.h"
#include "kernels/kernels_conv_tiles_body.h"

const struct ck_tile_kernels ck_tile_kernels_amx = {"amx", begin, end, panel, pack, pixels};
