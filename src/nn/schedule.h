/* schedule.h - the learning rate of each step. Pure functions. */
#ifndef CK_SCHEDULE_H
#define CK_SCHEDULE_H

#include <stdint.h>

/* Epoch 0 (clustering only): 0. Epochs 1..warmup: linear growth. Then half a cosine down to
 * 0. */
struct ck_schedule {
    double rate; /* the peak */
    int64_t epochs, warmup;
    int64_t steps; /* optimizer steps per epoch */
};

/* min(10, max(1, (epochs - 1) / 10)) */
int64_t ck_schedule_default_warmup(int64_t epochs);

/* warmup < 0: the default. At least one epoch must follow the warm-up, else COKE_EUSAGE. */
int ck_schedule_init(struct ck_schedule *s, double rate, int64_t epochs, int64_t warmup,
                     int64_t steps);

/* 0 <= epoch < epochs, 0 <= step < steps. */
double ck_schedule_rate(const struct ck_schedule *s, int64_t epoch, int64_t step);

/* A rate that rises from 0 in step 0 to nearly `rate` in the last one, by half a cosine. */
double ck_schedule_rising(double rate, int64_t epochs, int64_t steps, int64_t step);

/* From `from` in step 0 to nearly `to` in the last of all steps, by half a cosine. */
double ck_schedule_cosine(double from, double to, int64_t step, int64_t steps);

/* ck_schedule_rate in one call, with checked epoch and step. */
int ck_schedule_rate_at(double rate, int64_t epochs, int64_t warmup, int64_t steps,
                        int64_t epoch, int64_t step, double *out);

#endif
