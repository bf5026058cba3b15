/* thread.h - threads beside the OpenMP team, and the lock they wait at. */
#ifndef CK_THREAD_H
#define CK_THREAD_H

#include <pthread.h>

/* A thread that leaves signals to the others. */
struct ck_thread {
    pthread_t id;
    void (*run)(void *arg);
    void *arg;
    int started;
};

int ck_thread_start(struct ck_thread *t, void (*run)(void *arg), void *arg);
void ck_thread_join(struct ck_thread *t); /* one that was never started is fine */

/* Runs `init` in exactly one thread, however many call this with the same `once`; all return
 * after it has. For constant tables that are made of others. */
struct ck_once {
    pthread_once_t state;
};
#define CK_ONCE                                                                                \
    {                                                                                          \
        PTHREAD_ONCE_INIT                                                                      \
    }
void ck_once(struct ck_once *once, void (*init)(void));

/* A lock with one condition: something changed. */
struct ck_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

int ck_lock_init(struct ck_lock *m);
void ck_lock_release(struct ck_lock *m);
void ck_lock_acquire(struct ck_lock *m);
void ck_lock_unlock(struct ck_lock *m);
void ck_lock_wait(struct ck_lock *m); /* locked: until another thread says changed */
void ck_lock_notify(struct ck_lock *m);

#endif
