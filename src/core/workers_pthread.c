/* workers_pthread.c - the team without OpenMP, for builds without networks (COKE_NN=OFF).
 *
 * Such a library is loaded into programs that have OpenMP runtimes of their own, Python above all:
 * it adds none, and threads that wait sleep. Jobs of several calling threads share one pool. */
#include "core/cpu_quota.h"
#include "core/error.h"
#include "core/workers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 4096 };

/* A loop: on the stack of its caller, who waits until no thread is in it. */
struct loop {
    void (*fn)(void *arg, int64_t chunk, int worker);
    void *arg;
    int64_t chunks, next; /* next is taken atomically */
    int team, joined;     /* threads that may join, and have; the caller is the first */
    int active;           /* pool threads that are in it */
    struct loop *after;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER; /* a loop was added */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER; /* a thread left a loop */
static struct loop *loops;                             /* all that are running; under lock */
static int pool;                                       /* threads; under lock */
static int wanted, first, quota;                       /* as in workers.c */
static __thread int inside;                            /* this thread runs a chunk */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- fork: the child has no pool and none of the loops ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&work, NULL);
    pthread_cond_init(&left, NULL);
    loops = NULL;
    pool = 0;
}

/* ---- the size of the team ---- */

/* OMP_NUM_THREADS, which users set for all libraries; else the cores that the process may use. */
static int default_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    long n = text ? strtol(text, NULL, 10) : 0;
    cpu_set_t set;
    if (n < 1)
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                        : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST ? MOST : (int)n;
}

static void start(void)
{
    first = default_threads();
    quota = getenv("OMP_NUM_THREADS") ? 0 : ck_cpu_quota("");
    pthread_atfork(before_fork, after_fork, in_child);
}

static int within_quota(int threads)
{
    return quota && quota < threads ? quota : threads;
}

void ck_set_quota(int cores)
{
    pthread_once(&once, start);
    quota = cores;
}

int ck_set_threads(int n)
{
    if (n < 0 || n > MOST)
        return ck_fail(COKE_EUSAGE, "threads: %d is not within 0..4096 (0 = all cores)", n);
    pthread_once(&once, start);
    wanted = n;
    return COKE_OK;
}

void ck_share_cores(int sharers)
{
    pthread_once(&once, start);
    if (sharers < 2 || getenv("OMP_NUM_THREADS"))
        return;
    int each = within_quota(first) / sharers;
    first = each > 1 ? each : 1;
}

int ck_threads(void)
{
    pthread_once(&once, start);
    return wanted ? wanted : within_quota(first);
}

/* ---- loops ---- */

static void run_chunks(struct loop *l, int worker)
{
    int64_t chunk;
    inside = 1;
    while ((chunk = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED)) < l->chunks)
        l->fn(l->arg, chunk, worker);
    inside = 0;
}

/* A loop that has chunks and room for a thread, or NULL. Under lock. */
static struct loop *find_loop(void)
{
    for (struct loop *l = loops; l; l = l->after)
        if (l->joined < l->team && __atomic_load_n(&l->next, __ATOMIC_RELAXED) < l->chunks)
            return l;
    return NULL;
}

static void *serve(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        struct loop *l = find_loop();
        if (!l) {
            pthread_cond_wait(&work, &lock);
            continue;
        }
        int worker = l->joined++;
        l->active++;
        pthread_mutex_unlock(&lock);
        run_chunks(l, worker);
        pthread_mutex_lock(&lock);
        if (--l->active == 0)
            pthread_cond_broadcast(&left);
    }
    return NULL;
}

/* Grows the pool to n threads; with fewer, loops take longer. Under lock. The program's signals go
 * to its own threads; a fault belongs to the thread that causes it. */
static void grow(int n)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t detached;
    if (pool >= n || pthread_attr_init(&detached))
        return;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool < n && pthread_create(&thread, &detached, serve, NULL) == 0)
        pool++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
}

static void add_loop(struct loop *l)
{
    pthread_mutex_lock(&lock);
    grow(l->team - 1);
    l->after = loops;
    loops = l;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&lock);
}

static void end_loop(struct loop *l)
{
    struct loop **p = &loops;
    pthread_mutex_lock(&lock);
    while (*p != l)
        p = &(*p)->after;
    *p = l->after;
    while (l->active)
        pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
}

void ck_parallel(int64_t chunks, void (*fn)(void *arg, int64_t chunk, int worker), void *arg)
{
    int team = ck_threads();
    if (chunks == 1 || team == 1 || inside) {
        for (int64_t c = 0; c < chunks; c++)
            fn(arg, c, 0);
        return;
    }
    struct loop l = {
        .fn = fn, .arg = arg, .chunks = chunks, .team = chunks < team ? (int)chunks : team};
    l.joined = 1;
    add_loop(&l);
    run_chunks(&l, 0);
    end_loop(&l);
}
