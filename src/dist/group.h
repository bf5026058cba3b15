/* group.h - collective communication of the processes of a job.
 *
 * Everything but rank, size and statistics is collective: every process makes the same calls in
 * the same order, from one thread. Additions are done here and not by MPI: short sums in a
 * fixed tree, long ones in rank order. So the result is bitwise the same on every process and
 * in every run with the same number of processes, however MPI moves the bytes. A communication
 * failure is COKE_ELOST, after which the group is unusable. */
#ifndef CK_GROUP_H
#define CK_GROUP_H

#include "dist/transport.h"

struct ck_group;

/* The group of this process: with the others that a launcher (mpirun, srun) started, or alone
 * before ck_group_join. One per process, never freed. */
struct ck_group *ck_group(void);
int ck_group_rank(const struct ck_group *c);
int ck_group_size(const struct ck_group *c);

/* Detects a launcher and connects through MPI; does nothing without one. Call it once,
 * early. */
int ck_group_join(void);
/* Is the loss of a process noticed by the others (dist/watch.h)? Every function that waits then
 * returns COKE_ELOST. */
int ck_group_is_watched(const struct ck_group *c);
/* code 0: all processes leave together. Otherwise ends all processes of the job with this exit
 * code. */
int ck_group_leave(int code);

int ck_group_barrier(struct ck_group *c);
/* Copies data [bytes] of process `root` to all; bytes is a multiple of four. */
int ck_group_broadcast(struct ck_group *c, void *data, int64_t bytes, int root);
/* All-gather: parts of bytes[rank] bytes, multiples of four, concatenated in `all`; mine may
 * already be in its place. */
int ck_group_gather(struct ck_group *c, const void *mine, void *all, const int64_t *bytes);
/* The same by broadcasts of one part after the other, for 8 GB or more, where MPI's int
 * overflows. ck_group_gather calls it when needed. */
int ck_group_gather_in_turns(struct ck_group *c, const void *mine, void *all,
                             const int64_t *bytes);
/* ck_group_gather for parts of equal size. */
int ck_group_gather_equal(struct ck_group *c, const void *mine, void *all, int64_t bytes);
/* All-reduce in place: v [n] becomes the sum over the processes. */
int ck_group_sum_f64(struct ck_group *c, double *v, int64_t n);
int ck_group_sum_i64(struct ck_group *c, int64_t *v, int64_t n);

/* ---- asynchronous sums ---- */

/* An all-reduce of f32 in two stages: reduce-scatter (each process receives and adds its piece
 * of all others), then all-gather of the pieces. Owns its buffers; reusable after it is
 * done. */
struct ck_sum {
    float *data; /* [n] in and out */
    int64_t n;
    float *parts;  /* [size][largest piece] */
    void *request; /* of the transport, while a stage is in progress */
    int stage;     /* CK_SUM_ below */
};

int ck_sum_init(struct ck_sum *s, const struct ck_group *c, int64_t n);
void ck_sum_release(struct ck_sum *s);
/* All processes must begin sums in the same order, and their second stages as well: advance a
 * sum only after the one before it has passed its first stage. */
int ck_sum_begin(struct ck_sum *s, struct ck_group *c);
/* Polls, or with `wait` blocks until the current stage ends, and starts the next stage. */
int ck_sum_advance(struct ck_sum *s, struct ck_group *c, int wait);
enum { CK_SUM_IDLE, CK_SUM_SCATTER, CK_SUM_COLLECT, CK_SUM_DONE };

/* ---- statistics ---- */

/* Of this process. */
struct ck_group_stats {
    double seconds;        /* spent waiting for others */
    double hidden, waited; /* gradient all-reduce: overlapped with the backward pass, and not */
    int64_t gathered, summed, reduced; /* bytes sent by gather, sum_*, ck_sum */
};

struct ck_group_stats ck_group_stats(const struct ck_group *c);
/* The increase since `then`. */
struct ck_group_stats ck_group_stats_since(const struct ck_group *c,
                                           struct ck_group_stats then);
void ck_group_note_overlap(struct ck_group *c, double hidden, double waited); /* seconds */

#endif
