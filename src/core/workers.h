/* workers.h - the OpenMP team: its size, and loops whose chunks do not depend on it.
 *
 * The team size is global to the process; set it while no parallel loop runs. A child of fork()
 * starts a team of its own. */
#ifndef CK_WORKERS_H
#define CK_WORKERS_H

#include <stdint.h>

/* 0 = all cores that the affinity mask and the CPU quota of a cgroup allow, or OMP_NUM_THREADS */
int ck_set_threads(int n);
void ck_set_quota(int cores); /* for tests, in place of the cgroup's; 0 = none */
int ck_threads(void);         /* current team size */
/* `sharers` processes share these cores: the default team size becomes cores / sharers, unless
 * OMP_NUM_THREADS is set. Called once, when the process joins its group. */
void ck_share_cores(int sharers);

/* Calls fn(arg, chunk, worker) for every chunk 0..chunks-1, in any order, on the team; worker <
 * ck_threads() is an index for scratch space. fn must not depend on which worker it runs on.
 * Nested calls run all chunks on the calling thread, as worker 0. */
void ck_parallel(int64_t chunks, void (*fn)(void *arg, int64_t chunk, int worker), void *arg);

/* ---- builds with networks only ---- */

/* While on, the calling thread has no team: ck_threads() is 1, and what it creates and runs, oneDNN
 * included, is for one thread. Returns what it was. */
int ck_set_alone(int on);
/* Calls fn(arg, task) for every task 0..tasks-1, each on one thread, which is alone. */
void ck_lanes(int64_t tasks, void (*fn)(void *arg, int64_t task), void *arg);

#endif
