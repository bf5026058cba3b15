/* pair_loss.h - losses of two views that compare all images of a batch, with their gradients.
 *
 * Arrays are [views][n][dim] of double: a batch is small beside the encoder, and sums over it are
 * then exact to far beyond float32. The same bytes for any number of threads. */
#ifndef CK_PAIR_LOSS_H
#define CK_PAIR_LOSS_H

#include <stdint.h>

/* Doubles of scratch that SimCLR's loss needs. */
int64_t ck_simclr_scratch(int64_t n);
/* SimCLR: x [2][n][dim] unit vectors. Each vector finds its other view among all 2n - 1 others:
 * mean of logsumexp over the others of x.x' / T, minus that of the other view. grad [2][n][dim] is
 * with respect to x. Returns the loss. */
double ck_simclr_loss(const double *x, int64_t n, int dim, double temperature, double *scratch,
                      double *grad);

/* SimSiam: pred and target [2][n][dim] unit vectors, target constant. The loss is -1/2 of the
 * sum over both views of the mean cosine between the prediction of a view and the target of the
 * other. grad [2][n][dim] is with respect to pred. */
double ck_cosine_loss(const double *pred, const double *target, int64_t n, int dim,
                      double *grad);
/* BYOL: the mean square distance between prediction and target, summed over both views, which is 4
 * plus four times the loss above. */
double ck_byol_loss(const double *pred, const double *target, int64_t n, int dim, double *grad);

#endif
