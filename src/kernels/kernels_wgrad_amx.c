/* kernels_wgrad_amx.c - the gradient of the weights on the matrix unit. */
#include <immintrin.h>

#include "kernels/amx_tiles.h"
#include "kernels/kernels_wgrad_simd.h"
#include "kernels/kernels_wgrad_body.h"

const struct ck_wgrad_kernels ck_wgrad_kernels_amx = {begin, end, pairs, lines, panel};
