/* schedule.c - the learning rate of each step. */
#include "nn/schedule.h"
#include "core/error.h"

#include <math.h>

int64_t ck_schedule_default_warmup(int64_t epochs)
{
    int64_t tenth = epochs / 10 - (epochs % 10 == 0);
    return tenth < 1 ? 1 : tenth > 10 ? 10 : tenth;
}

int ck_schedule_init(struct ck_schedule *s, double rate, int64_t epochs, int64_t warmup,
                     int64_t steps)
{
    if (warmup < 0)
        warmup = ck_schedule_default_warmup(epochs);
    if (!(rate >= 0 && isfinite(rate)))
        return ck_fail(COKE_EUSAGE, "learning rate: %g is not a non-negative number", rate);
    if (steps < 1)
        return ck_fail(COKE_EUSAGE, "%lld steps per epoch: at least 1 is needed",
                       (long long)steps);
    if (epochs < 2 || epochs - 1 <= warmup)
        return ck_fail(COKE_EUSAGE,
                       "%lld epochs: epoch 0 and %lld of warm-up leave none to train; at least "
                       "%llu are needed",
                       (long long)epochs, (long long)warmup, (unsigned long long)warmup + 2);
    *s = (struct ck_schedule){.rate = rate, .epochs = epochs, .warmup = warmup, .steps = steps};
    return COKE_OK;
}

/* c counts steps over all epochs; fmax avoids a rate of 0 in the first step. */
double ck_schedule_rate(const struct ck_schedule *s, int64_t epoch, int64_t step)
{
    double n = (double)s->steps, c = (double)epoch * n + (double)step;
    double first = (double)(s->warmup + 1) * n; /* first step of the cosine */
    if (epoch == 0)
        return 0;
    if (epoch <= s->warmup)
        return s->rate * fmax(1, c - n) / ((double)s->warmup * n);
    return s->rate / 2 * (1 + cos(M_PI * (c - first) / ((double)s->epochs * n - first)));
}

double ck_schedule_cosine(double from, double to, int64_t step, int64_t steps)
{
    return from + (to - from) * (1 - cos(M_PI * (double)step / (double)steps)) / 2;
}

double ck_schedule_rising(double rate, int64_t epochs, int64_t steps, int64_t step)
{
    return ck_schedule_cosine(0, rate, step, epochs * steps);
}

int ck_schedule_rate_at(double rate, int64_t epochs, int64_t warmup, int64_t steps,
                        int64_t epoch, int64_t step, double *out)
{
    struct ck_schedule s = {0};
    if (warmup < -1)
        return ck_fail(COKE_EUSAGE, "%lld epochs of warm-up; -1 is the default",
                       (long long)warmup);
    CK_RETURN_IF(ck_schedule_init(&s, rate, epochs, warmup, steps));
    if (epoch < 0 || epoch >= epochs || step < 0 || step >= steps)
        return ck_fail(COKE_EUSAGE, "schedule: epoch %lld of %lld, step %lld of %lld",
                       (long long)epoch, (long long)epochs, (long long)step, (long long)steps);
    *out = ck_schedule_rate(&s, epoch, step);
    return COKE_OK;
}
