/* gemm.h - general products of f32 matrices. */
#ifndef CK_GEMM_H
#define CK_GEMM_H

#include <stdint.h>

/* A borrowed operand of a product, stored row by row. */
struct ck_matrix {
    const float *data;
    int64_t ld;     /* floats from one stored row to the next */
    int transposed; /* the product uses the transpose of what is stored */
};

/* C [m][n] = alpha * A [m][k] B [k][n] + beta * C, row-major, ldc >= n. With beta 0 the old
 * contents of C are ignored, even NaN. C may overlap neither A nor B. Fails only if oneDNN
 * does: invalid sizes or no memory.
 *
 * oneDNN runs on its OpenMP team, and how it splits a product depends on the team's size: the
 * same bytes from run to run, but rounding may differ between thread counts. When several
 * workers of ck_parallel call at once, each product runs on its worker alone. */
int ck_gemm(int64_t m, int64_t n, int64_t k, float alpha, struct ck_matrix a,
            struct ck_matrix b, float beta, float *c, int64_t ldc);

/* Limits the instruction sets of oneDNN to what works here. Call it before its first function;
 * any thread, any number of times. */
void ck_gemm_prepare(void);

#endif
