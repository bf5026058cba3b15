/* matrix.h - products of matrices of double, for losses that compare many vectors.
 *
 * Every element is a sum over k in order, one fma after the other: the same bits for any version,
 * tile and number of threads. kernels_matrix_ref.c defines them. */
#ifndef CK_MATRIX_H
#define CK_MATRIX_H

#include <stdint.h>

/* A borrowed operand: element (i, j) is data[i * row + j * col]. */
struct ck_operand {
    const double *data;
    int64_t row, col;
};

/* C [m][n] (row-major, ldc >= n) = A [m][k] B [k][n] + keep * C, keep 0 or 1; with 0 the old
 * contents are ignored. C overlaps neither. Runs on the OpenMP team, allocates nothing. */
void ck_matrix_product(int64_t m, int64_t n, int64_t k, struct ck_operand a,
                       struct ck_operand b, int keep, double *c, int64_t ldc);

/* ---- versions ---- */

enum { CK_TILE_ROWS = 8, CK_TILE_COLS = 16 };

/* c [8][16] += a [depth][8] times b [depth][16]. */
typedef void (*ck_matrix_tile)(const double *a, const double *b, int64_t depth, double *c);

void ck_matrix_tile_ref(const double *a, const double *b, int64_t depth, double *c);
void ck_matrix_tile_avx2(const double *a, const double *b, int64_t depth, double *c);
void ck_matrix_tile_avx512(const double *a, const double *b, int64_t depth, double *c);
/* That matches the kernels of the name; NULL if they do not run on this CPU. */
ck_matrix_tile ck_matrix_tile_named(const char *name);

#endif
