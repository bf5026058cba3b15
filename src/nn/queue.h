/* queue.h - the last rows that were pushed, first in, first out. */
#ifndef CK_QUEUE_H
#define CK_QUEUE_H

#include "core/state.h"

struct ck_queue {
    double *row; /* [n][dim], owned */
    int64_t n;
    int dim;
    int64_t at; /* where the next row is written */
};

/* n rows of zeros. A zeroed struct is an empty queue. */
int ck_queue_init(struct ck_queue *q, int64_t n, int dim);
void ck_queue_release(struct ck_queue *q);
/* Fills it with random unit vectors, a function of the seed. */
void ck_queue_fill(struct ck_queue *q, uint64_t seed);

/* x [count][dim] in order, each in place of the oldest row. cut: rows that would not fit before
 * the end are dropped, and the next push begins at the first row. */
void ck_queue_push(struct ck_queue *q, const double *x, int64_t count, int cut);

/* Adds its tensors NAME and NAME.at, borrowed. */
int ck_queue_state(const struct ck_queue *q, const char *name, struct ck_state *out);

#endif
