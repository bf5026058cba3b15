/* sort.h - copies or links the images of a data set into one folder per cluster (`coke
 * assign`). */
#ifndef CK_SORT_H
#define CK_SORT_H

#include "data/fetch.h"

struct ck_sort_job {
    struct coke_dataset *data;
    const int32_t *cluster; /* [n]; -1 = left out */
    int32_t clusters;
    const char *dir; /* created; may exist if empty */
    enum coke_sort how;
    const struct coke_callbacks *callbacks;
};

/* Validates the arguments before any work; creates nothing. */
int ck_sort_check(const struct coke_dataset *d, const char *dir, enum coke_sort how);
/* Never overwrites a file. Images sorted before a failure stay. Runs in the calling thread. */
int ck_sort_run(const struct ck_sort_job *job, struct coke_sort_summary *out);

#endif
