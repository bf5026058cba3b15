/* saver.h - when and how a training writes its checkpoints.
 *
 * The loop asks ck_saver_due_* after each step and epoch and calls ck_saver_write. Only the
 * first process of a group writes; on the others a saver is never due and writes nothing. */
#ifndef CK_SAVER_H
#define CK_SAVER_H

#include "io/tfevents.h"
#include "train/checkpoint.h"
#include "train/journal.h"
#include "train/run_names.h"

struct ck_saver {
    const char *run;                  /* borrowed; NULL = this process writes nothing */
    struct ck_run_names *names;       /* borrowed: the files of the run */
    const struct ck_train_options *o; /* borrowed: save-*, keep */
    double started;                   /* clock when the training began; seconds */
    double saved;                     /* clock after the last checkpoint */
    int64_t steps;                    /* since the last checkpoint; the loop counts them */
    double seconds;                   /* spent on checkpoints so far */
    double epoch_seconds;             /* and in this epoch; the loop resets it */
};

/* now: of ck_clock_seconds. Nothing to release. */
void ck_saver_init(struct ck_saver *v, const char *run, struct ck_run_names *names,
                   const struct ck_train_options *o, double now);

/* Is a checkpoint due by save-steps or save-minutes? */
int ck_saver_due_step(const struct ck_saver *v, double now);
/* Is one due by save-epochs, after so many complete epochs? Not while checkpoints have taken
 * more than 3.5 % of the time, so that runs of short epochs skip some. */
int ck_saver_due_epoch(const struct ck_saver *v, int64_t epochs, double now);

/* Writes a checkpoint of *at, points last.safetensors (`best`: also best) to it and removes those of the run beyond
 * `keep`. Where the disk has no room for one more, all but the newest are removed before.
 * The metrics are on disk before the checkpoint that counts their bytes: sets
 * at->metrics_bytes. */
int ck_saver_write(struct ck_saver *v, const struct ck_session *s, struct ck_position *at,
                   struct ck_journal *journal, struct ck_tfevents *events, int best);

#endif
