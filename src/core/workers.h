/* workers.h - the OpenMP team: how many, and loops whose chunks do not depend on it. */
#ifndef CK_WORKERS_H
#define CK_WORKERS_H

#include <stdint.h>

int ck_set_threads(int n); /* 0 = all cores */
int ck_threads(void);      /* team size in use */
/* So many processes run on the same cores: "all" of them are this process's part. A number in
 * OMP_NUM_THREADS stands. */
void ck_share_cores(int sharers);

/* Calls fn(arg, chunk, worker) for every chunk 0..chunks-1, in any order, on the team;
 * worker < ck_threads() names scratch space. fn may not depend on which worker it runs on.
 * Called by fn, it runs all chunks on the worker that calls, as worker 0. */
void ck_parallel(int64_t chunks, void (*fn)(void *arg, int64_t chunk, int worker), void *arg);

#endif
