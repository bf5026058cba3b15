/* optim.h - LARS and SGD with momentum on a network's parameters (docs/algorithm.md). */
#ifndef CK_OPTIM_H
#define CK_OPTIM_H

#include "core/state.h"
#include "nn/param.h"

enum ck_optim_kind {
    CK_LARS, /* tensors of two or more dimensions: dp = grad + decay * p, scaled by
                trust * |p| / |dp| (1 where either length is 0); others: dp = grad */
    CK_SGD,  /* dp = grad + decay * p for all, as PyTorch has it */
};
/* Both: momentum = options.momentum * momentum + dp; p -= rate * momentum. */

struct ck_optim_options {
    enum ck_optim_kind kind;
    double momentum;
    double weight_decay;
    double trust; /* LARS only */
};

struct ck_optim_options ck_optim_options_default(void);

struct ck_optim;

/* param [n] stays where it is as long as the optimiser lives; those without grad are left
 * alone. Momentum begins at 0. */
int ck_optim_new(struct ck_optim **out, struct ck_param *param, int n,
                 const struct ck_optim_options *options);
void ck_optim_free(struct ck_optim *o);

/* The parameter of that name learns `multiple` times as fast (1 at first). */
int ck_optim_set_rate(struct ck_optim *o, const char *name, double multiple);

void ck_optim_zero_grads(struct ck_optim *o);

/* One step with the gradients times grad_scale (1/m for the mean of m passes that were summed
 * up). A gradient that is not finite is an error that names it and `step`, and then nothing has
 * changed. The same bytes for any number of threads. */
int ck_optim_step(struct ck_optim *o, double rate, double grad_scale, int64_t step);

/* Appends the tensors "momentum.NAME", which `s` borrows. */
int ck_optim_save(const struct ck_optim *o, struct ck_state *s);
/* All or nothing: each tensor must be there in its shape, and no other "momentum." one. */
int ck_optim_load(struct ck_optim *o, const struct ck_state *s);

#endif
