/* encoder_optimizer.h - the optimizer of an encoder's weights, which counts its steps. */
#ifndef CK_ENCODER_OPTIMIZER_H
#define CK_ENCODER_OPTIMIZER_H

#include "nn/encoder.h"
#include "nn/optimizer.h"

struct coke_optimizer {
    struct ck_optimizer *optim;
    int64_t step; /* steps done */
};

/* Borrows the encoder's weights. */
int ck_encoder_optimizer_new(struct coke_optimizer **out, struct coke_encoder *e,
                             const struct ck_optimizer_options *options);
void ck_encoder_optimizer_free(struct coke_optimizer *o);
int ck_encoder_optimizer_step(struct coke_optimizer *o, double rate);

#endif
