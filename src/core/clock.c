/* clock.c - the monotonic clock and CPU time, for durations. */
#include "core/clock.h"

#include <time.h>

int64_t ck_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double ck_clock_seconds(void)
{
    return (double)ck_clock_ns() * 1e-9;
}

double ck_clock_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
