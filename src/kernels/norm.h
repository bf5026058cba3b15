/* norm.h - batch norm (+ residual) (+ ReLU), forward and backward, with access to the sums.
 *
 * A training step of one layer; the caller reduces over the ranks in between:
 *
 *   forward   ck_bn_sums -> add sum, sumsq, count over the ranks -> ck_bn_finish
 *             -> ck_bn_affine, ck_bn_running -> ck_bn_apply
 *   backward  ck_bn_grad_sums -> add over the ranks -> ck_bn_grad_coef -> ck_bn_grad_apply
 *
 * The gradients of gamma and beta are this rank's own sum_dy_xhat and sum_dy. The caller owns
 * all arrays. Types, shapes, NaN, threads and equal bytes: layers.h. */
#ifndef CK_NORM_H
#define CK_NORM_H

#include "kernels/layers.h"

/* Sums over n and s per channel, [cb*blk] each. Chunks of at most a few hundred rows are summed
 * in f32 about a point near their mean and added in double, so that sumsq/count - mean^2 has a
 * relative error of 1e-6 at most while |mean| <= 1e4 standard deviations. |x - mean| must be
 * < 1e18. */
void ck_bn_sums(const struct ck_act_shape *a, enum ck_dtype t, const void *x, double *sum,
                double *sumsq);

/* The residual, added to the normalised x before the ReLU. */
struct ck_bn_residual {
    const void *x; /* shaped like the input; NULL = no residual */
    const float *scale,
        *shift; /* [cb*blk] of the residual's own batch norm; NULL = added unchanged */
};

/* y = relu?(x * scale + shift + (res.x * res.scale + res.shift)); res NULL = none. y may alias
 * x or res->x. Where the arrays are 0 (padding) and scale = shift = 0, y is 0. */
void ck_bn_apply(const struct ck_act_shape *a, enum ck_dtype t, const void *x,
                 const float *scale, const float *shift, const struct ck_bn_residual *res,
                 int relu, void *y);

/* The gradient at the affine's output: g = dy + dy2 where the ReLU was active, 0 elsewhere. */
struct ck_bn_grad {
    const void *dy;
    const void *dy2; /* a second gradient of the same output; NULL = none */
    /* The ReLU was active where !(y <= 0); with y NULL where !(x * scale + shift <= 0); with
     * scale NULL too, everywhere (no ReLU). */
    const void *y;
    const float *scale, *shift; /* [cb*blk], as given to ck_bn_apply */
    const void *x;              /* the batch norm's input; NULL if not read */
};

/* sum_dy = sums of g, sum_dy_xhat = sums of g * (x - mean) * invstd, [cb*blk] each. `masked`,
 * unless NULL, receives g (bf16: rounded; the sums use the unrounded values); it may alias dy,
 * dy2 or y. */
void ck_bn_grad_sums(const struct ck_act_shape *a, enum ck_dtype t, const struct ck_bn_grad *in,
                     const float *mean, const float *invstd, double *sum_dy,
                     double *sum_dy_xhat, void *masked);

/* dx = kg * g + (kx * x + k0), coefficients [cb*blk] from ck_bn_grad_coef. With kx and k0 NULL
 * dx = kg * g, and x is read only if the mask needs it. dx may alias any array of `in`. */
void ck_bn_grad_apply(const struct ck_act_shape *a, enum ck_dtype t,
                      const struct ck_bn_grad *in, const float *kg, const float *kx,
                      const float *k0, void *dx);

/* The formulas per channel, in double, on the calling thread, for `channels` real channels;
 * outputs are [padded] long and get 0 in [channels, padded). padded = ck_act_channels(). */

/* mean, population variance and 1 / sqrt(var + eps) of `count` values per channel. count = 0
 * gives mean 0, variance 0. */
void ck_bn_finish(int64_t channels, int64_t padded, double count, const double *sum,
                  const double *sumsq, double eps, float *mean, float *var, float *invstd);
/* invstd of a given variance; for evaluation. */
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
 * sums and the count are those over all ranks. (In evaluation the statistics are constants: use
 * kg = the scale of ck_bn_affine, and kx and k0 NULL in ck_bn_grad_apply.) */
void ck_bn_grad_coef(int64_t channels, int64_t padded, double count, const float *gamma,
                     const float *mean, const float *invstd, const double *sum_dy,
                     const double *sum_dy_xhat, float *kg, float *kx, float *k0);

#endif
