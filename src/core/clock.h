/* clock.h - the monotonic clock, for durations. Any thread. */
#ifndef CK_CLOCK_H
#define CK_CLOCK_H

#include <stdint.h>

/* Time since an arbitrary start; not affected by changes of the wall clock. */
int64_t ck_clock_ns(void);
double ck_clock_seconds(void);

#endif
