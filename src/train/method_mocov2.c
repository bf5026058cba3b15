/* method_mocov2.c - MoCo-v2: a view finds the other view of its image, by an averaged encoder,
 * among the images of earlier batches. */
#include "core/error.h"
#include "core/mem.h"
#include "nn/contrast_loss.h"
#include "nn/queue.h"
#include "train/arrays.h"
#include "train/batch_loss.h"
#include "train/teacher.h"

#include <stdio.h>
#include <string.h>

/* Both directions: view v looks for key 1 - v. One: the view for the key that the teacher has of
 * the other view. There is a queue per key. */
struct moco {
    struct ck_teacher teacher;
    struct ck_arrays arrays;
    double *query, *key, *grad; /* [teacher.views][part][dim] */
    double *scratch;
    float *keys;    /* [teacher.views][max_batch][dim] of the batch of all ranks */
    double *pushed; /* [max_batch][dim] */
    struct ck_queue queue[2];
};

static int skip(const struct ck_train_options *o)
{
    return o->own.symmetric ? 0 : 1;
}

static int check(const struct ck_train_options *o)
{
    return o->own.queue < 1 ? ck_fail(COKE_EUSAGE, "queue: method mocov2 needs one; use 4096")
                            : COKE_OK;
}

static int init(struct ck_session *s)
{
    struct moco *m = s->own = ck_calloc_array(1, sizeof *m);
    if (!m)
        return COKE_ENOMEM;
    CK_RETURN_IF(ck_teacher_init(&m->teacher, s));
    size_t dim = (size_t)s->dim, mine = (size_t)(m->teacher.views * s->max_local) * dim;
    m->query = ck_arrays_doubles(&m->arrays, mine);
    m->key = ck_arrays_doubles(&m->arrays, mine);
    m->grad = ck_arrays_doubles(&m->arrays, mine);
    m->scratch = ck_arrays_doubles(&m->arrays, (size_t)ck_contrast_scratch(s->o.own.queue));
    m->keys = ck_arrays_floats(&m->arrays, (size_t)(m->teacher.views * s->max_batch) * dim);
    m->pushed = ck_arrays_doubles(&m->arrays, (size_t)s->max_batch * dim);
    CK_RETURN_IF(ck_arrays_status(&m->arrays));
    for (int v = 0; v < m->teacher.views; v++) {
        CK_RETURN_IF(ck_queue_init(&m->queue[v], s->o.own.queue, s->dim));
        ck_queue_fill(&m->queue[v], (uint64_t)(s->o.encoder.seed + v));
    }
    return COKE_OK;
}

static void release(struct ck_session *s)
{
    struct moco *m = s->own;
    if (!m)
        return;
    ck_teacher_release(&m->teacher);
    ck_queue_release(&m->queue[0]);
    ck_queue_release(&m->queue[1]);
    ck_arrays_release(&m->arrays);
    ck_free(m);
    s->own = NULL;
}

static int state(const struct ck_session *s, struct ck_state *out)
{
    const struct moco *m = s->own;
    static const char *const names[] = {"queue.0", "queue.1"};
    for (int v = 0; v < m->teacher.views; v++)
        CK_RETURN_IF(ck_queue_state(&m->queue[v], names[v], out));
    return ck_taught_state(s, out);
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct moco *m = s->own;
    int views = m->teacher.views;
    int64_t one = part.n * s->dim, at = (s->ranks.first + part.from) * s->dim;
    double value = 0;
    CK_RETURN_IF(ck_teacher_run(&m->teacher, s, b, part));
    ck_part_loss_widen(s->proj, views * one, m->query);
    ck_part_loss_widen(m->teacher.proj, views * one, m->key);
    for (int v = 0; v < views; v++) {
        int other = views - 1 - v;
        struct ck_contrast c = {
            m->query + v * one,   m->queue[other].row, part.n, m->queue[other].n, s->dim,
            s->o.loss.temperature};
        value += ck_queue_loss(&c, m->key + other * one, m->scratch, m->grad + v * one) / views;
        memcpy(m->keys + v * s->max_batch * s->dim + at, m->teacher.proj + v * one,
               (size_t)one * sizeof *m->keys);
    }
    for (int64_t i = 0; i < views * one; i++)
        m->grad[i] /= views;
    return ck_part_loss_take(s, part, value, m->grad, 0, sums);
}

/* Every rank pushes the keys of all, in the order of the batch. */
static int end_step(struct ck_session *s, const struct coke_batch *b)
{
    struct moco *m = s->own;
    (void)b;
    for (int v = 0; v < m->teacher.views; v++) {
        float *keys = m->keys + v * s->max_batch * s->dim;
        CK_RETURN_IF(ck_ranks_gather(&s->ranks, keys, (size_t)s->dim * sizeof *keys));
        ck_part_loss_widen(keys, s->ranks.total * s->dim, m->pushed);
        ck_queue_push(&m->queue[v], m->pushed, s->ranks.total, 0);
    }
    return COKE_OK;
}

static const char *const options[] = {"temperature", "momentum-start", "momentum-end",
                                      "queue",       "symmetric",      NULL};

const struct ck_method ck_method_mocov2 = {
    .name = "mocov2",
    .about = "MoCo-v2: find the other view, by an averaged encoder, among earlier images",
    .options = options,
    .views = 2,
    .predictor = CK_PREDICTOR_NONE,
    .teacher = 1,
    .skip = skip,
    .check = check,
    .init = init,
    .release = release,
    .state = state,
    .loaded = ck_taught_loaded,
    .begin_run = ck_taught_begin_run,
    .loss = loss,
    .end_step = end_step,
    .after_step = ck_taught_after_step,
};
