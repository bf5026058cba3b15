/* kept_loss.h - cross-entropy of unit vectors to the centers of a head, where images without a
 * label are left out: DeepCluster-v2's loss, in double. */
#ifndef CK_KEPT_LOSS_H
#define CK_KEPT_LOSS_H

#include <stdint.h>

struct ck_kept_input {
    const double *proj; /* [views][n][dim] */
    int views;
    int64_t n;
    int dim;
    double temperature;
};

struct ck_kept_head {
    const float *center;  /* [k][dim] */
    const int32_t *label; /* [n] of all views of an image, -1 = none */
    int64_t k;
    double weight; /* of its gradients */
};

/* Doubles that ck_kept_loss needs for n images and k centers. */
int64_t ck_kept_scratch(int64_t n, int64_t k, int dim);

/* The mean over all views of the images with a label (0 without any); accuracy is of the same
 * images. Adds the gradients times the head's weight to grad [views][n][dim]. */
double ck_kept_loss(const struct ck_kept_input *in, const struct ck_kept_head *head,
                    double *scratch, double *accuracy, double *grad);

#endif
