/* off_nearest.h - counts the rows whose label is not their nearest center. */
#ifndef CK_OFF_NEAREST_H
#define CK_OFF_NEAREST_H

#include "cluster/repair.h"

/* r: a repair that has run, or a scan; its assigner is settled without prices here. Rows that
 * are as near to another center as to that of their label, to 1e-6, do not count. Reads only the rows of
 * clusters whose price is above the lowest: all others have their nearest center. Runs on all
 * threads; collective if r->share is set. Reports progress as r does. */
int ck_off_nearest(const struct ck_repair *r, int64_t *count);

#endif
