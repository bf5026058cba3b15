/* sorting.h - --copy-to and --symlink: images into a folder for each cluster. */
#ifndef COKE_CLI_SORTING_H
#define COKE_CLI_SORTING_H

#include "args.h"
#include "progress.h"

/* Is one of the options given? Both at once are refused by sorting_check. */
int sorting_wanted(struct args *a);
/* Before the work: can the images of d be sorted there? Does nothing if it is not wanted. */
int sorting_check(struct args *a, struct coke_dataset *d);
/* cluster [images of d] < k, negative = left out. Ends the progress. */
int sorting_run(struct args *a, struct coke_dataset *d, const int32_t *cluster, int64_t k,
                struct progress *bar);

#endif
