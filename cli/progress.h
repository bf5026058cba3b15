/* progress.h - a bar on a terminal, lines elsewhere; and the wish to stop. */
#ifndef COKE_CLI_PROGRESS_H
#define COKE_CLI_PROGRESS_H

#include "coke.h"

struct progress {
    int quiet, terminal, color;
    char phase[16]; /* phase and epoch being shown */
    int64_t epoch;
    int64_t
        first; /* done when the phase was first seen: it may have begun in another process */
    double phase_start, last_shown; /* seconds */
    int drawn;                      /* a bar is on the line */
    int said;                       /* tenths of the phase already told */
};

/* From now on SIGINT and SIGTERM ask the library to stop; a second one ends the program. */
void progress_init(struct progress *p, int quiet);
struct coke_callbacks progress_callbacks(struct progress *p);
/* For work that can be saved: SIGUSR1 also asks to stop, SIGUSR2 asks to save and go on. */
void progress_save_on_signal(void);
void progress_end(struct progress *p);

#endif
