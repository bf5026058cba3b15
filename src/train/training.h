/* training.h - the state of one ck_train_run, shared by its three files: run_begin.c, loop.c
 * and run_end.c. No other file includes it. */
#ifndef CK_TRAINING_H
#define CK_TRAINING_H

#include "train/events.h"
#include "train/health.h"
#include "train/monitor.h"
#include "train/saver.h"

/* Of several processes the first one is the writer: it alone touches the run folder, evaluates
 * and reports. The members marked (writer) are empty on the others. */
struct ck_training {
    const char *run; /* folder; borrowed from the caller, as are the next four */
    const struct coke_train_control *control;
    const struct coke_callbacks *callbacks; /* for progress, which every rank asks */
    const struct coke_callbacks *messages;  /* the same in the writer, NULL in the others */
    struct coke_train_summary *out;
    int writer;
    struct ck_session s;
    int64_t batch, accumulate; /* as chosen; 0 = not yet */
    struct ck_position at;
    struct ck_run_names names; /* files that the run wrote (writer) */
    struct ck_saver saver;
    int lock;                   /* descriptor of the run's lock, -1 = none (writer) */
    struct ck_journal journal;  /* (writer) */
    struct ck_tfevents events;  /* (writer) */
    struct ck_monitor *monitor; /* NULL = off (writer) */
    struct ck_health health;    /* which warnings were given (writer) */
    double started;             /* clock; seconds */
    /* The epoch so far, in this process. */
    double epoch_started, epoch_cpu, epoch_waited;
    struct ck_group_stats epoch_talk; /* communication before the epoch */
    int64_t epoch_first;              /* images of the epoch done before a resume */
};

/* Steps done since the training began, over all epochs. */
int64_t ck_training_steps(const struct ck_training *t);
/* Fails if the ranks hold different weights, centers or labels. Collective. */
int ck_training_check_ranks(struct ck_training *t, const char *when);

/* run_begin.c: refuses a folder with files of others, before anything is written or built.
 * Writer only; o as the caller of the training gave them. */
int ck_training_check_folder(const struct ck_training *t, const struct ck_train_options *o);
/* run_begin.c: makes or resumes the run: folder, lock, checkpoint, journal. Collective. */
int ck_training_begin(struct ck_training *t);
/* run_end.c: writes labels, centers and the final encoder. Writer only. */
int ck_training_end(struct ck_training *t);

#endif
