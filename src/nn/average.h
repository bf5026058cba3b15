/* average.h - parameters that follow those of another network as a moving average. */
#ifndef CK_AVERAGE_H
#define CK_AVERAGE_H

#include "nn/param.h"

/* One value: tau of the average stays, the rest comes from `online`. */
static inline double ck_average_of(double average, double online, double tau)
{
    return tau * average + (1 - tau) * online;
}

/* The tau of update i = 0, 1, ...: half a cosine from `start` at i = 0 to `end` at i = steps, and
 * `end` from there on. */
double ck_average_tau(double start, double end, int64_t i, int64_t steps);

/* average [n] <- tau * average + (1 - tau) * online [n], parameters of the same shapes, computed in
 * double. tau 0 copies. Runs on the OpenMP team; the same bytes for any number of threads. */
void ck_average_params(struct ck_param *average, const struct ck_param *online, int n,
                       double tau);

#endif
