/* monitor.h - a look at the features every few epochs. */
#ifndef CK_MONITOR_H
#define CK_MONITOR_H

#include "train/journal.h"

struct ck_monitor;

/* *out is NULL when the options want no looks. */
int ck_monitor_new(struct ck_monitor **out, struct ck_session *s);
void ck_monitor_free(struct ck_monitor *w);
int ck_monitor_has_classes(const struct ck_monitor *w); /* w may be NULL */

/* Where labels are known, k-NN of images held out from a bank of others, and how the clusters
 * of the head with as many of them as there are classes agree with these. */
int ck_monitor_evaluate(struct ck_monitor *w, struct ck_epoch_report *r);

/* After a look: clusters of that head, or of the first, a row of their nearest images each. */
int ck_monitor_show(struct ck_monitor *w, struct ck_image *out, int *head);

#endif
