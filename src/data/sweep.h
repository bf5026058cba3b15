/* sweep.h - visits every image of a data set once: processed by all threads, delivered in
 * order. */
#ifndef CK_SWEEP_H
#define CK_SWEEP_H

#include "data/fetch.h"

enum { CK_SWEEP_BLOCK = 128 }; /* images processed before their results are delivered */

struct ck_sweep {
    struct coke_dataset *data;
    const struct coke_callbacks *callbacks; /* NULL = none */
    const char *phase;
    int64_t max; /* stop after this many images; 0 = all */
    void *arg;
    /* Processes image i, opened in f (see ck_fetch_open), on any thread of the team. Results go
     * to place `place` < CK_SWEEP_BLOCK; worker < ck_threads() selects the thread's working
     * memory. */
    int (*make)(void *arg, struct ck_fetcher *f, int64_t i, int place, int worker);
    /* Receives the result of image i, in order and on the calling thread. status and sentence:
     * of reading and processing the image. Returning non-zero ends the sweep. */
    int (*take)(void *arg, int64_t i, int place, int status, const char *sentence);
};

/* COKE_ESTOPPED if the progress callback asks to stop. Running out of memory ends the sweep;
 * other failures of an image go to take(). */
int ck_sweep_run(const struct ck_sweep *s);

#endif
