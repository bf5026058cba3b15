/* watch.h - notices when another process of the job is gone.
 *
 * MPI does not tell: under launchers that do not end the whole job, those that wait for a lost
 * process would wait forever. The processes therefore form a ring of TCP connections that carry
 * nothing as long as all is well. When a process ends, its kernel closes its connections,
 * however it ended; a process that is slow or stopped keeps them. A lost machine does not answer
 * the kernel's keep-alive messages. A thread of each process sleeps until one of these happens
 * and passes the news on, so that it reaches all within milliseconds.
 *
 * COKE_LOST_SECONDS (5..86400, 60 by default) is how long it may take from the end of a process
 * to that of the last survivor: one half for the keep-alive of a lost machine, the other for the
 * survivor to leave by itself. Then the thread ends the process with the exit code. Before the
 * ring is closed, while MPI starts, nothing tells a lost process from a late one: the start may
 * take CK_WATCH_START times as long. */
#ifndef CK_WATCH_H
#define CK_WATCH_H

#include "core/thread.h"

#include <stdint.h>

struct ck_watch;

/* Where a process listens; the group exchanges these as bytes. */
enum { CK_WATCH_ADDRESSES = 6 };
struct ck_watch_place {
    uint64_t token; /* random: who knows it is of the job */
    char host[64];
    uint32_t address[CK_WATCH_ADDRESSES]; /* IPv4, network order; 0 = none */
    uint32_t port;                        /* network order; 0: it cannot be watched */
    uint32_t unused;
};

/* The value of COKE_LOST_SECONDS. */
int ck_watch_seconds(int *out);

/* Ends this process with an exit code unless it is released within `seconds`: around a call that
 * waits for the others or the launcher and has no time limit. Zeroed = not in use. */
enum { CK_WATCH_START = 10, CK_WATCH_END = 5 }; /* CK_WATCH_END: for the launcher to end the job */
struct ck_guard {
    struct ck_thread thread;
    int wake; /* descriptor */
    int seconds, code;
};
int ck_guard_init(struct ck_guard *g, int seconds, int code);
void ck_guard_release(struct ck_guard *g);

/* First step: listens. A network that cannot be used is no error, but place->port 0. */
int ck_watch_new(struct ck_watch **out, int rank, int size, int seconds,
                 struct ck_watch_place *place);
/* Second: connects to the next process, which need not be awake. places [size]. Returns 1 if it
 * succeeded, else 0. */
int ck_watch_connect(struct ck_watch *w, const struct ck_watch_place *places);
/* Third, if all succeeded: takes the connection of the process before. Returns as the second. */
int ck_watch_accept(struct ck_watch *w);
/* Fourth, if all succeeded: the thread. */
int ck_watch_begin(struct ck_watch *w);

/* The process that is gone, or -1. Cheap, for loops that wait; NULL is fine. Any thread. */
int ck_watch_lost(const struct ck_watch *w);

/* Before this process ends the job with an exit code: the others have CK_WATCH_END seconds to be
 * ended by the launcher, then they end themselves with the same code. */
void ck_watch_announce(struct ck_watch *w, int code);
/* Ends this process at once; the others notice. Does not return. */
void ck_watch_quit(struct ck_watch *w, int code);
/* Says goodbye: the others do not miss this process. */
void ck_watch_free(struct ck_watch *w);

#endif
