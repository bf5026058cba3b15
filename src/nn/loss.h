/* loss.h - the discrimination loss: cross-entropy of unit vectors to the centers of every head
 * (docs/networks.md), and its gradient.
 *
 * With p = softmax(x . centers / T) and a target t over the same centers, both rows of K
 * numbers, the loss of x is logsumexp - x . (t centers) / T and its gradient (p centers - t
 * centers) / T. The target's q = softmax of another view enters only as (q centers). So all
 * that is kept of a row's K numbers is the mean center p centers [dim], accumulated in one
 * sweep over chunks of centers under a running maximum; no row is ever stored, and no score is
 * computed twice. */
#ifndef CK_LOSS_H
#define CK_LOSS_H

#include "core/targets.h"
#include "nn/nn_options.h"

struct ck_loss_shape {
    int views;     /* of an image: the large ones first, then the small ones */
    int large;     /* views whose softmax contributes to the targets of the others */
    int64_t max_n; /* maximum images in a batch */
    int dim;
    int heads;
    const int64_t *k; /* [heads] number of centers; copied */
};

struct ck_loss;

/* Allocates everything a step needs, for the current number of threads: ck_loss_bytes(), about
 * threads * (776 * dim + 27000) + heads * max_n / 3. None of it grows with K. */
int ck_loss_new(struct ck_loss **out, const struct ck_loss_shape *shape,
                const struct ck_loss_options *options);
void ck_loss_set_alpha(struct ck_loss *l, double alpha); /* from the next step on */
void ck_loss_free(struct ck_loss *l);
int64_t ck_loss_bytes(const struct ck_loss *l);

/* Borrowed for the call; nothing is written. */
struct ck_loss_input {
    int64_t n;
    const float *proj;                /* [views][n][dim] unit vectors */
    const float *pred;                /* the same; NULL: no predictor, beta is 0 */
    const float *const *centers;      /* [heads], each [K][dim]; constants */
    const struct ck_targets *targets; /* [heads]; constants */
};

/* The arrays belong to the caller. */
struct ck_loss_output {
    float *grad_proj;  /* [views][n][dim], overwritten; NULL: no gradients */
    float *grad_pred;  /* the same, if there is a pred */
    double loss;       /* mean over the heads */
    double *head_loss; /* [heads] */
    /* [heads], or NULL: fraction of the images, over all trained views, to whose pred (proj
     * if beta is 0) no center is nearer than that of the label (of largest weight). */
    double *accuracy;
};

/* The same bytes for any number of threads and any instruction set, except the last digits of
 * the loss, which depend on the C library's log(). Labels out of range and vectors that are not
 * finite fail with a message; the gradients are then undefined. One thread at a time may use l;
 * the work is split over the OpenMP team by blocks of images. */
int ck_loss_step(struct ck_loss *l, const struct ck_loss_input *in, struct ck_loss_output *out);

#endif
