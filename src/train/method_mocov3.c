/* method_mocov3.c - MoCo-v3: the prediction from a view finds the other view of its image, by an
 * averaged encoder, among the images of the batch. */
#include "core/error.h"
#include "core/mem.h"
#include "nn/contrast_loss.h"
#include "train/arrays.h"
#include "train/batch_loss.h"
#include "train/teacher.h"

#include <string.h>

struct moco {
    struct ck_teacher teacher;
    struct ck_arrays arrays;
    double *pred, *grad; /* [2][part][dim] */
    double *scratch, *key;
    float *keys; /* [max_batch][dim] of the batch of all ranks, like key */
};

static int init(struct ck_session *s)
{
    size_t dim = (size_t)s->dim, mine = 2 * (size_t)s->max_local * dim;
    struct moco *m = s->own = ck_calloc_array(1, sizeof *m);
    if (!m)
        return COKE_ENOMEM;
    m->pred = ck_arrays_doubles(&m->arrays, mine);
    m->grad = ck_arrays_doubles(&m->arrays, mine);
    m->scratch = ck_arrays_doubles(&m->arrays, (size_t)ck_contrast_scratch(s->max_batch));
    m->key = ck_arrays_doubles(&m->arrays, (size_t)s->max_batch * dim);
    m->keys = ck_arrays_floats(&m->arrays, (size_t)s->max_batch * dim);
    CK_RETURN_IF(ck_arrays_status(&m->arrays));
    return ck_teacher_init(&m->teacher, s);
}

static void release(struct ck_session *s)
{
    struct moco *m = s->own;
    if (!m)
        return;
    ck_teacher_release(&m->teacher);
    ck_arrays_release(&m->arrays);
    ck_free(m);
    s->own = NULL;
}

/* View v looks for the keys of the other view, of all ranks. */
static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct moco *m = s->own;
    double value = 0;
    int64_t one = part.n * s->dim;
    CK_RETURN_IF(ck_teacher_run(&m->teacher, s, b, part));
    ck_part_loss_widen(s->pred, 2 * one, m->pred);
    for (int v = 0; v < 2; v++) {
        memcpy(m->keys + s->ranks.first * s->dim, m->teacher.proj + (1 - v) * one,
               (size_t)one * sizeof *m->keys);
        CK_RETURN_IF(ck_ranks_gather(&s->ranks, m->keys, (size_t)s->dim * sizeof *m->keys));
        ck_part_loss_widen(m->keys, s->ranks.total * s->dim, m->key);
        struct ck_contrast c = {m->pred + v * one, m->key, part.n,
                                s->ranks.total,    s->dim, s->o.loss.temperature};
        value += ck_mocov3_loss(&c, s->ranks.first, m->scratch, m->grad + v * one);
    }
    return ck_part_loss_take(s, part, value, m->grad, 1, sums);
}

static const char *const options[] = {"temperature", "momentum-start", "momentum-end", NULL};

const struct ck_method ck_method_mocov3 = {
    .name = "mocov3",
    .about = "MoCo-v3: as mocov2 with a predictor, among the images of the batch",
    .options = options,
    .views = 2,
    .predictor = CK_PREDICTOR_NEEDED,
    .teacher = 1,
    .whole_batch = ck_batch_loss_whole,
    .init = init,
    .release = release,
    .state = ck_taught_state,
    .loaded = ck_taught_loaded,
    .begin_run = ck_taught_begin_run,
    .loss = loss,
    .after_step = ck_taught_after_step,
};
