/* finetune.h - the whole network as a classifier, beginning with the encoder's weights. */
#ifndef CK_FINETUNE_H
#define CK_FINETUNE_H

#include "eval/eval_options.h"
#include "eval/features.h"
#include "eval/score.h"

struct ck_finetune_job {
    const struct coke_encoder *encoder; /* stays as it is */
    struct coke_dataset *train, *test;
    const struct ck_recipe *like; /* of the encoder's training: views are like it */
    const struct ck_finetune_options *o;
    int skip; /* images that cannot be read are left out */
    const struct coke_callbacks *callbacks;
};

int ck_finetune(const struct ck_finetune_job *job, struct coke_classifier_result *out);

/* ---- its parts ---- */

struct ck_classifier;

/* A copy of the backbone and a linear layer "fc". */
int ck_classifier_new(struct ck_classifier **out, const struct coke_encoder *e, int32_t classes,
                      int64_t height, int64_t width);
void ck_classifier_free(struct ck_classifier *c);
/* The encoder's weights again, and a last layer drawn as the linear probe's; the optimiser
 * begins anew. */
int ck_classifier_begin(struct ck_classifier *c, const struct coke_encoder *e,
                        double weight_decay, uint64_t seed);
/* SGD with momentum .9 on x [n][channels][height][width], 10 times the rate for the last layer;
 * adds the loss before the step to score. Fewer than 2 images are passed over: batch norm needs
 * them. */
int ck_classifier_step(struct ck_classifier *c, const float *x, const int32_t *label, int64_t n,
                       double rate, struct ck_score *score);
struct coke_encoder *ck_classifier_encoder(struct ck_classifier *c);

#endif
