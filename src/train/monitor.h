/* monitor.h - periodic k-NN and clustering evaluation of the features during a training. Only
 * the writer of a group has one. */
#ifndef CK_MONITOR_H
#define CK_MONITOR_H

#include "train/journal.h"

struct ck_monitor;

/* Images per forward pass of the encoder: no more than a training step runs at once. */
int64_t ck_monitor_batch(const struct ck_train_options *o);

/* Borrows s, which must outlive it, and chooses its images once, so that epochs compare. *out
 * is NULL if the options turn it off (monitor 0). */
int ck_monitor_new(struct ck_monitor **out, struct ck_session *s);
void ck_monitor_free(struct ck_monitor *w);
/* Are classes known, so that k-NN can be computed? w may be NULL. */
int ck_monitor_has_classes(const struct ck_monitor *w);

/* Fills the evaluation in *r. With known classes: leave-one-out k-NN accuracy, in epoch 0
 * that of the pixels too; and ACC, NMI and ARI of the head with as many clusters as there are classes, if
 * there is one. Runs the encoder in evaluation mode; changes nothing in the session. */
int ck_monitor_evaluate(struct ck_monitor *w, struct ck_epoch_report *r);

/* After ck_monitor_evaluate: a sheet of clusters of that head, or of the first one, one row of
 * the nearest images each. The caller releases *out. */
int ck_monitor_show(struct ck_monitor *w, struct ck_image *out, int *head);

#endif
