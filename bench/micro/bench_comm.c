/* bench_comm.c - how long a message takes between processes, for `mpirun -n R
 * build/bench_comm`.
 *
 * Prints what the model of bench_scaling needs: microseconds of one round of a short sum, as
 * batch norm makes it, and Gbit/s at which a process sends while gradients are summed up. */
#include "coke.h"
#include "core/clock.h"
#include "dist/group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 64, SHORT_SUMS = 2000, LONG = 1 << 22, LONG_SUMS = 8, REPEATS = 5 };

static int run_short(struct ck_group *c, double *seconds)
{
    double v[2 * CHANNELS + 1] = {0}, begun = ck_clock_seconds();
    int rc = COKE_OK;
    for (int i = 0; i < SHORT_SUMS && !rc; i++)
        rc = ck_group_sum_f64(c, v, 2 * CHANNELS + 1);
    *seconds = (ck_clock_seconds() - begun) / SHORT_SUMS;
    return rc;
}

static int run_long(struct ck_group *c, struct ck_sum *s, double *seconds)
{
    double begun = ck_clock_seconds();
    int rc = COKE_OK;
    for (int i = 0; i < LONG_SUMS && !rc; i++) {
        rc = ck_sum_begin(s, c);
        while (!rc && s->stage != CK_SUM_DONE)
            rc = ck_sum_advance(s, c, 1);
    }
    *seconds = (ck_clock_seconds() - begun) / LONG_SUMS;
    return rc;
}

static int measure(struct ck_group *c)
{
    struct ck_sum s;
    double shorter = INFINITY, longer = INFINITY, t;
    int size = ck_group_size(c), rc = ck_sum_init(&s, c, LONG);
    for (int64_t i = 0; i < LONG && !rc; i++)
        s.data[i] = 0;
    for (int i = 0; i < REPEATS && !rc; i++) {
        rc = run_short(c, &t);
        shorter = fmin(shorter, t);
        if (!rc)
            rc = run_long(c, &s, &t);
        longer = fmin(longer, t);
    }
    double sent = 2.0 * LONG * sizeof(float) * (size - 1) / size;
    if (!rc && ck_group_rank(c) == 0)
        printf("processes %d latency_us %.2f link_gbit %.2f\n", size,
               1e6 * shorter / ceil(log2(size)), 8e-9 * sent / longer);
    ck_sum_release(&s);
    return rc;
}

int main(void)
{
    int rc = coke_group_join();
    if (!rc && coke_group_size() == 1) {
        fprintf(stderr, "bench_comm: start several processes (mpirun -n 2 build/bench_comm)\n");
        return 2;
    }
    if (!rc)
        rc = measure(ck_group());
    if (rc)
        fprintf(stderr, "bench_comm: %s\n", coke_last_error());
    fflush(stdout);
    return coke_group_leave(rc) ? 1 : 0;
}
