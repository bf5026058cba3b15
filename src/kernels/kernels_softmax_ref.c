/* kernels_softmax_ref.c - defines every softmax kernel in plain C; the oracle of the fast
 * versions. */
#include "kernels/softmax.h"

#include <math.h>
#include <string.h>

enum { ROWS = CK_SOFT_ROWS };

/* exp(x) for x <= 0, step by step as softmax.h describes; NaN gives 0. */
static float exp_to_zero(float x)
{
    if (!(x >= CK_EXP_MIN))
        return 0;
    float n = rintf(x * CK_EXP_LOG2E);
    float r = fmaf(n, -CK_EXP_LN2_HIGH, x);
    r = fmaf(n, -CK_EXP_LN2_LOW, r);
    float q = fmaf(CK_EXP_Q4, r, CK_EXP_Q3);
    q = fmaf(q, r, CK_EXP_Q2);
    q = fmaf(q, r, CK_EXP_Q1);
    q = fmaf(q, r, CK_EXP_Q0);
    float y = fmaf(r * r, q, r) + 1;
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    bits += (uint32_t)(int32_t)n << 23; /* times 2^n; n >= -126 */
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* A NaN score leaves `top` as it is; exps() then turns it into 0. */
static void scores(const float *c, int64_t count, int dim, const float *xt, float *s,
                   float *top)
{
    for (int64_t k = 0; k < count; k++)
        for (int r = 0; r < ROWS; r++) {
            float a = 0;
            for (int64_t j = 0; j < dim; j++)
                a = fmaf(c[k * dim + j], xt[j * ROWS + r], a);
            s[k * ROWS + r] = a;
            top[r] = a > top[r] ? a : top[r];
        }
}

static void exps(float *s, int64_t count, const float *top, float scale, float *sum)
{
    for (int64_t k = 0; k < count; k++)
        for (int r = 0; r < ROWS; r++) {
            float *at = s + k * ROWS + r;
            *at = exp_to_zero((*at - top[r]) * scale);
            sum[r] += *at;
        }
}

static void mix(const float *c, int64_t count, int dim, const float *p, const float *keep,
                float *e)
{
    for (int64_t j = 0; j < dim; j++)
        for (int r = 0; r < ROWS; r++) {
            float a = 0;
            for (int64_t k = 0; k < count; k++)
                a = fmaf(c[k * dim + j], p[k * ROWS + r], a);
            e[j * ROWS + r] = fmaf(e[j * ROWS + r], keep[r], a);
        }
}

const struct ck_softmax ck_softmax_ref = {
    .name = "ref", .scores = scores, .exps = exps, .mix = mix};
