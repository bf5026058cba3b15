/* score.h - cross-entropy of a classifier's outputs, its gradient, and how often it is right.
 */
#ifndef CK_SCORE_H
#define CK_SCORE_H

#include <stdint.h>

/* Sums over samples with a known class. */
struct ck_score {
    int64_t asked, top1, top5;
    double loss;
};

/* logits [n][classes], label [n] (negative = unknown: no part in anything). Adds to score.
 * grad [n][classes] = that of the mean loss of these samples with respect to the logits, or
 * NULL. Of equal logits the lower class comes first. The same bits for any number of threads.
 * Logits that are not finite are COKE_ENUMERIC. */
int ck_score(const float *logits, const int32_t *label, int64_t n, int32_t classes, float *grad,
             struct ck_score *score);

/* Mean and deviation (of the sample) of x [n]; the deviation of one is 0. */
void ck_mean_deviation(const double *x, int64_t n, double *mean, double *deviation);

#endif
