/* train_options.h - the options of a training, checked and completed. */
#ifndef CK_TRAIN_OPTIONS_H
#define CK_TRAIN_OPTIONS_H

#include "cluster/kmeans_options.h"
#include "data/data_options.h"
#include "nn/nn_options.h"
#include "train/method_options.h"

/* Which labels or centers the loss uses: those of the last epoch, or the present ones. */
enum ck_coupling { CK_COUPLING_LAST, CK_COUPLING_CURRENT };
/* The step of the duals in proportion to k, or the same for all heads. */
enum ck_eta_mode { CK_ETA_MODE_SCALED, CK_ETA_MODE_SHARED };

/* The learning rate of the predictor. */
enum ck_rate_kind { CK_RATE_SCHEDULED, CK_RATE_CONSTANT };

struct ck_train_options {
    int32_t method;               /* row of the table of methods */
    struct ck_method_options own; /* that only some methods read */
    struct ck_dataset_options data;
    struct ck_loader_options loader;
    struct ck_encoder_options encoder;
    struct ck_ints k;                /* clusters of each head */
    struct ck_kmeans_options kmeans; /* of every head; n, k and dim are set per head */
    struct ck_loss_options loss;
    struct ck_optimizer_options optimizer;
    int32_t eta_mode;        /* enum ck_eta_mode: in proportion to k, or the same for all */
    int64_t epochs;          /* including epoch 0, which only clusters */
    double alpha_start;      /* alpha decreases from this; 0 = constant, -1 = chosen ... */
    double alpha_until;      /* ... linearly until this fraction of the epochs */
    int32_t labels, centers; /* enum ck_coupling: of the loss */
    int32_t keep_best;
    int64_t round; /* images between two updates of the loss's centers; 0 = epochs */
    struct ck_ints
        size_schedule;   /* sides of the views, one after the other; empty = one size */
    int64_t embed_size;  /* side of the images where the encoder is used; 0 = as the views */
    double augment_ramp; /* fraction of the epochs; 0 = full strength from the start */
    double ema;          /* decay of the averaged weights; 0 = none */
    double rate;
    int32_t predictor_rate;  /* enum ck_rate_kind */
    double weight_decay_end; /* -1 = the same */
    int64_t warmup;          /* epochs; -1 = chosen */
    int64_t accumulate;      /* 0 = chosen, as loader.batch: train/batch_choice.h */
    int32_t precision;       /* enum ck_precision */
    int64_t monitor;         /* epochs between evaluations of k-NN, ACC, NMI, ARI; 0 = never */
    int64_t save_epochs, save_steps; /* checkpoint intervals; 0 = not by these */
    double save_minutes;
    const char *init; /* weights to start from; NULL = random */
    const char *from; /* run that a second stage continues; NULL = none */
    int64_t keep;     /* checkpoints that are kept beside last and best */
};

const struct ck_option_table *ck_train_option_table(void);
struct ck_train_options ck_train_options_default(void);

/* Presets by number, NULL after the last. */
const char *ck_train_preset_name(int i);
const char *ck_train_preset_about(int i);
/* Sets the options that the preset names; the others stay. */
int ck_train_preset(struct ck_train_options *options, const char *name);

/* Large views of an image. */
int ck_train_views(const struct ck_train_options *o);
/* Option size, left open, is the last of size-schedule. */
void ck_train_settle_size(struct ck_train_options *o);
/* How the views change over the epochs. */
struct ck_course ck_train_course(const struct ck_train_options *o);
/* Everything that can be wrong before a file is opened. */
int ck_train_options_check(const struct ck_train_options *o);

/* May change between two processes of one training. */
int ck_train_option_is_free(const char *name);

/* The peak learning rate, and the step of the duals of head h for n images: as given, or chosen
 * from other options. */
double ck_train_rate(const struct ck_train_options *o);
double ck_train_eta(const struct ck_train_options *o, int64_t n, int h);
/* The weight decay of a step of all `steps` of the training. */
double ck_train_weight_decay(const struct ck_train_options *o, int64_t step, int64_t steps);
/* The weight of the label in the targets of epoch `epoch`. */
double ck_train_alpha(const struct ck_train_options *o, int64_t epoch);

#endif
