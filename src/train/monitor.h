/* monitor.h - a look at the features every few epochs. */
#ifndef CK_MONITOR_H
#define CK_MONITOR_H

#include "train/journal.h"

struct ck_watch;

/* *out is NULL when the options want no looks. */
int ck_watch_new(struct ck_watch **out, struct ck_session *s);
void ck_watch_free(struct ck_watch *w);
int ck_watch_knows_classes(const struct ck_watch *w); /* w may be NULL */

/* Where labels are known, k-NN of images held out from a bank of others, and how the clusters
 * of the head with as many of them as there are classes agree with these. */
int ck_watch_look(struct ck_watch *w, struct ck_epoch_report *r);

/* After a look: clusters of that head, or of the first, a row of their nearest images each. */
int ck_watch_show(struct ck_watch *w, struct ck_image *out, int *head);

#endif
