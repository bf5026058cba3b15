/* kernels_winograd_ref.c - Winograd's convolutions, one lane at a time; the oracle of the fast
 * versions. Instantiates the shared transforms with vectors of one float. */
#include <math.h>

#define INLINE static inline
#define vmask int
#define vec float
enum { LANES = 1 };

INLINE vec load(const float *p)
{
    return *p;
}

INLINE vmask mask(int yes)
{
    return yes;
}

INLINE vec load_if(vmask m, const float *p)
{
    return m ? *p : 0;
}

INLINE void store(float *p, vec v)
{
    *p = v;
}

INLINE void stream(float *p, vec v)
{
    *p = v;
}

INLINE vec keep(vec v)
{
    return v;
}

INLINE vec zero(void)
{
    return 0;
}

INLINE vec all(float x)
{
    return x;
}

INLINE vec add(vec a, vec b)
{
    return a + b;
}

INLINE vec sub(vec a, vec b)
{
    return a - b;
}

INLINE vec mul(vec a, vec b)
{
    return a * b;
}

INLINE vec madd(vec a, vec b, vec c)
{
    return fmaf(a, b, c);
}

#include "kernels/kernels_winograd_simd.h"

/* The order of k and the fma fix the bits of each sum; `ahead` is only a hint and is
 * ignored. */
static void product(const struct ck_wino_product *p)
{
    for (int64_t i = 0; i < p->rows; i++)
        for (int j = 0; j < p->width; j++) {
            float sum = p->accumulate ? p->c[i * p->width + j] : 0;
            for (int64_t k = 0; k < p->k; k++) {
                const float *block = p->a + k / CK_WINO_BLOCK * p->a_stride;
                sum = fmaf(block[i * CK_WINO_BLOCK + k % CK_WINO_BLOCK], p->b[k * p->width + j],
                           sum);
            }
            p->c[i * p->width + j] = sum;
        }
}

static void outer(const struct ck_wino_outer *o)
{
    for (int i = 0; i < CK_WINO_BLOCK; i++)
        for (int j = 0; j < o->width; j++) {
            float *c = o->c + i * o->c_row + j, sum = o->accumulate ? *c : 0;
            for (int64_t t = 0; t < o->k; t++)
                sum = fmaf(o->a[t * CK_WINO_BLOCK + i], o->b[t * o->width + j], sum);
            *c = sum;
        }
}

void ck_wino_gather_ref(const float *from, int64_t ld, int rows, int cols, float *to)
{
    for (int j = 0; j < cols; j++)
        for (int i = 0; i < CK_WINO_BLOCK; i++)
            to[j * CK_WINO_BLOCK + i] = i < rows ? from[i * ld + j] : 0;
}

void ck_wino_scatter_ref(const float *from, int rows, int cols, int accumulate, float *to,
                         int64_t ld)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            float v = from[j * CK_WINO_BLOCK + i];
            to[i * ld + j] = accumulate ? to[i * ld + j] + v : v;
        }
}

const struct ck_wino_kernels ck_wino_kernels_ref = {
    .name = "ref",
    .width = 16,
    .rows = {6},
    TRANSFORMS,
    .product = product,
    .outer = outer,
    .gather = ck_wino_gather_ref,
    .scatter = ck_wino_scatter_ref,
};
