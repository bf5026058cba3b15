/* thread.c - threads besides the OpenMP team, and a lock with a condition. */
#include "core/thread.h"
#include "core/error.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static void *enter(void *p)
{
    struct ck_thread *t = p;
    t->run(t->arg);
    return NULL;
}

/* The new thread inherits the signal mask, hence the block around its creation. */
int ck_thread_start(struct ck_thread *t, void (*run)(void *arg), void *arg)
{
    sigset_t all, before;
    t->run = run;
    t->arg = arg;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&t->id, NULL, enter, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    t->started = error == 0;
    t->process = getpid();
    if (error)
        return ck_fail(COKE_EFAIL, "cannot start a thread: %s", strerror(error));
    return COKE_OK;
}

int ck_thread_lost(const struct ck_thread *t)
{
    return t->started && t->process != getpid();
}

void ck_thread_join(struct ck_thread *t)
{
    if (t->started && !ck_thread_lost(t))
        pthread_join(t->id, NULL);
    t->started = 0;
}

void ck_once(struct ck_once *once, void (*init)(void))
{
    pthread_once(&once->state, init);
}

int ck_lock_init(struct ck_lock *m)
{
    int error = pthread_mutex_init(&m->mutex, NULL);
    if (error)
        return ck_fail(COKE_EFAIL, "cannot create a lock: %s", strerror(error));
    error = pthread_cond_init(&m->changed, NULL);
    if (!error)
        return COKE_OK;
    pthread_mutex_destroy(&m->mutex);
    return ck_fail(COKE_EFAIL, "cannot create a lock: %s", strerror(error));
}

void ck_lock_release(struct ck_lock *m)
{
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->mutex);
}

void ck_lock_acquire(struct ck_lock *m)
{
    pthread_mutex_lock(&m->mutex);
}

void ck_lock_unlock(struct ck_lock *m)
{
    pthread_mutex_unlock(&m->mutex);
}

void ck_lock_wait(struct ck_lock *m)
{
    pthread_cond_wait(&m->changed, &m->mutex);
}

void ck_lock_notify(struct ck_lock *m)
{
    pthread_cond_broadcast(&m->changed);
}
