/* thread.h - threads besides the OpenMP team, and a lock with a condition. */
#ifndef CK_THREAD_H
#define CK_THREAD_H

#include <pthread.h>
#include <sys/types.h>

/* A thread with all signals blocked, so that the caller's threads handle them. The struct must
 * stay in place until the join. A child of fork() does not inherit it. */
struct ck_thread {
    pthread_t id;
    pid_t process; /* that it was started in */
    void (*run)(void *arg);
    void *arg;
    int started;
};

int ck_thread_start(struct ck_thread *t, void (*run)(void *arg), void *arg);
void ck_thread_join(struct ck_thread *t); /* does nothing if it was never started */
/* Whether it was started before fork(), in the parent: what it worked on may be incomplete, and
 * locks that it held stay locked. */
int ck_thread_lost(const struct ck_thread *t);

/* Runs `init` in exactly one thread, however many threads call this with the same `once`; all
 * return after it has run. For constant tables that are composed of others. */
struct ck_once {
    pthread_once_t state;
};
#define CK_ONCE                                                                                \
    {                                                                                          \
        PTHREAD_ONCE_INIT                                                                      \
    }
void ck_once(struct ck_once *once, void (*init)(void));

/* A mutex with one condition: the protected state changed. */
struct ck_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

int ck_lock_init(struct ck_lock *m);
void ck_lock_release(struct ck_lock *m); /* destroys it; no thread may use it any more */
void ck_lock_acquire(struct ck_lock *m);
void ck_lock_unlock(struct ck_lock *m);
/* Call with the lock held. Unlocks it until another thread notifies; may wake spuriously, so
 * check the state in a loop. */
void ck_lock_wait(struct ck_lock *m);
/* Wakes all waiting threads. */
void ck_lock_notify(struct ck_lock *m);

#endif
