/* group.h - the processes of a job and what they tell each other.
 *
 * Every function here but the first few is called by all processes, in the same order. Sums are
 * added up here, short ones in a fixed tree, long ones in the order of the processes: the
 * result is the same on each, and the same in every run with as many of them, however MPI moves
 * the bytes. */
#ifndef CK_GROUP_H
#define CK_GROUP_H

#include "dist/transport.h"

struct ck_group;

/* This process with the others that a launcher (mpirun, srun) started with it, or alone. */
struct ck_group *ck_group(void);
int ck_group_rank(const struct ck_group *c);
int ck_group_size(const struct ck_group *c);

/* Looks for a launcher and joins the others through MPI; without one, nothing happens. */
int ck_group_join(void);
/* After success all leave together; with an exit code all are ended, wherever they are. */
int ck_group_leave(int code);

int ck_group_barrier(struct ck_group *c);
/* data [bytes], a multiple of four, as process `root` has it. */
int ck_group_broadcast(struct ck_group *c, void *data, int64_t bytes, int root);
/* Parts of bytes[rank] bytes, multiples of four, one after the other in `all`; mine may be
 * there already. */
int ck_group_gather(struct ck_group *c, const void *mine, void *all, const int64_t *bytes);
/* The same, one process after the other in pieces: for 8 GB or more, where MPI's integers end.
 */
int ck_group_gather_in_turns(struct ck_group *c, const void *mine, void *all,
                             const int64_t *bytes);
/* The same with parts of one size. */
int ck_group_gather_equal(struct ck_group *c, const void *mine, void *all, int64_t bytes);
int ck_group_sum_f64(struct ck_group *c, double *v, int64_t n);
int ck_group_sum_i64(struct ck_group *c, int64_t *v, int64_t n);

/* ---- sums that go on meanwhile ---- */

/* A sum of f32 that is under way: first every process gets its piece of all the others and adds
 * it up, then the pieces are collected. */
struct ck_sum {
    float *data; /* [n] in and out */
    int64_t n;
    float *parts; /* [size][largest piece] */
    void *request;
    int stage;
};

int ck_sum_init(struct ck_sum *s, const struct ck_group *c, int64_t n);
void ck_sum_release(struct ck_sum *s);
/* Sums are begun in the same order by all, and their second stages too: a sum is polled after
 * the one before it is beyond its first. */
int ck_sum_begin(struct ck_sum *s, struct ck_group *c);
/* wait: comes back when this stage is over. */
int ck_sum_advance(struct ck_sum *s, struct ck_group *c, int wait);
enum { CK_SUM_IDLE, CK_SUM_SCATTER, CK_SUM_COLLECT, CK_SUM_DONE };

/* ---- what it costs ---- */

struct ck_group_stats {
    double seconds;        /* in which this process waited for others */
    double hidden, waited; /* of the gradients' way: behind the backward pass, and not */
    int64_t gathered, summed, reduced; /* bytes sent by gather, sum_*, ck_sum */
};

struct ck_group_stats ck_group_stats(const struct ck_group *c);
/* What was added since then. */
struct ck_group_stats ck_group_stats_since(const struct ck_group *c,
                                           struct ck_group_stats then);
void ck_group_note_overlap(struct ck_group *c, double hidden, double waited); /* seconds */

#endif
