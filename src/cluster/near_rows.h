/* near_rows.h - after the labels are final: rows that are off their nearest center, and the
 * second choice of each row. */
#ifndef CK_NEAR_ROWS_H
#define CK_NEAR_ROWS_H

#include "cluster/repair.h"

/* Both take a repair that has run, settle its assigner without prices, run on all threads and
 * report progress as it does. */

/* Counts the rows that are nearer to another center than to that of their label; a lead of up
 * to 1e-6 is a tie. Reads only the rows of clusters whose price is above the lowest: all others
 * have their nearest center. Collective if r->share is set. */
int ck_off_nearest(const struct ck_repair *r, int64_t *count);

/* The nearest center other than that of the label, the lowest of several, to second [n], and
 * r->scores minus the score of it to margin [n]; either may be NULL. Rows without one (skipped,
 * or k = 1) get -1 and NaN. r->scores must be set, r->share must not. */
int ck_second_choice(const struct ck_repair *r, int32_t *second, float *margin);

#endif
