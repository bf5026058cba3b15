/* monitor.h - a look at the features every few epochs, where labels are known. */
#ifndef CK_MONITOR_H
#define CK_MONITOR_H

#include "train/journal.h"

struct ck_watch;

/* *out is NULL when there is nothing to look at: no labels, or the option says so. */
int ck_watch_new(struct ck_watch **out, struct ck_session *s);
void ck_watch_free(struct ck_watch *w);

/* k-NN of images held out from a bank of others, and how the clusters of the head with as many
 * of them as there are classes agree with these. */
int ck_watch_look(struct ck_watch *w, struct ck_epoch_report *r);

#endif
