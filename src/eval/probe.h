/* probe.h - a linear classifier on features: logits = x W^T + b, trained by SGD with
 * momentum. */
#ifndef CK_PROBE_H
#define CK_PROBE_H

#include "eval/score.h"

struct ck_probe;

struct ck_probe_shape {
    int dim;
    int32_t classes;
    int64_t max; /* samples per step, at most */
};

/* Weights are normal with deviation .01, a function of the seed; the bias is 0. Momentum .9;
 * weight decay applies to both, as in PyTorch. */
int ck_probe_new(struct ck_probe **out, const struct ck_probe_shape *shape, double weight_decay,
                 uint64_t seed);
void ck_probe_free(struct ck_probe *p);
/* Borrowed; valid as long as the probe. */
const float *ck_probe_weight(const struct ck_probe *p); /* [classes][dim] */
const float *ck_probe_bias(const struct ck_probe *p);   /* [classes] */

/* One step on x [n][dim], label [n] (negative = unknown). Adds the loss before the step to
 * score. */
int ck_probe_step(struct ck_probe *p, const float *x, const int32_t *label, int64_t n,
                  double rate, struct ck_score *score);
/* Evaluates x [n][dim], any n, and adds the result to score. */
int ck_probe_judge(struct ck_probe *p, const float *x, const int32_t *label, int64_t n,
                   struct ck_score *score);

/* logits [n][classes] = x [n][dim] weight^T + bias. */
int ck_linear_logits(const float *weight, const float *bias, const struct ck_probe_shape *shape,
                     const float *x, int64_t n, float *logits);

#endif
