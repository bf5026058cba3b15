/* fake_share.h - processes of a group as threads of a test, so that shared work can be tested
 * without MPI. */
#ifndef CK_FAKE_SHARE_H
#define CK_FAKE_SHARE_H

#include "core/share.h"

enum { FAKE_MOST = 4 };

/* Calls work(share, arg[rank]) on `size` threads, rank 0 .. size - 1, and waits for all. work
 * must not assert: cmocka knows the calling thread only. When one returns an error, collective
 * calls of the others fail too. Returns the first error, by rank. The library must run on one
 * thread (coke_set_threads). */
int fake_ranks(int size, int (*work)(const struct ck_share *share, void *arg),
               void *const *arg);

#endif
