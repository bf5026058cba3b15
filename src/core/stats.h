/* stats.h - min, median and max of counts. */
#ifndef CK_STATS_H
#define CK_STATS_H

#include <stdint.h>

struct ck_spread {
    int64_t min, median, max; /* median of an even number: the upper one */
};

/* Sorts v [n], n > 0, in place in ascending order. */
struct ck_spread ck_spread_sort(int64_t *v, int64_t n);

#endif
