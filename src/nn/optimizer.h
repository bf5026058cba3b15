/* optimizer.h - LARS and SGD with momentum on a network's parameters (docs/networks.md). */
#ifndef CK_OPTIMIZER_H
#define CK_OPTIMIZER_H

#include "core/state.h"
#include "nn/nn_options.h"
#include "nn/param.h"

enum ck_optimizer_kind {
    CK_LARS, /* tensors of two or more dimensions: dp = grad + decay * p, scaled by
                trust * |p| / |dp| (1 where either length is 0); others: dp = grad */
    CK_SGD,  /* dp = grad + decay * p for all, as PyTorch has it */
};
/* Both: momentum = options.momentum * momentum + dp; p -= rate * momentum. */

struct ck_optimizer;

/* param [n] stays where it is as long as the optimiser lives; those without grad are left
 * alone. Momentum begins at 0. */
int ck_optimizer_new(struct ck_optimizer **out, struct ck_param *param, int n,
                     const struct ck_optimizer_options *options);
void ck_optimizer_free(struct ck_optimizer *o);

/* The parameter of that name learns `multiple` times as fast (1 at first). */
int ck_optimizer_set_rate(struct ck_optimizer *o, const char *name, double multiple);

void ck_optimizer_zero_grads(struct ck_optimizer *o);

/* One step with the gradients times grad_scale (1/m for the mean of m passes that were summed
 * up). A gradient that is not finite is an error that names it and `step`, and then nothing has
 * changed. The same bytes for any number of threads. */
int ck_optimizer_step(struct ck_optimizer *o, double rate, double grad_scale, int64_t step);

/* Appends the tensors "momentum.NAME", which `s` borrows. */
int ck_optimizer_save(const struct ck_optimizer *o, struct ck_state *s);
/* All or nothing: each tensor must be there in its shape, and no other "momentum." one. */
int ck_optimizer_load(struct ck_optimizer *o, const struct ck_state *s);

#endif
