/* eval_options.h - the options of k-NN, the linear probe and fine-tuning. */
#ifndef CK_EVAL_OPTIONS_H
#define CK_EVAL_OPTIONS_H

#include "core/option.h"

struct ck_knn_options {
    struct ck_ints neighbours; /* none: 20 and 200 */
    double temperature;
};

const struct ck_option_table *ck_knn_option_table(void);
struct ck_knn_options ck_knn_options_default(void);

enum ck_linear_protocol { CK_LINEAR_PAPER, CK_LINEAR_ABLATION };

struct ck_linear_options {
    int32_t protocol;      /* enum ck_linear_protocol */
    double rate;           /* 0 = the protocol's */
    double weight_decay;   /* of both protocols 1e-6 */
    int64_t epochs, batch; /* 0 = the protocol's */
    int32_t augment;       /* crops and flips; else features are computed once */
    int32_t sweep;         /* rates around the protocol's */
    int64_t trials, seed;
};

const struct ck_option_table *ck_linear_option_table(void);
struct ck_linear_options ck_linear_options_default(void);

struct ck_finetune_options {
    double rate;         /* 0 = 1, .1, .01, .001 */
    double weight_decay; /* -1 = 1e-5, 1e-6, 0 */
    int64_t epochs, batch, trials, seed;
};

const struct ck_option_table *ck_finetune_option_table(void);
struct ck_finetune_options ck_finetune_options_default(void);

#endif
