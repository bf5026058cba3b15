/* encoder_plan.h - an encoder compiled for a batch and image size, by its outputs' names. */
#ifndef CK_ENCODER_PLAN_H
#define CK_ENCODER_PLAN_H

#include "nn/encoder.h"
#include "nn/plan.h"

struct coke_plan {
    const struct coke_encoder *encoder; /* borrowed, with its weights */
    struct ck_plan *plan;
    int grad[CK_OUTPUTS]; /* outputs in the order of the plan's gradients */
    int ngrad;
};

/* reduce: see ck_plan_synchronise; or NULL. */
int ck_encoder_plan_new(struct coke_plan **out, struct coke_encoder *e,
                        const struct ck_plan_options *o, const struct ck_reduce *reduce);
void ck_encoder_plan_free(struct coke_plan *p);
/* [batch][dim], until the next forward pass; NULL if it was not requested. */
const float *ck_encoder_plan_output(const struct coke_plan *p, enum coke_output which,
                                    int32_t *dim);
/* grad: arrays like the outputs' for those that get gradients; the others are not read. */
int ck_encoder_plan_backward(struct coke_plan *p, const float *const grad[CK_OUTPUTS]);

#endif
