/* softmax.h - softmax over many centers without storing it: arithmetic on blocks of 48 rows.
 *
 * A block keeps CK_SOFT_ROWS rows side by side: element [j][r] belongs to row r, so that a
 * vector register holds the same element of 16 (8) rows, centers are read sequentially, and
 * nothing is ever added across a register. kernels_softmax_ref.c defines every result; all
 * versions return its bits.
 *
 * nn/loss.c calls these from its workers, each with blocks of its own; the functions are pure
 * and single-threaded. */
#ifndef CK_SOFTMAX_H
#define CK_SOFTMAX_H

#include <stdint.h>

enum { CK_SOFT_ROWS = 48 };

/* exp for x <= 0, in f32, within 1 ulp: x = n ln 2 + r with integer n, e^r = 1 + r + r^2 q(r),
 * q the minimax polynomial of degree 4. Below CK_EXP_MIN the result would be subnormal; it is 0
 * instead. */
#define CK_EXP_MIN (-87.33f)
#define CK_EXP_LOG2E 0x1.715476p+0f
#define CK_EXP_LN2_HIGH 0x1.62e4p-1f /* n * high is exact */
#define CK_EXP_LN2_LOW 0x1.7f7d1cp-20f
#define CK_EXP_Q0 0x1.fffffcp-2f
#define CK_EXP_Q1 0x1.555492p-3f
#define CK_EXP_Q2 0x1.5558f2p-5f
#define CK_EXP_Q3 0x1.123a2p-7f
#define CK_EXP_Q4 0x1.6a23dp-10f

struct ck_softmax {
    const char *name;

    /* s [count][48] = centers c [count][dim] times the block xt [dim][48]; each sum runs over
     * the dimensions in order, one fma after the other. top [48] = max(top, s). */
    void (*scores)(const float *c, int64_t count, int dim, const float *xt, float *s,
                   float *top);

    /* s [count][48] = exp((s - top) * scale), sum [48] += s, in order. Requires s <= top; -inf
     * gives 0. */
    void (*exps)(float *s, int64_t count, const float *top, float scale, float *sum);

    /* e [dim][48] = e * keep [48] + (the sum of p [count][48] times c [count][dim]); the sum
     * runs in order from 0, the rest is one fma. */
    void (*mix)(const float *c, int64_t count, int dim, const float *p, const float *keep,
                float *e);
};

/* The version that matches ck_kernels(). */
const struct ck_softmax *ck_softmax(void);
/* The version that matches the kernels of that name; NULL if they do not run on this CPU. */
const struct ck_softmax *ck_softmax_named(const char *name);

/* Transposes rows x [rows][dim], rows <= 48, into a block xt [dim][48]; missing rows are 0. */
void ck_soft_block(const float *x, int64_t rows, int dim, float *xt);

extern const struct ck_softmax ck_softmax_ref;
extern const struct ck_softmax ck_softmax_avx2;
extern const struct ck_softmax ck_softmax_avx512;

#endif
