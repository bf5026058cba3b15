/* score.h - cross-entropy of a classifier's logits, its gradient, and top-1 and top-5
 * accuracy. */
#ifndef CK_SCORE_H
#define CK_SCORE_H

#include <stdint.h>

/* Sums over samples with a known class; loss is the sum, not the mean. */
struct ck_score {
    int64_t asked, top1, top5;
    double loss;
};

/* logits [n][classes], label [n] (negative = unknown: ignored). Adds to score. grad
 * [n][classes] = gradient of the mean loss of these samples with respect to the logits, or
 * NULL. Among equal logits the lower class ranks first. Uses all threads; bitwise the same
 * result for any number of them. Logits that are not finite are COKE_ENUMERIC, and score stays
 * unchanged. */
int ck_score(const float *logits, const int32_t *label, int64_t n, int32_t classes, float *grad,
             struct ck_score *score);

/* Mean and sample standard deviation of x [n]; the deviation of a single value is 0. */
void ck_mean_deviation(const double *x, int64_t n, double *mean, double *deviation);

#endif
