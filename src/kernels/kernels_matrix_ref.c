/* kernels_matrix_ref.c - defines a tile of a product of matrices of double. */
#include "kernels/matrix.h"

#include <math.h>

void ck_matrix_tile_ref(const double *a, const double *b, int64_t depth, double *c)
{
    for (int64_t t = 0; t < depth; t++, a += CK_TILE_ROWS, b += CK_TILE_COLS)
        for (int i = 0; i < CK_TILE_ROWS; i++)
            for (int j = 0; j < CK_TILE_COLS; j++)
                c[i * CK_TILE_COLS + j] = fma(a[i], b[j], c[i * CK_TILE_COLS + j]);
}
