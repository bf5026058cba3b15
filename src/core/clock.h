/* clock.h - the monotonic clock and CPU time, for durations. Any thread. */
#ifndef CK_CLOCK_H
#define CK_CLOCK_H

#include <stdint.h>

/* Time since an arbitrary start; not affected by changes of the wall clock. */
int64_t ck_clock_ns(void);
double ck_clock_seconds(void);

/* CPU time of all threads of this process. */
double ck_clock_cpu_seconds(void);

#endif
