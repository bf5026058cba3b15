/* golden_queue.c - recorded losses of BYOL, MoCo-v3 and methods with a queue: value, gradients and the
 * queue after every step. */
#include "golden_method.h"
#include "nn/contrast_loss.h"
#include "nn/pair_loss.h"
#include "nn/queue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is(const struct replay *p, const char *name)
{
    return strcmp(p->name, name) == 0;
}

int golden_replay_byol(struct replay *p)
{
    int64_t rows = p->views * p->n, all = rows * p->dim;
    double *pred = replay_read(p, all, "pred_raw"), *target = replay_read(p, all, "target_raw");
    if (!pred || !target)
        return golden_refuse(p->r, "pred_raw or target_raw is missing or of another size");
    double *q = replay_unit(pred, rows, p->dim), *z = replay_unit(target, rows, p->dim);
    double *g = replay_room(all);
    double loss = is(p, "sum") ? ck_byol_loss(q, z, p->n, p->dim, g)
                               : ck_cosine_loss(q, z, p->n, p->dim, g);
    replay_through_length(pred, rows, p->dim, g);
    int rc = replay_close(p, "loss", &loss) || replay_close(p, "grad_pred", g) ? -1 : 0;
    free(pred);
    free(target);
    free(q);
    free(z);
    free(g);
    return rc;
}

/* View v looks for the target of the other one in the batch. */
int golden_replay_mocov3(struct replay *p)
{
    int64_t rows = p->views * p->n, all = rows * p->dim, one = p->n * p->dim;
    double *pred = replay_read(p, all, "pred_raw"), *target = replay_read(p, all, "target_raw");
    if (!pred || !target || p->views != 2)
        return golden_refuse(p->r, "pred_raw or target_raw is missing or of another size");
    double *q = replay_unit(pred, rows, p->dim), *z = replay_unit(target, rows, p->dim);
    double *g = replay_room(all), *scratch = replay_room(ck_contrast_scratch(p->n)), loss = 0;
    for (int v = 0; v < 2; v++) {
        struct ck_contrast c = {q + v * one, z + (1 - v) * one,    p->n, p->n,
                                p->dim,      replay_number(p, "T")};
        loss += ck_mocov3_loss(&c, 0, scratch, g + v * one);
    }
    replay_through_length(pred, rows, p->dim, g);
    int rc = replay_close(p, "loss", &loss) || replay_close(p, "grad_pred", g) ? -1 : 0;
    free(pred);
    free(target);
    free(q);
    free(z);
    free(g);
    free(scratch);
    return rc;
}

/* ---- methods with a queue ---- */

/* Room for what is recorded of every step, and a queue per view. */
struct steps {
    int64_t steps, size, all, kept; /* all: values of all views, kept: of all queues */
    int queues;
    double *x, *y;    /* [steps][views][n][dim]: query and key, or projection and prediction */
    double *u, *w;    /* the same with length 1 */
    double *grad;     /* [steps][all] */
    double *loss;     /* [steps] */
    double *after;    /* [steps][kept] */
    int32_t *at, *nn; /* [steps], [steps][views][n] */
    struct ck_queue queue[2];
};

/* The queues begin as recorded; <case>_queue_init or queue_init. */
static int fill_queues(const struct replay *p, struct steps *s)
{
    const struct golden_array *a = golden_array(p->c, "%s_queue_init", p->name);
    a = a ? a : golden_array(p->c, "queue_init");
    if (!a || a->n != s->kept)
        return -1;
    for (int v = 0; v < s->queues; v++) {
        if (ck_queue_init(&s->queue[v], s->size, p->dim))
            return -1;
        for (int64_t i = 0; i < s->size * p->dim; i++)
            s->queue[v].row[i] = (double)a->f[v * s->size * p->dim + i];
    }
    return 0;
}

/* first, second: names of the inputs. */
static int begin(const struct replay *p, struct steps *s, const char *first, const char *second,
                 int views, int queues)
{
    *s = (struct steps){.steps = (int64_t)golden_number(p->c, "steps", 0), .queues = queues};
    s->size = (int64_t)(isnan(replay_number(p, "queue")) ? golden_number(p->c, "queue", 0)
                                                         : replay_number(p, "queue"));
    s->all = views * p->n * p->dim;
    s->kept = queues * s->size * p->dim;
    s->x = replay_read(p, s->steps * s->all, first);
    s->y = replay_read(p, s->steps * s->all, second);
    if (!s->x || !s->y || s->size < 1 || fill_queues(p, s))
        return golden_refuse(p->r, "%s, %s or queue_init is missing or of another size", first,
                             second);
    s->u = replay_unit(s->x, s->steps * s->all / p->dim, p->dim);
    s->w = replay_unit(s->y, s->steps * s->all / p->dim, p->dim);
    s->grad = replay_room(s->steps * s->all);
    s->loss = replay_room(s->steps);
    s->after = replay_room(s->steps * s->kept);
    s->at = calloc((size_t)s->steps, sizeof *s->at);
    s->nn = calloc((size_t)(s->steps * s->all / p->dim), sizeof *s->nn);
    return 0;
}

static void end(struct steps *s)
{
    ck_queue_release(&s->queue[0]);
    ck_queue_release(&s->queue[1]);
    free(s->x);
    free(s->y);
    free(s->u);
    free(s->w);
    free(s->grad);
    free(s->loss);
    free(s->after);
    free(s->at);
    free(s->nn);
}

/* The queues after step t. */
static void keep_queues(struct steps *s, int64_t t)
{
    for (int v = 0; v < s->queues; v++)
        memcpy(s->after + t * s->kept + v * s->kept / s->queues, s->queue[v].row,
               (size_t)(s->kept / s->queues) * sizeof *s->after);
    s->at[t] = (int32_t)s->queue[0].at;
}

