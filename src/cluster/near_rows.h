/* near_rows.h - after the labels are final: the second choice of each row. */
#ifndef CK_NEAR_ROWS_H
#define CK_NEAR_ROWS_H

#include "cluster/repair.h"

/* The nearest center other than that of the label, the lowest of several, to second [n], and
 * r->scores minus the score of it to margin [n]; either may be NULL. Rows without one (skipped,
 * or k = 1) get -1 and NaN. The repair must have run; its assigner is settled without prices.
 * Runs on all threads, reports progress as the repair does. r->scores must be set, r->share must not. */
int ck_second_choice(const struct ck_repair *r, int32_t *second, float *margin);

#endif
