/* gemm_tiles.h - products of matrices on tiles: operands f32, rounded to bf16; sums f32.
 *
 * The same bytes for any number of threads, and on the matrix unit and its emulation. */
#ifndef CK_GEMM_TILES_H
#define CK_GEMM_TILES_H

#include "kernels/gemm.h"

#include <stddef.h>

/* C [m][n] = A [m][k] B [k][n], or C += it if `accumulate`; row-major, ldc >= n, m, n, k >= 1.
 * A and B are not both transposed; operands have less than 2^29 elements. */
struct ck_tile_product {
    int64_t m, n, k;
    struct ck_matrix a, b;
    int accumulate;
    float *c;
    int64_t ldc;
};

/* Whether this CPU has products of tiles. */
int ck_gemm_tiles_exist(void);
/* Bytes of scratch, aligned to 64, that a product of this size needs in any form. */
size_t ck_gemm_tiles_scratch(int64_t m, int64_t n, int64_t k);
/* Runs on the team; nothing may overlap. */
void ck_gemm_tiles(const struct ck_tile_product *p, void *scratch);

#endif
