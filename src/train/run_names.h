/* run_names.h - which files of a run folder the run wrote itself: the list RUN/.run-files.
 *
 * A training overwrites, trims and removes only files of this list. A name is added before its
 * file is written, so that a killed training still knows its files. Only the writer of a group
 * uses it, under the lock of the folder. */
#ifndef CK_RUN_NAMES_H
#define CK_RUN_NAMES_H

#include "data/names.h"

#include "train/train_options.h"

enum { CK_RUN_NAME = 64 }; /* bytes of a file name that a run chooses itself */

/* Zeroed = empty. */
struct ck_run_names {
    struct ck_names list;
    int found; /* the folder has a list: earlier versions wrote none */
};

/* Reads the list, without checkpoints that are gone; a folder without one gives an empty list. */
int ck_run_names_load(struct ck_run_names *m, const char *run);
void ck_run_names_release(struct ck_run_names *m);

int ck_run_names_has(const struct ck_run_names *m, const char *name);
/* Adds a name unless it is there. ck_run_names_write then replaces the list of the folder. */
int ck_run_names_add(struct ck_run_names *m, const char *name);
/* Adds all names that every training of these options writes. */
int ck_run_names_add_usual(struct ck_run_names *m, const struct ck_train_options *o);
/* Adds the event files that the folder holds. */
int ck_run_names_add_events(struct ck_run_names *m, const char *run);
int ck_run_names_write(struct ck_run_names *m, const char *run);

/* The list of checksums in the folder (io/sums.h): it must go before its files change. While the
 * training runs it has config.json and run.json, after its end (`ended`) also the journals, whose
 * lines have their own, labels and centers. */
void ck_run_names_remove_sums(const char *run);
int ck_run_names_sum(const char *run, const struct ck_train_options *o, int ended);

/* Refuses a folder with files that the training would overwrite and did not write, unless
 * `force`, and with symbolic links in their places. Writes nothing. */
int ck_run_names_check(const struct ck_run_names *m, const char *run,
                       const struct ck_train_options *o, int force);

/* Does the folder hold a file of this name that the run did not write? */
int ck_run_names_is_foreign(const struct ck_run_names *m, const char *run, const char *name);

/* The name of the checkpoint at this position. */
void ck_run_names_checkpoint(char name[CK_RUN_NAME], int64_t epoch, int64_t step);
/* The checkpoints of the run that exist, oldest first, added to *out: those of the list, or
 * without a list all whose names a training gives. */
int ck_run_names_checkpoints(const struct ck_run_names *m, const char *run,
                             struct ck_names *out);

/* Remove the run's own checkpoints: all but the newest `keep` up to the one called `newest`
 * (later names are of a damaged checkpoint that the run has left behind it); or all weights of
 * a run to overwrite, so that they are not taken for those of the new one. Best effort. */
void ck_run_names_remove_old(struct ck_run_names *m, const char *run, const char *newest,
                             int64_t keep);
void ck_run_names_remove_all(struct ck_run_names *m, const char *run);

#endif
