/* clock.h - a clock that only goes forward. */
#ifndef CK_CLOCK_H
#define CK_CLOCK_H

#include <stdint.h>

int64_t ck_clock_ns(void);
double ck_clock_seconds(void);

#endif
