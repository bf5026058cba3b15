/* events.h - what TensorBoard shows of a training: curves, and how sizes and duals are spread.
 */
#ifndef CK_EVENTS_H
#define CK_EVENTS_H

#include "image/image.h"
#include "io/tfevents.h"
#include "train/journal.h"

/* Cuts from the files in `run` what is beyond `step` (counted over all epochs) and opens
 * another one. */
int ck_events_open(struct ck_tfevents *t, const char *run, int64_t step);
int ck_events_step(struct ck_tfevents *t, const struct ck_step *s, int64_t step);
/* Call before the heads end their epoch: their counts are those of it. */
int ck_events_epoch(struct ck_tfevents *t, const struct ck_epoch_report *r,
                    const struct ck_heads *heads, int64_t step);
/* What the monitor saw. */
int ck_events_monitor(struct ck_tfevents *t, const struct ck_epoch_report *r, int64_t step);

/* Clusters of a head, a row of images each. */
int ck_events_exemplars(struct ck_tfevents *t, const struct ck_image *sheet, int head,
                        int64_t k, int64_t step);

#endif
