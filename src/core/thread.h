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

/* A lock with one condition: something changed. */
struct ck_monitor {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

int ck_monitor_init(struct ck_monitor *m);
void ck_monitor_release(struct ck_monitor *m);
void ck_monitor_lock(struct ck_monitor *m);
void ck_monitor_unlock(struct ck_monitor *m);
void ck_monitor_wait(struct ck_monitor *m); /* locked: until another thread says changed */
void ck_monitor_changed(struct ck_monitor *m);

#endif
