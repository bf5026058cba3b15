/* center_loss.h - the loss by which SeCu learns its centers: cross-entropy of unit vectors to the
 * unit centers, in which only the center of the label has a gradient.
 *
 * With q = softmax(x . centers / T) at the label of x, the gradient of that unit center is
 * -(1 - q) x / T: a center is pulled by its own members, and nothing pushes it away. Computed in
 * double. */
#ifndef CK_CENTER_LOSS_H
#define CK_CENTER_LOSS_H

#include <stdint.h>

struct ck_center_loss;

/* Memory for at most max_rows vectors and max_k centers. */
int ck_center_loss_new(struct ck_center_loss **out, int64_t max_rows, int64_t max_k, int dim);
void ck_center_loss_free(struct ck_center_loss *l);

/* Vectors of `views` views of n images, and the centers of one head; borrowed for the call. */
struct ck_center_input {
    int views;
    int64_t n, k;
    const float *x;       /* [views][n][dim], length 1 */
    const float *centers; /* [k][dim], of any length */
    const int32_t *label; /* [n] */
    double temperature;
};

/* Adds the sum of the losses of all vectors to *loss, and to grad [k][dim] its gradient with respect
 * to the unit centers. The same bytes for any number of threads. */
void ck_center_loss_add(struct ck_center_loss *l, const struct ck_center_input *in,
                        double *loss, double *grad);
/* grad [k][dim] of the unit centers, times scale, becomes that of the centers. */
void ck_center_gradient(const float *centers, const double *grad, int64_t k, int dim,
                        double scale, float *out);
/* unit [k][dim] = centers of length 1. */
void ck_center_unit(const float *centers, int64_t k, int dim, float *unit);

#endif
