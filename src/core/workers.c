/* workers.c - the OpenMP team: its size, and loops whose chunks do not depend on it. */
#include "core/workers.h"
#include "core/cpu_quota.h"
#include "core/error.h"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

static int wanted; /* 0 = the default of OpenMP */
static int first;  /* that default; 0 = not yet known */
static int quota;  /* cores that the cgroup allows; 0 = no limit */
static int lonely; /* a child of fork that cannot have a team */
static _Thread_local int alone;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* omp_pause_resource_all of OpenMP 5. A reference to it would keep the library from being loaded
 * after the libgomp that torch's wheels bring, which is older; NULL with that one. */
static int (*pause_all)(omp_pause_resource_t kind);

/* libgomp does not survive fork(): the child would wait for threads that only the parent has.
 * The forking thread ends its team first; both processes start a new one when they need it. In
 * a parallel region this does nothing. */
static void before_fork(void)
{
    if (pause_all)
        pause_all(omp_pause_soft);
}

static void in_child(void)
{
    lonely = !pause_all;
    if (lonely)
        omp_set_num_threads(1); /* for oneDNN */
}

/* OpenMP knows the affinity mask but no quota: a team beyond it is stopped for most of each
 * period. OMP_NUM_THREADS is the user's word. */
static void begin(void)
{
    *(void **)&pause_all = dlsym(RTLD_DEFAULT, "omp_pause_resource_all");
    pthread_atfork(before_fork, NULL, in_child);
    quota = getenv("OMP_NUM_THREADS") ? 0 : ck_cpu_quota("");
}

static int within_quota(int threads)
{
    return quota && quota < threads ? quota : threads;
}

void ck_set_quota(int cores)
{
    pthread_once(&once, begin);
    quota = cores;
}

int ck_set_threads(int n)
{
    if (n < 0 || n > 4096)
        return ck_fail(COKE_EUSAGE, "threads: %d is not within 0..4096 (0 = all cores)", n);
    pthread_once(&once, begin);
    if (!first)
        first = omp_get_max_threads();
    wanted = n;
    if (!lonely)
        omp_set_num_threads(n ? n : within_quota(first)); /* oneDNN takes its team from OpenMP */
    return COKE_OK;
}

void ck_share_cores(int sharers)
{
    if (sharers < 2 || lonely || getenv("OMP_NUM_THREADS"))
        return;
    pthread_once(&once, begin);
    first = within_quota(omp_get_max_threads()) / sharers;
    first = first > 1 ? first : 1;
    if (!wanted)
        omp_set_num_threads(first);
}

int ck_threads(void)
{
    pthread_once(&once, begin);
    if (lonely || alone)
        return 1;
    return wanted ? wanted : within_quota(omp_get_max_threads());
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

/* The number of threads that OpenMP keeps per task is what oneDNN asks for. */
int ck_set_alone(int on)
{
    static _Thread_local int team; /* that the thread has when it is not alone */
    int before = alone;
    if (on == before)
        return before;
    if (on)
        team = omp_get_max_threads();
    alone = on;
    omp_set_num_threads(on ? 1 : team);
    return before;
}

void ck_lanes(int64_t tasks, void (*fn)(void *arg, int64_t task), void *arg)
{
    int64_t team = ck_threads() < tasks ? ck_threads() : tasks;
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)team)
    for (int64_t i = 0; i < tasks; i++) {
        int before = ck_set_alone(1);
        fn(arg, i);
        ck_set_alone(before);
    }
}
