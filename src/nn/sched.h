/* sched.h - the learning rate of every step. */
#ifndef CK_SCHED_H
#define CK_SCHED_H

#include <stdint.h>

/* Epoch 0, which only clusters: 0. Epochs 1..warmup: growing in a straight line. Then half a
 * cosine down to 0. */
struct ck_sched {
    double rate; /* the highest */
    int64_t epochs, warmup;
    int64_t steps; /* of the optimiser, an epoch */
};

/* min(10, max(1, (epochs - 1) / 10)) */
int64_t ck_sched_default_warmup(int64_t epochs);

/* warmup < 0: the default. At least one epoch must follow the warm-up. */
int ck_sched_init(struct ck_sched *s, double rate, int64_t epochs, int64_t warmup,
                  int64_t steps);

/* 0 <= epoch < epochs, 0 <= step < steps. */
double ck_sched_rate(const struct ck_sched *s, int64_t epoch, int64_t step);

#endif
