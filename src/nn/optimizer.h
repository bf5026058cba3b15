/* optimizer.h - LARS, SGD with momentum, Adam and AdamW on a network's parameters
 * (docs/networks.md). */
#ifndef CK_OPTIMIZER_H
#define CK_OPTIMIZER_H

#include "core/state.h"
#include "nn/nn_options.h"
#include "nn/param.h"

enum ck_optimizer_kind {
    /* Tensors of two or more dimensions: dp = grad + decay * p, scaled by trust * |p| / |dp| (1
     * if either norm is 0); others: dp = grad. */
    CK_LARS,
    CK_SGD, /* dp = grad + decay * p for all tensors, as in PyTorch */
    /* These two: momentum = options.momentum * momentum + dp; p -= rate * momentum. */
    CK_ADAM,  /* PyTorch's Adam: decay is part of the gradient of all tensors */
    CK_ADAMW, /* PyTorch's AdamW: tensors of two or more dimensions shrink by rate * decay */
};

struct ck_optimizer;

/* Borrows param [n], which must not move while the optimizer lives; skips those without grad.
 * Momentum starts at 0. */
int ck_optimizer_new(struct ck_optimizer **out, struct ck_param *param, int n,
                     const struct ck_optimizer_options *options);
void ck_optimizer_free(struct ck_optimizer *o);

/* Multiplies the learning rate of the named parameter by `multiple` (1 at first). */
int ck_optimizer_set_rate(struct ck_optimizer *o, const char *name, double multiple);
/* Parameters whose names begin with `prefix` have this rate in every step but those of rate 0. */
int ck_optimizer_hold_rate(struct ck_optimizer *o, const char *prefix, double rate);
/* Replaces the weight decay, from the next step on. */
void ck_optimizer_set_decay(struct ck_optimizer *o, double decay);

/* One step with the gradients times grad_scale (1/m for the mean of m plans that were summed).
 * A gradient that is not finite fails with a message that names it and `step`, and nothing
 * changes. Runs on the OpenMP team; the same bytes for any number of threads. */
int ck_optimizer_step(struct ck_optimizer *o, double rate, double grad_scale, int64_t step);

/* Adds the tensors "momentum.NAME", of Adam also "momentum.second.NAME" and "momentum.updates",
 * which `s` borrows. */
int ck_optimizer_save(const struct ck_optimizer *o, struct ck_state *s);
/* Loads all or nothing: every tensor must exist with its shape, and no other "momentum."
 * tensor. */
int ck_optimizer_load(struct ck_optimizer *o, const struct ck_state *s);

#endif
