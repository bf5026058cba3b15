/* kernels_softmax_simd.h - the vector versions of the softmax kernels, written once.
 *
 * Included by one file per instruction set after kernels_vec_*.h. It first defines TILE and
 * EACH(DO), which is DO(0) .. DO(TILE - 1): the rows of a tile of sums that fills the registers;
 * round_even(v); and power_or_zero(y, n, x): y 2^n, or 0 where x < CK_EXP_MIN. */
#include "kernels/softmax.h"

enum { ROWS = CK_SOFT_ROWS, PART = 3 * LANES };

/* out[i] = sum over t of a[i * across + t * along] * b[t][PART of 48], for TILE i. The
 * accumulators are named individually to keep them in registers. */
#define START(i) vec s##i##0 = zero(), s##i##1 = s##i##0, s##i##2 = s##i##0;
#define STEP(i)                                                                                \
    {                                                                                          \
        vec v = all(a[(i)*across]);                                                            \
        s##i##0 = madd(v, b0, s##i##0);                                                        \
        s##i##1 = madd(v, b1, s##i##1);                                                        \
        s##i##2 = madd(v, b2, s##i##2);                                                        \
    }
#define STORE(i)                                                                               \
    store(out + (i)*ROWS, s##i##0);                                                            \
    store(out + (i)*ROWS + LANES, s##i##1);                                                    \
    store(out + (i)*ROWS + 2 * LANES, s##i##2);

INLINE void sums_part(const float *a, int64_t across, int64_t along, int64_t depth,
                      const float *b, float *out)
{
    EACH(START)
    for (int64_t t = 0; t < depth; t++, a += along, b += ROWS) {
        vec b0 = load(b), b1 = load(b + LANES), b2 = load(b + 2 * LANES);
        EACH(STEP)
    }
    EACH(STORE)
}

/* Not inlined: otherwise the callers' variables take registers from the loop. */
static __attribute__((noinline)) void sums_of_rows(const float *a, int64_t ld, int64_t depth,
                                                   const float *b, float *out)
{
    for (int at = 0; at < ROWS; at += PART)
        sums_part(a, ld, 1, depth, b + at, out + at);
}

static __attribute__((noinline)) void sums_of_columns(const float *a, int64_t ld, int64_t depth,
                                                      const float *b, float *out)
{
    for (int at = 0; at < ROWS; at += PART)
        sums_part(a, 1, ld, depth, b + at, out + at);
}

/* One i, for what is left of a multiple of TILE; the same order of additions. */
static void sums_of_one(const float *a, int64_t along, int64_t depth, const float *b,
                        float *out)
{
    enum { VECS = ROWS / LANES };
    vec acc[VECS];
    for (int v = 0; v < VECS; v++)
        acc[v] = zero();
    for (int64_t t = 0; t < depth; t++, a += along, b += ROWS)
        for (int v = 0; v < VECS; v++)
            acc[v] = madd(all(*a), load(b + LANES * v), acc[v]);
    for (int v = 0; v < VECS; v++)
        store(out + LANES * v, acc[v]);
}

static void scores(const float *c, int64_t count, int dim, const float *xt, float *s,
                   float *top)
{
    int64_t k = 0;
    for (; k + TILE <= count; k += TILE)
        sums_of_rows(c + k * dim, dim, dim, xt, s + k * ROWS);
    for (; k < count; k++)
        sums_of_one(c + k * dim, 1, dim, xt, s + k * ROWS);
    for (int v = 0; v < ROWS; v += LANES) {
        vec highest = load(top + v);
        for (k = 0; k < count; k++)
            highest = most(load(s + k * ROWS + v), highest);
        store(top + v, highest);
    }
}

/* The operations of kernels_softmax_ref.c in the same order, which gives the same bits. */
INLINE vec exp_to_zero(vec x)
{
    vec n = round_even(mul(x, all(CK_EXP_LOG2E)));
    vec r = madd(n, all(-CK_EXP_LN2_HIGH), x);
    r = madd(n, all(-CK_EXP_LN2_LOW), r);
    vec q = madd(all(CK_EXP_Q4), r, all(CK_EXP_Q3));
    q = madd(q, r, all(CK_EXP_Q2));
    q = madd(q, r, all(CK_EXP_Q1));
    q = madd(q, r, all(CK_EXP_Q0));
    return power_or_zero(add(madd(mul(r, r), q, r), all(1)), n, x);
}

static void exps(float *s, int64_t count, const float *top, float scale, float *sum)
{
    vec factor = all(scale);
    for (int v = 0; v < ROWS; v += LANES) {
        vec highest = load(top + v), total = load(sum + v);
        for (int64_t k = 0; k < count; k++) {
            float *at = s + k * ROWS + v;
            vec y = exp_to_zero(mul(sub(load(at), highest), factor));
            store(at, y);
            total = add(total, y);
        }
        store(sum + v, total);
    }
}

/* e [48] = e * keep + sum, one fma. */
static void add_to(float *e, const float *keep, const float *sum)
{
    for (int v = 0; v < ROWS; v += LANES)
        store(e + v, madd(load(e + v), load(keep + v), load(sum + v)));
}

static void mix(const float *c, int64_t count, int dim, const float *p, const float *keep,
                float *e)
{
    float sum[TILE * ROWS];
    for (int64_t j = 0; j < dim;) {
        int n = dim - j >= TILE ? TILE : 1;
        if (n == TILE)
            sums_of_columns(c + j, dim, count, p, sum);
        else
            sums_of_one(c + j, dim, count, p, sum);
        for (int i = 0; i < n; i++, j++)
            add_to(e + j * ROWS, keep, sum + i * ROWS);
    }
}
