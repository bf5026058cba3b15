/* best.c - which epoch best.safetensors is: of those that k-NN cannot tell apart, the last. */
#include "train/best.h"

#include <math.h>

/* One standard error of the difference of two accuracies near p, each of n questions. Epochs
 * within it are equally good as far as the monitor can say. */
static double margin(double p, int64_t n)
{
    return n > 0 ? sqrt(2 * p * (1 - p) / (double)n) : 0;
}

/* Keeps the maximum and not the score of the kept epoch: scores that fall slowly do not carry
 * the choice along. */
int ck_best_update(double *score, const struct ck_epoch_report *r, int by_knn)
{
    double now = by_knn ? r->knn20 : -r->loss;
    if (r->epoch == 0 || (by_knn && !r->monitored) || !isfinite(now))
        return 0;
    int keep = by_knn ? now >= *score - margin(now, r->asked) : now > *score;
    *score = fmax(*score, now);
    return keep;
}
