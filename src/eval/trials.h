/* trials.h - results of a grid of learning rates and weight decays, with several trials per
 * row. */
#ifndef CK_TRIALS_H
#define CK_TRIALS_H

#include "coke/types.h"
#include "data/recipe.h"
#include "eval/score.h"

enum { CK_TRIALS_MAX = 100 };

struct ck_trials {
    double top1[COKE_EVAL_ROWS][CK_TRIALS_MAX], top5[COKE_EVAL_ROWS][CK_TRIALS_MAX],
        loss[COKE_EVAL_ROWS][CK_TRIALS_MAX];
};

/* Stores the result of a trial; score NULL = it diverged (NaN). */
void ck_trials_put(struct ck_trials *t, int row, int64_t trial, const struct ck_score *score);
/* Computes means and deviations of all rows, and the best row. */
void ck_trials_sum_up(const struct ck_trials *t, struct coke_classifier_result *out);

/* Cosine schedule from rate to 0, updated once per epoch. */
double ck_cosine_rate(double rate, int64_t epoch, int64_t epochs);

/* Creates a loader of random crops and flips in the size of `like`; the caller frees it. */
int ck_trials_loader(struct coke_loader **out, struct coke_dataset *d,
                     const struct ck_recipe *like, int64_t batch, int skip, int64_t seed);

#endif
