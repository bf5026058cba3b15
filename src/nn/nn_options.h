/* nn_options.h - the options of encoders, plans, optimizers and the loss. */
#ifndef CK_NN_OPTIONS_H
#define CK_NN_OPTIONS_H

#include "core/option.h"

#include <stdint.h>

struct ck_encoder_options {
    int32_t arch; /* enum ck_arch */
    int32_t stem; /* enum ck_stem */
    double width; /* factor on all channels */
    int64_t channels;
    struct ck_layers projector; /* or a word, enum ck_projector (nn/mlp.h) */
    int64_t hidden;             /* 0 = the features' width */
    int64_t dim;                /* 0 = chosen; of an encoder that was made: as it is */
    struct ck_layers predictor; /* or a word, enum ck_predictor */
    int32_t zero_residual;      /* blocks start as identities */
    int64_t seed;
};

const struct ck_option_table *ck_encoder_option_table(void);
struct ck_encoder_options ck_encoder_options_default(void);

enum { CK_OUTPUTS = 4 }; /* features, logits, proj, pred: enum coke_output */

enum ck_precision {
    CK_PRECISION_F32,
    CK_PRECISION_BF16,
    CK_PRECISION_AUTO, /* the faster one here (nn/precision.h) */
    CK_PRECISIONS
};
#define CK_PRECISION_CHOICES "f32|bf16|auto"

struct ck_plan_options {
    int64_t batch, height, width;
    int32_t precision; /* enum ck_precision: of the activations inside the backbone */
    int32_t train;     /* batch statistics; else the running ones */
    int32_t backward;  /* the plan will be run backward */
    int32_t recompute; /* less memory, a little slower */
    /* Which outputs are computed, and which get gradients. All 0: all that the encoder has, and
     * gradients for proj and pred. */
    int32_t want[CK_OUTPUTS], grad[CK_OUTPUTS];
};

const struct ck_option_table *ck_plan_option_table(void);
struct ck_plan_options ck_plan_options_default(void);

struct ck_optimizer_options {
    int32_t kind; /* enum ck_optimizer_kind */
    double momentum;
    double weight_decay;
    double trust;           /* LARS only */
    int32_t trust_clip;     /* LARS only */
    double second_momentum; /* Adam and AdamW only */
    double clip;            /* limit of the norm of all gradients; 0 = none */
};

const struct ck_option_table *ck_optimizer_option_table(void);
struct ck_optimizer_options ck_optimizer_options_default(void);

struct ck_loss_options {
    double temperature;
    double alpha;        /* weight of the label in the target, the rest is q; from 2 views on */
    double beta;         /* weight of pred, the rest is proj's */
    double large_weight; /* weight of the two large views, the rest is the small ones' */
};

const struct ck_option_table *ck_loss_option_table(void);
struct ck_loss_options ck_loss_options_default(void);

/* A loss that is used alone: its options, and what it is for. */
struct ck_loss_setup {
    struct ck_loss_options loss;
    struct ck_ints k; /* centers of each head */
    int64_t views;    /* 1; 2; or 2 large ones and then small ones */
    int64_t batch;    /* maximum */
    int64_t dim;
};

const struct ck_option_table *ck_loss_setup_table(void);

#endif
