/* prototype_loss.h - losses that predict how other views of an image are spread over prototypes,
 * with their gradients: SwAV, DINO, MSN.
 *
 * Scores and targets are [views][n][k] of double, one row per image and view. The same bytes for any
 * number of threads. */
#ifndef CK_PROTOTYPE_LOSS_H
#define CK_PROTOTYPE_LOSS_H

#include "nn/plan.h"

/* score [rows][k] = x [rows][dim] times prototypes [k][dim]. */
void ck_prototype_scores(const double *x, int64_t rows, const double *prototype, int64_t k,
                         int dim, double *score);
/* From the gradient of the scores to that of x [rows][dim], and, added, of the prototypes
 * [k][dim]. */
void ck_prototype_gradients(const double *grad_score, int64_t rows, const double *prototype,
                            int64_t k, int dim, double *grad_x);
void ck_prototype_collect(const double *grad_score, int64_t rows, const double *x, int64_t k,
                          int dim, double *grad_prototype);

/* ---- targets ---- */

/* p [rows][k] = softmax of (score - center) / temperature, to the power 1 / sharpen and normalized
 * again; center [k] may be NULL. DINO has a center, MSN sharpens (else 1). p may be score. */
struct ck_soft {
    const double *center;
    double temperature, sharpen;
};
void ck_soft_targets(const double *score, int64_t rows, int64_t k, const struct ck_soft *s,
                     double *p);

/* SwAV: q [rows][k] = exp(score / eps) up to a constant factor, for scores of at most 1. */
void ck_code_begin(const double *score, int64_t rows, int64_t k, double eps, double *q);
/* Sinkhorn: `rounds` times each column of q is divided by its sum, then each row by its own. The
 * rows of all ranks belong to one matrix: reduce adds their sums (NULL = this process alone).
 * sums [k] is scratch. Collective. */
int ck_sinkhorn(double *q, int64_t rows, int64_t k, int rounds, const struct ck_reduce *reduce,
                double *sums);

/* DINO: the teacher's temperature in trained epoch 0, 1, ...: linear from start to end over
 * `epochs`, then end. */
double ck_teacher_temperature(double start, double end, int64_t epochs, int64_t epoch);

/* ---- losses ---- */

struct ck_code_input {
    const double *score;  /* [views][n][k] */
    const double *target; /* [targets][n][k], constants */
    int views, targets;
    int not_own; /* view v does not predict target v, which was made from it */
    int64_t n, k;
    double temperature;
};

/* The mean over pairs of a view and a target, and over images, of the cross-entropy between target
 * and softmax(score / temperature). grad [views][n][k] is with respect to the scores; loss [views *
 * n] is scratch. */
double ck_code_loss(const struct ck_code_input *in, double *loss, double *grad);

/* MSN: p [rows][k] is softmax(score / temperature), mean [k] its mean over the `total` rows of all
 * ranks. Adds to grad [rows][k] that of weight * (log k + sum of mean log mean), which it
 * returns. */
double ck_mean_entropy(const double *p, int64_t rows, int64_t k, const double *mean,
                       int64_t total, double temperature, double weight, double *grad);

#endif
