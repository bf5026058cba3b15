/* sweep.h - every image of a data set once: worked on by all threads, handed over in order. */
#ifndef CK_SWEEP_H
#define CK_SWEEP_H

#include "data/fetch.h"

enum { CK_SWEEP_BLOCK = 128 };

struct ck_sweep {
    struct coke_dataset *data;
    const struct coke_callbacks *callbacks; /* NULL = none */
    const char *phase;
    int64_t most; /* stop after so many images; 0 = all */
    void *arg;
    /* On any thread, for image i, which lies open in f (see ck_fetch_open) and whose results go
     * to place `place` < CK_SWEEP_BLOCK; worker < ck_threads() names working memory. */
    int (*make)(void *arg, struct ck_fetcher *f, int64_t i, int place, int worker);
    /* In order. status and sentence: of reading and making the image. Non-zero ends the sweep.
     */
    int (*take)(void *arg, int64_t i, int place, int status, const char *sentence);
};

/* COKE_ESTOPPED if the caller wants to stop. Running out of memory ends it, other failures of
 * an image go to take(). */
int ck_sweep_run(const struct ck_sweep *s);

#endif
