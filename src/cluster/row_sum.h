/* row_sum.h - a sum over rows that are read once, on all threads, and by several processes. */
#ifndef CK_ROW_SUM_H
#define CK_ROW_SUM_H

#include "cluster/scan.h"
#include "core/share.h"

enum { CK_ROW_SUM_BLOCK = 64 };

struct ck_row_sum {
    const struct ck_scan *scan;
    const struct ck_share *share; /* processes that divide the rows; NULL = this one has all */
    int (*wanted)(const void *arg, int64_t id);
    /* Adds rows x [n][ld] of these ids to *sum; n <= CK_ROW_SUM_BLOCK. Called by any thread. */
    int (*add)(const void *arg, const int64_t *id, int n, const float *x, double *sum);
    const void *arg;
};

/* Sums in the order of the rows: the same for every team and number of processes. Collective. */
int ck_row_sum(const struct ck_row_sum *s, double *sum);

#endif
