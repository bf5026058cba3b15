/* linear.h - the linear probe: a classifier on the features of a backbone that stays as it is.
 */
#ifndef CK_LINEAR_H
#define CK_LINEAR_H

#include "eval/eval_options.h"
#include "eval/features.h"

struct ck_linear_job {
    struct coke_dataset *train, *test;
    struct ck_features *train_features, *test_features;
    const struct ck_recipe *like; /* of the encoder's training: augmented views are like it */
    const struct ck_linear_options *o;
    int skip; /* images that cannot be read are left out */
    const struct coke_callbacks *callbacks;
};

int ck_linear(const struct ck_linear_job *job, struct coke_classifier_result *out);

#endif
