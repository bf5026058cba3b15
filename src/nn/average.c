/* average.c - parameters that follow those of another network as a moving average. */
#include "nn/average.h"
#include "core/workers.h"

#include <math.h>

enum { CHUNK = 1 << 14 }; /* values per piece, for any number of threads */

double ck_average_tau(double start, double end, int64_t i, int64_t steps)
{
    double t = i < steps ? (double)i / (double)steps : 1;
    return end - (end - start) * (1 + cos(M_PI * t)) / 2;
}

struct task {
    float *average;
    const float *online;
    int64_t n;
    double tau;
};

static void move_piece(void *arg, int64_t chunk, int worker)
{
    const struct task *t = arg;
    int64_t end = (chunk + 1) * CHUNK < t->n ? (chunk + 1) * CHUNK : t->n;
    (void)worker;
    for (int64_t i = chunk * CHUNK; i < end; i++) { /* 0 times what was not set may be NaN */
        double before = t->tau > 0 ? (double)t->average[i] : 0;
        t->average[i] = (float)ck_average_of(before, (double)t->online[i], t->tau);
    }
}

void ck_average_params(struct ck_param *average, const struct ck_param *online, int n,
                       double tau)
{
    for (int p = 0; p < n; p++) {
        struct task t = {average[p].value, online[p].value, average[p].size, tau};
        ck_parallel((t.n + CHUNK - 1) / CHUNK, move_piece, &t);
        average[p].version++;
    }
}
