/* events.h - what TensorBoard shows of a training: curves, histograms of sizes and duals, and
 * sheets of images. Only the writer of a group calls it. `step` counts over all epochs. */
#ifndef CK_EVENTS_H
#define CK_EVENTS_H

#include "image/image.h"
#include "io/tfevents.h"
#include "train/journal.h"
#include "train/run_names.h"

/* Truncates the run's own files after `step`, so that a resumed run repeats nothing, opens a new
 * one and adds it to the names. Close with ck_tfevents_close. */
int ck_events_open(struct ck_tfevents *t, const char *run, struct ck_run_names *names,
                   int64_t step);
/* Loss and rate of a step. */
int ck_events_step(struct ck_tfevents *t, const struct ck_step *s, int64_t step);
/* Call before ck_heads_epoch_end, which resets the counts that this reads. */
int ck_events_epoch(struct ck_tfevents *t, const struct ck_epoch_report *r,
                    const struct ck_heads *heads, int64_t step);
/* The evaluation of an epoch; nothing if there was none. */
int ck_events_monitor(struct ck_tfevents *t, const struct ck_epoch_report *r, int64_t step);

/* sheet: one row of images per cluster of the head; borrowed. */
int ck_events_exemplars(struct ck_tfevents *t, const struct ck_image *sheet, int head,
                        int64_t k, int64_t step);

#endif
