/* sort.h - images of a data set into a folder for each cluster. */
#ifndef CK_SORT_H
#define CK_SORT_H

#include "data/fetch.h"

struct ck_sort_job {
    struct coke_dataset *data;
    const int32_t *cluster; /* [n] < clusters; negative = left out */
    int32_t clusters;
    const char *dir; /* made; or there and empty */
    enum coke_sort how;
    const struct coke_callbacks *callbacks;
};

/* Refuses what cannot be done, before any work; makes nothing. */
int ck_sort_check(const struct coke_dataset *d, const char *dir, enum coke_sort how);
/* Nothing is ever overwritten. What was sorted before a failure stays. */
int ck_sort_run(const struct ck_sort_job *job, struct coke_sort_summary *out);

#endif
