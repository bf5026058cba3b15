/* coding_loss.h - the loss of EMP-SSL: views agree with their mean, and the images of a view need
 * many bits. */
#ifndef CK_CODING_LOSS_H
#define CK_CODING_LOSS_H

#include <stdint.h>

/* Doubles of scratch that the loss needs. */
int64_t ck_coding_scratch(int views, int64_t n);

/* x [views][n][dim] of unit vectors, in double. The loss is weight times inv - rate: inv is minus
 * the mean cosine between a view and the mean of the image's views, rate the mean over views of
 * 1/2 log det(I + dim / (n eps) X^T X), X [n][dim] being a view. grad is with respect to x, up to
 * what lies along x, which the network's step to length 1 takes away. The same bytes for any
 * number of threads. */
double ck_coding_loss(const double *x, int views, int64_t n, int dim, double weight, double eps,
                      double *scratch, double *grad);

#endif
