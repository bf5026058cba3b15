/* stats.c - min, median and max of counts. */
#include "core/stats.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct ck_spread ck_spread_sort(int64_t *v, int64_t n)
{
    qsort(v, (size_t)n, sizeof *v, ascending);
    return (struct ck_spread){v[0], v[n / 2], v[n - 1]};
}
