/* gemm.h - products of f32 matrices. */
#ifndef CK_GEMM_H
#define CK_GEMM_H

#include <stdint.h>

struct ck_matrix {
    const float *data;
    int64_t ld;     /* floats from one stored row to the next */
    int transposed; /* the product takes the transpose of what is stored */
};

/* C [m][n] = alpha * A [m][k] B [k][n] + beta * C, row by row in memory, ldc >= n. With beta 0
 * what C held does not matter, not even NaN.
 *
 * oneDNN runs on its OpenMP team, and how it splits a product depends on the team's size: the
 * same bytes run to run, but rounding may differ between thread counts. When several workers of
 * ck_parallel call at once, each product runs on its worker alone. */
int ck_gemm(int64_t m, int64_t n, int64_t k, float alpha, struct ck_matrix a,
            struct ck_matrix b, float beta, float *c, int64_t ldc);

#endif
