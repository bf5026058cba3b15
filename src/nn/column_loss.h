/* column_loss.h - losses of two views that compare the columns of a batch, with their gradients:
 * what an image is in one dimension says nothing about the others.
 *
 * Arrays are [2][n][dim] of double and not of length 1, n > 1. The same bytes for any number of
 * threads. */
#ifndef CK_COLUMN_LOSS_H
#define CK_COLUMN_LOSS_H

#include <stdint.h>

/* Doubles of scratch that either loss needs. */
int64_t ck_column_scratch(int64_t n, int dim);

/* Barlow Twins: columns are standardized over the batch (biased variance plus 1e-5), C is the mean
 * product of a column of view 1 and one of view 2. The loss is scale times (the sum of (1 - C_ii)^2
 * plus weight times the sum of the squares of all other C_ij). grad is with respect to x. */
double ck_barlow_loss(const double *x, int64_t n, int dim, double weight, double scale,
                      double *scratch, double *grad);

struct ck_vicreg_weights {
    double invariance; /* of the mean square difference of the views */
    double variance;   /* of the mean over views and columns of max(0, 1 - deviation) */
    double covariance; /* of the sum over views of the squares off the diagonal, over dim */
};

/* VICReg: variances and covariances are unbiased, the deviation is sqrt(variance + 1e-4). */
double ck_vicreg_loss(const double *x, int64_t n, int dim, const struct ck_vicreg_weights *w,
                      double *scratch, double *grad);

#endif
