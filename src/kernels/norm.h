/* norm.h - batch norm (+ residual) (+ ReLU), forward and backward, with the sums in the open.
 *
 * A training step of one layer, for whoever reduces over ranks in between:
 *   forward   ck_bn_sums -> add sum, sumsq, count over the ranks -> ck_bn_finish
 *             -> ck_bn_affine, ck_bn_running -> ck_bn_apply
 *   backward  ck_bn_grad_sums -> add over the ranks -> ck_bn_grad_coef -> ck_bn_grad_apply
 * The gradients of gamma and beta are this rank's own sum_dy_xhat and sum_dy.
 * Types, shapes, NaN and the promise of equal bytes: layers.h. */
#ifndef CK_NORM_H
#define CK_NORM_H

#include "kernels/layers.h"

/* Sums over n and s per channel, [cb*blk] each. Chunks of at most a few hundred rows are summed
 * in f32 about a point near their mean and added in double, so that sumsq/count - mean^2 has a
 * relative error of 1e-6 at most while |mean| <= 1e4 standard deviations. |x - mean| must be
 * < 1e18. */
void ck_bn_sums(const struct ck_act_shape *a, enum ck_dtype t, const void *x, double *sum,
                double *sumsq);

/* What is added to a normalised x before the ReLU. */
struct ck_bn_residual {
    const void *x;              /* like the input; NULL = nothing is added */
    const float *scale, *shift; /* [cb*blk] of a batch norm of its own; NULL = added as it is */
};

/* y = relu?(x * scale + shift + (res.x * res.scale + res.shift)); res NULL = none. y may alias
 * x or res->x. Where the arrays are 0 (padding) and scale = shift = 0, y is 0. */
void ck_bn_apply(const struct ck_act_shape *a, enum ck_dtype t, const void *x,
                 const float *scale, const float *shift, const struct ck_bn_residual *res,
                 int relu, void *y);

/* The gradient that reaches the affine: g = (dy + dy2) where the ReLU let pass, 0 elsewhere. */
struct ck_bn_grad {
    const void *dy;
    const void *dy2; /* a second gradient of the same output; NULL = none */
    /* The ReLU let pass where !(y <= 0), or with y NULL where !(x * scale + shift <= 0), or
     * with scale NULL too everywhere (no ReLU). */
    const void *y;
    const float *scale, *shift; /* [cb*blk], as given to ck_bn_apply */
    const void *x;              /* the batch norm's input; NULL where it is not read */
};

/* sum_dy = sums of g, sum_dy_xhat = sums of g * (x - mean) * invstd, [cb*blk] each. masked
 * NULL, or gets g (bf16: rounded; the sums are of what was not yet rounded); it may alias dy,
 * dy2 or y. */
void ck_bn_grad_sums(const struct ck_act_shape *a, enum ck_dtype t, const struct ck_bn_grad *in,
                     const float *mean, const float *invstd, double *sum_dy,
                     double *sum_dy_xhat, void *masked);

/* dx = kg * g + (kx * x + k0), coefficients [cb*blk] from ck_bn_grad_coef. With kx and k0 NULL
 * dx = kg * g, and x is read only if the mask needs it. dx may alias any array of `in`. */
void ck_bn_grad_apply(const struct ck_act_shape *a, enum ck_dtype t,
                      const struct ck_bn_grad *in, const float *kg, const float *kx,
                      const float *k0, void *dx);

/* The small formulas, in double, for `channels` real channels; outputs are [padded] long and
 * get 0 in [channels, padded). padded = ck_act_channels(). */

/* mean, population variance and 1 / sqrt(var + eps) of `count` values per channel. count = 0
 * gives mean 0, variance 0. */
void ck_bn_finish(int64_t channels, int64_t padded, double count, const double *sum,
                  const double *sumsq, double eps, float *mean, float *var, float *invstd);
/* invstd of a known variance, as evaluation needs it. */
void ck_bn_invstd(int64_t channels, int64_t padded, const float *var, double eps,
                  float *invstd);
/* scale = gamma * invstd, shift = beta - mean * scale; gamma, beta NULL = 1, 0. */
void ck_bn_affine(int64_t channels, int64_t padded, const float *gamma, const float *beta,
                  const float *mean, const float *invstd, float *scale, float *shift);
/* running = (1 - momentum) * running + momentum * now, with the unbiased variance var * count /
 * (count - 1) (count <= 1: var itself). Arrays [channels]. */
void ck_bn_running(int64_t channels, double count, double momentum, const float *mean,
                   const float *var, float *running_mean, float *running_var);
/* Coefficients of dx = gamma * invstd * (g - sum_dy / count - xhat * sum_dy_xhat / count). The
 * sums and the count are those over all ranks. (Statistics that are constants, as in
 * evaluation: kg = the scale of ck_bn_affine, kx and k0 NULL in ck_bn_grad_apply.) */
void ck_bn_grad_coef(int64_t channels, int64_t padded, double count, const float *gamma,
                     const float *mean, const float *invstd, const double *sum_dy,
                     const double *sum_dy_xhat, float *kg, float *kx, float *k0);

#endif
