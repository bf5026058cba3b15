/* stats.h - smallest, middle and largest of a list of counts. */
#ifndef CK_STATS_H
#define CK_STATS_H

#include <stdint.h>

struct ck_spread {
    int64_t min, median, max; /* median of an even number: the upper one */
};

/* Sorts v [n], n > 0, in ascending order and reads the three off it. */
struct ck_spread ck_spread_sort(int64_t *v, int64_t n);

#endif
