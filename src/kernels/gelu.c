/* gelu.c - the activation x * Phi(x) and its gradient, in pieces on the OpenMP team. */
#include "kernels/gelu.h"
#include "core/workers.h"

#include <math.h>
#include <stddef.h>

enum { CHUNK = 4096 };

static const double sqrt_half = 0.70710678118654752440;    /* sqrt(1/2) */
static const double inv_sqrt_2pi = 0.39894228040143267794; /* 1/sqrt(2 pi) */

struct work {
    int64_t n;
    const float *dy, *x; /* dy NULL = forward */
    float *out;
};

static void chunk(void *arg, int64_t index, int worker)
{
    const struct work *w = arg;
    int64_t from = index * CHUNK, to = from + CHUNK < w->n ? from + CHUNK : w->n;
    (void)worker;
    for (int64_t i = from; i < to; i++) {
        double x = (double)w->x[i], phi = 0.5 * (1 + erf(x * sqrt_half));
        w->out[i] =
            w->dy ? (float)((double)w->dy[i] * (phi + x * inv_sqrt_2pi * exp(-0.5 * x * x)))
                  : (float)(x * phi);
    }
}

void ck_gelu(int64_t n, const float *x, float *y)
{
    ck_parallel((n + CHUNK - 1) / CHUNK, chunk, &(struct work){n, NULL, x, y});
}

void ck_gelu_grad(int64_t n, const float *dy, const float *x, float *dx)
{
    ck_parallel((n + CHUNK - 1) / CHUNK, chunk, &(struct work){n, dy, x, dx});
}
