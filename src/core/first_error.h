/* first_error.h - the error of the first thread of a team that fails.
 *
 * Sentences are per thread (core/error.h), so the one that a worker sets is lost to the thread
 * that started the team, unless it is kept here. Usage:
 *
 *     struct ck_first_error error = {0};      one per team, shared by its threads
 *     ck_first_error_keep(&error, rc);        any thread, when rc is not COKE_OK
 *     return ck_first_error_raise(&error);    after the team has ended, one thread
 */
#ifndef CK_FIRST_ERROR_H
#define CK_FIRST_ERROR_H

#include "core/error.h"

#include <stdatomic.h>

struct ck_first_error {
    _Atomic int status; /* COKE_OK until a thread fails; threads may read it to stop early */
    char sentence[CK_SENTENCE]; /* defined once the team has ended */
};

/* Keeps the status and the calling thread's sentence if no thread has failed before. */
void ck_first_error_keep(struct ck_first_error *e, int status);

/* Makes the kept sentence the calling thread's own; returns the kept status, or COKE_OK. */
int ck_first_error_raise(const struct ck_first_error *e);

#endif
