/* queue.c - the last rows that were pushed, first in, first out. */
#include "nn/queue.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int ck_queue_init(struct ck_queue *q, int64_t n, int dim)
{
    *q = (struct ck_queue){NULL, n, dim, 0};
    q->row = ck_calloc_array((size_t)n, (size_t)dim * sizeof *q->row);
    return q->row ? COKE_OK : COKE_ENOMEM;
}

void ck_queue_release(struct ck_queue *q)
{
    ck_free(q->row);
    *q = (struct ck_queue){0};
}

/* Rounded to float32, as the rows that are pushed in a training. */
void ck_queue_fill(struct ck_queue *q, uint64_t seed)
{
    for (int64_t i = 0; i < q->n; i++) {
        double *x = q->row + i * q->dim, square = 0, two[2];
        for (int j = 0; j < q->dim; j++) {
            ck_rng_normal(seed, CK_RNG_INIT, (uint64_t)i, (uint32_t)j, two);
            x[j] = two[0];
            square += x[j] * x[j];
        }
        for (int j = 0; j < q->dim; j++)
            x[j] = (double)(float)(x[j] / sqrt(square));
    }
}

void ck_queue_push(struct ck_queue *q, const double *x, int64_t count, int cut)
{
    for (int64_t i = 0; i < count && q->n > 0; i++) {
        memcpy(q->row + q->at * q->dim, x + i * q->dim, (size_t)q->dim * sizeof *x);
        q->at = (q->at + 1) % q->n;
        if (cut && q->at == 0)
            return;
    }
}

int ck_queue_state(const struct ck_queue *q, const char *name, struct ck_state *out)
{
    char at[64];
    snprintf(at, sizeof at, "%s.at", name);
    CK_RETURN_IF(ck_state_add(out, name, CK_F64, 2, (int64_t[]){q->n, q->dim}, q->row));
    return ck_state_add(out, at, CK_I64, 1, (int64_t[]){1}, &q->at);
}
