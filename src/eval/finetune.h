/* finetune.h - fine-tuning: trains the whole network as a classifier, starting from the
 * encoder's weights. */
#ifndef CK_FINETUNE_H
#define CK_FINETUNE_H

#include "eval/eval_options.h"
#include "eval/features.h"
#include "eval/score.h"

struct ck_finetune_job {
    const struct coke_encoder *encoder; /* not modified */
    struct coke_dataset *train, *test;
    const struct ck_recipe *like; /* of the encoder's training: for size and normalization */
    const struct ck_finetune_options *o;
    int skip; /* skip unreadable images */
    const struct coke_callbacks *callbacks;
};

/* Trains and tests every row of the grid; out receives means and deviations. Single caller, all
 * threads of the process. */
int ck_finetune(const struct ck_finetune_job *job, struct coke_classifier_result *out);

/* ---- its parts ---- */

struct ck_classifier;

/* Copies the backbone's structure and adds a linear layer "fc"; the weights are set by
 * ck_classifier_begin. */
int ck_classifier_new(struct ck_classifier **out, const struct coke_encoder *e, int32_t classes,
                      int64_t height, int64_t width);
void ck_classifier_free(struct ck_classifier *c);
/* Restarts: loads the encoder's weights, draws the last layer like the linear probe's, and
 * creates a new optimizer. */
int ck_classifier_begin(struct ck_classifier *c, const struct coke_encoder *e,
                        double weight_decay, uint64_t seed);
/* One step of SGD with momentum .9 on x [n][channels][height][width], with 10 times the rate
 * for the last layer; adds the loss before the step to score. Ignores batches of fewer than 2
 * images, because batch norm needs two. */
int ck_classifier_step(struct ck_classifier *c, const float *x, const int32_t *label, int64_t n,
                       double rate, struct ck_score *score);
/* Borrowed; valid as long as the classifier. */
struct coke_encoder *ck_classifier_encoder(struct ck_classifier *c);

#endif
