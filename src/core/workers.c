/* workers.c - the OpenMP team: its size, and loops whose chunks do not depend on it. */
#include "core/workers.h"
#include "core/error.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

static int wanted; /* 0 = the default of OpenMP */
static int first;  /* that default; 0 = not yet known */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* libgomp does not survive fork(): the child would wait for threads that only the parent has.
 * The forking thread ends its team first; both processes start a new one when they need it. In
 * a parallel region this does nothing. */
static void before_fork(void)
{
    omp_pause_resource_all(omp_pause_soft);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, NULL, NULL);
}

int ck_set_threads(int n)
{
    if (n < 0 || n > 4096)
        return ck_fail(COKE_EUSAGE, "threads: %d is not within 0..4096 (0 = all cores)", n);
    pthread_once(&once, watch_forks);
    if (!first)
        first = omp_get_max_threads();
    wanted = n;
    omp_set_num_threads(n ? n : first); /* oneDNN takes its team from OpenMP */
    return COKE_OK;
}

void ck_share_cores(int sharers)
{
    if (sharers < 2 || getenv("OMP_NUM_THREADS"))
        return;
    first = omp_get_max_threads() / sharers;
    first = first > 1 ? first : 1;
    if (!wanted)
        omp_set_num_threads(first);
}

int ck_threads(void)
{
    pthread_once(&once, watch_forks);
    return wanted ? wanted : omp_get_max_threads();
}

/* Chunks are dealt dynamically: their results must not depend on the order. */
void ck_parallel(int64_t chunks, void (*fn)(void *arg, int64_t chunk, int worker), void *arg)
{
    int team = ck_threads();
    if (chunks == 1 || team == 1 || omp_in_parallel()) {
        for (int64_t c = 0; c < chunks; c++)
            fn(arg, c, 0);
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
    for (int64_t c = 0; c < chunks; c++)
        fn(arg, c, omp_get_thread_num());
}
