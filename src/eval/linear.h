/* linear.h - the linear probe: a linear classifier on the features of a frozen backbone. */
#ifndef CK_LINEAR_H
#define CK_LINEAR_H

#include "eval/eval_options.h"
#include "eval/features.h"

struct ck_linear_job {
    struct coke_dataset *train, *test;
    struct ck_features *train_features, *test_features;
    const struct ck_recipe *like; /* of the encoder's training: augmented views use its size */
    const struct ck_linear_options *o;
    int skip; /* skip unreadable images */
    const struct coke_callbacks *callbacks;
};

/* Trains and tests all rows; out receives means and deviations over the trials. */
int ck_linear(const struct ck_linear_job *job, struct coke_classifier_result *out);

#endif
