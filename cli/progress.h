/* progress.h - progress on stderr: a bar on a terminal, log lines elsewhere; and signals that
 * stop or save. */
#ifndef COKE_CLI_PROGRESS_H
#define COKE_CLI_PROGRESS_H

#include "coke.h"

struct progress {
    int quiet, terminal, color;
    int training;   /* epochs are numbered from 0, and epoch 0 has no backward pass */
    char phase[16]; /* phase and epoch on display */
    int64_t epoch;
    int64_t first;        /* `done` when the phase was first seen: a resumed run starts later */
    int epochs_seen;      /* epochs that ended in this process */
    double epoch_seconds; /* of the last whole epoch like those to come; 0 = none yet */
    double phase_start, last_shown; /* seconds */
    int drawn;                      /* a bar is on the line */
    int said;                       /* tenths of the phase already logged */
};

/* Installs handlers: the first SIGINT or SIGTERM asks the library to stop, a second one kills
 * the program. */
void progress_init(struct progress *p, int quiet);
/* Callbacks that show progress and messages; p must outlive their use. */
struct coke_callbacks progress_callbacks(struct progress *p);
/* For a training, which can be saved: SIGUSR1 also requests a stop, SIGUSR2 a checkpoint. */
void progress_train(struct progress *p);
/* Removes the bar. Call it before printing anything else. */
void progress_end(struct progress *p);

#endif
