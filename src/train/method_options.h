/* method_options.h - options that only some methods of training read. */
#ifndef CK_METHOD_OPTIONS_H
#define CK_METHOD_OPTIONS_H

#include "core/option.h"

/* What keeps clusters from becoming empty or one. */
enum ck_constraint { CK_CONSTRAINT_SIZE, CK_CONSTRAINT_ENTROPY };
enum ck_center_schedule { CK_CENTERS_CONSTANT, CK_CENTERS_RISING };

/* Prototypes of any length that are divided by it, or kept at length 1. */
enum ck_prototype_norm { CK_PROTOTYPES_WEIGHT, CK_PROTOTYPES_SPHERE };

struct ck_method_options {
    int32_t constraint;                   /* enum ck_constraint */
    double entropy_weight;                /* 0 = chosen from the images */
    double center_rate;                   /* of learned centers */
    int32_t center_schedule;              /* enum ck_center_schedule */
    double center_temperature;            /* of their loss */
    double redundancy_weight, loss_scale; /* Barlow Twins */
    double invariance_weight, variance_weight, covariance_weight; /* VICReg */
    double agreement_weight, coding_eps;                          /* EMP-SSL */
    int64_t kmeans_epochs;                                        /* DeepCluster-v2 */
    int64_t neighbours;                                           /* SCAN, as the next */
    double balance_weight;
    double threshold;                    /* self-labelling: of a confident label; 0 = auto */
    int64_t from_head;                   /* self-labelling: head of the run */
    double momentum_start, momentum_end; /* of a teacher */
    int64_t queue;                       /* rows */
    int64_t queue_from;                  /* epoch */
    int32_t symmetric;                   /* MoCo-v2: both directions */
    int64_t prototypes, freeze_prototypes;
    int32_t prototype_norm; /* enum ck_prototype_norm */
    double sinkhorn_eps;
    int64_t sinkhorn_rounds;
    double teacher_temperature, teacher_temperature_start; /* DINO */
    int64_t teacher_warmup;
    double center_momentum;
    double sharpen, mean_entropy_weight; /* MSN */
};

const struct ck_option_table *ck_method_option_table(void);

#endif
