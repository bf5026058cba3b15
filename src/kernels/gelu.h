/* gelu.h - the activation x * Phi(x), Phi the distribution function of the normal distribution.
 *
 * Exact, not the approximation by tanh; computed in double and rounded once. Arrays as in
 * layers.h, f32. */
#ifndef CK_GELU_H
#define CK_GELU_H

#include <stdint.h>

/* y may alias x. */
void ck_gelu(int64_t n, const float *x, float *y);
/* dx = dy * (Phi(x) + x * phi(x)), x the input of ck_gelu; dx may alias dy or x. */
void ck_gelu_grad(int64_t n, const float *dy, const float *x, float *dx);

#endif