static int compare_queues(struct replay *p, struct steps *s)
{
    const struct golden_array *at = golden_array(p->c, "%s_ptr_after", p->name);
    if (!at || at->n != s->steps)
        return golden_refuse(p->r, "%s_ptr_after is missing or of another size", p->name);
    return replay_close(p, "loss", s->loss) || replay_close(p, "queue_after", s->after) ||
                   golden_same_ints(p->r, at->name, s->at, at->i, at->n)
               ? -1
               : 0;
}

/* View v looks for the key of the other one; a view alone for its own. */
static void moco_step(const struct replay *p, struct steps *s, int64_t t)
{
    double *scratch = replay_room(ck_contrast_scratch(s->size));
    int64_t one = p->n * p->dim;
    for (int v = 0; v < s->queues; v++) {
        int64_t own = t * s->all + v * one, o = s->queues - 1 - v;
        struct ck_contrast c = {s->u + own, s->queue[o].row, p->n,
                                s->size,    p->dim,          golden_number(p->c, "T", NAN)};
        const double *key = s->w + t * s->all + o * one;
        s->loss[t] += ck_queue_loss(&c, key, scratch, s->grad + own) / s->queues;
        for (int64_t i = 0; i < one; i++)
            s->grad[own + i] /= s->queues;
    }
    for (int v = 0; v < s->queues; v++)
        ck_queue_push(&s->queue[v], s->w + t * s->all + v * one, p->n, 1);
    keep_queues(s, t);
    free(scratch);
}

int golden_replay_mocov2(struct replay *p)
{
    struct steps s;
    char query[64], key[64];
    int views = (int)replay_number(p, "views"), rc = 0;
    snprintf(query, sizeof query, "%s_query_raw", p->name);
    snprintf(key, sizeof key, "%s_key_raw", p->name);
    if (begin(p, &s, query, key, views, views))
        return -1;
    for (int64_t t = 0; t < s.steps; t++)
        moco_step(p, &s, t);
    replay_through_length(s.x, s.steps * s.all / p->dim, p->dim, s.grad);
    rc = compare_queues(p, &s) || replay_close(p, "grad_query", s.grad) ? -1 : 0;
    end(&s);
    return rc;
}

/* ---- NNCLR ---- */

/* Sub-case pkg keeps raw projections of view 1 and compares as SimCLR does; diag keeps unit ones of
 * view 0. nn: rows of the queue as they are. */
static void nnclr_step(const struct replay *p, struct steps *s, int64_t t, double *nn)
{
    int64_t one = p->n * p->dim, at = t * s->all, index[512];
    int pkg = is(p, "pkg");
    double *scratch =
        replay_room(ck_contrast_scratch(s->size + p->n) + ck_simclr_scratch(p->n) +
                    ck_nearest_scratch(s->size, p->dim));
    double *x = replay_room(2 * one), *g = replay_room(2 * one),
           temperature = golden_number(p->c, "T", NAN);
    double *unit = replay_unit(s->queue[0].row, s->size, p->dim);
    for (int v = 0; v < 2; v++) {
        struct ck_contrast c = {s->u + at + v * one, unit, p->n, s->size, p->dim, 1};
        double *mine = nn + at + v * one, *near, *into = s->grad + at + (1 - v) * one;
        memset(index, 0, sizeof index); /* what a failure leaves is not the recorded one */
        ck_nearest_column(&c, scratch, index);
        for (int64_t i = 0; i < one; i++)
            mine[i] = s->queue[0].row[index[i / p->dim] * p->dim + i % p->dim];
        for (int64_t i = 0; i < p->n; i++)
            s->nn[(at + v * one) / p->dim + i] = (int32_t)index[i];
        near = replay_unit(mine, p->n, p->dim);
        memcpy(x, near, (size_t)one * sizeof *x);
        memcpy(x + one, s->w + at + (1 - v) * one, (size_t)one * sizeof *x);
        c = (struct ck_contrast){x, x + one, p->n, p->n, p->dim, temperature};
        s->loss[t] += (pkg ? ck_simclr_loss(x, p->n, p->dim, temperature, scratch, g)
                           : ck_match_loss(&c, 0, scratch, NULL, g + one)) /
                      2;
        for (int64_t i = 0; i < one; i++)
            into[i] = g[one + i] / 2;
        free(near);
    }
    ck_queue_push(&s->queue[0], pkg ? s->x + at + one : s->u + at, p->n, pkg);
    keep_queues(s, t);
    free(scratch);
    free(x);
    free(g);
    free(unit);
}

int golden_replay_nnclr(struct replay *p)
{
    struct steps s;
    const struct golden_array *index = golden_array(p->c, "%s_nn_index", p->name);
    if (begin(p, &s, "proj_raw", "pred_raw", p->views, 1))
        return -1;
    if (p->n > 512 || !index || index->n != s.steps * s.all / p->dim)
        return golden_refuse(p->r, "nn_index is missing or of another size");
    double *nn = replay_room(s.steps * s.all);
    for (int64_t t = 0; t < s.steps; t++)
        nnclr_step(p, &s, t, nn);
    replay_through_length(s.y, s.steps * s.all / p->dim, p->dim, s.grad);
    int rc = compare_queues(p, &s) || replay_close(p, "nn", nn) ||
                     golden_same_ints(p->r, index->name, s.nn, index->i, index->n) ||
                     replay_close(p, "grad_pred", s.grad)
                 ? -1
                 : 0;
    free(nn);
    end(&s);
    return rc;
}
