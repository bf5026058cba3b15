/* method_byol.c - BYOL: the prediction from one view is the other view's projection by an averaged
 * encoder. */
#include "core/error.h"
#include "core/mem.h"
#include "nn/pair_loss.h"
#include "train/arrays.h"
#include "train/batch_loss.h"
#include "train/teacher.h"

struct byol {
    struct ck_teacher teacher;
    struct ck_arrays arrays;
    double *pred, *target, *grad; /* [2][part][dim] */
};

static int init(struct ck_session *s)
{
    size_t all = (size_t)(2 * s->max_local * s->dim);
    struct byol *y = s->own = ck_calloc_array(1, sizeof *y);
    if (!y)
        return COKE_ENOMEM;
    y->pred = ck_arrays_doubles(&y->arrays, all);
    y->target = ck_arrays_doubles(&y->arrays, all);
    y->grad = ck_arrays_doubles(&y->arrays, all);
    CK_RETURN_IF(ck_arrays_status(&y->arrays));
    return ck_teacher_init(&y->teacher, s);
}

static void release(struct ck_session *s)
{
    struct byol *y = s->own;
    if (!y)
        return;
    ck_teacher_release(&y->teacher);
    ck_arrays_release(&y->arrays);
    ck_free(y);
    s->own = NULL;
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct byol *y = s->own;
    int64_t all = 2 * part.n * s->dim;
    CK_RETURN_IF(ck_teacher_run(&y->teacher, s, b, part));
    ck_part_loss_widen(s->pred, all, y->pred);
    ck_part_loss_widen(y->teacher.proj, all, y->target);
    double value = ck_byol_loss(y->pred, y->target, part.n, s->dim, y->grad);
    return ck_part_loss_take(s, part, value, y->grad, 1, sums);
}

static const char *const options[] = {"momentum-start", "momentum-end", NULL};

const struct ck_method ck_method_byol = {
    .name = "byol",
    .about = "BYOL: predict the other view's projection by an averaged encoder",
    .options = options,
    .views = 2,
    .predictor = CK_PREDICTOR_NEEDED,
    .teacher = 1,
    .init = init,
    .release = release,
    .state = ck_taught_state,
    .loaded = ck_taught_loaded,
    .begin_run = ck_taught_begin_run,
    .loss = loss,
    .after_step = ck_taught_after_step,
};
