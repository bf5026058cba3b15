/* method_dino.c - DINO: a view predicts how an averaged encoder spreads the large views of its image
 * over prototypes, after those that are frequent everywhere are subtracted. */
#include "core/error.h"
#include "core/mem.h"
#include "nn/average.h"
#include "nn/prototype_loss.h"
#include "train/batch_loss.h"
#include "train/prototypes.h"
#include "train/teacher.h"

#include <stdio.h>
#include <string.h>

struct dino {
    struct ck_teacher teacher;
    struct ck_prototypes prototypes;
    struct ck_param averaged;   /* the teacher's prototypes */
    double *center;             /* [prototypes] of the teacher's logits */
    double *seen;               /* [prototypes] sum of the logits of this step */
    struct ck_arrays arrays;
    double *target; /* [large][part][prototypes] */
    double *unit;   /* [prototypes][dim] of the teacher */
};

static int allocate(struct dino *d, const struct ck_session *s)
{
    size_t dim = (size_t)s->dim, k = (size_t)s->o.own.prototypes;
    d->averaged.value = ck_arrays_floats(&d->arrays, k * dim);
    d->center = ck_arrays_doubles(&d->arrays, k);
    d->seen = ck_arrays_doubles(&d->arrays, k);
    d->target = ck_arrays_doubles(&d->arrays, (size_t)(s->large * s->max_local) * k);
    d->unit = ck_arrays_doubles(&d->arrays, k * dim);
    return ck_arrays_status(&d->arrays);
}

static int init(struct ck_session *s)
{
    struct dino *d = s->own = ck_calloc_array(1, sizeof *d);
    if (!d)
        return COKE_ENOMEM;
    CK_RETURN_IF(allocate(d, s));
    CK_RETURN_IF(ck_teacher_init(&d->teacher, s));
    CK_RETURN_IF(ck_prototypes_init(&d->prototypes, s, 0));
    float *values = d->averaged.value;
    d->averaged = d->prototypes.param;
    d->averaged.value = values;
    snprintf(d->averaged.name, sizeof d->averaged.name, "teacher-prototypes");
    ck_average_params(&d->averaged, &d->prototypes.param, 1, 0);
    return COKE_OK;
}

static void release(struct ck_session *s)
{
    struct dino *d = s->own;
    if (!d)
        return;
    ck_teacher_release(&d->teacher);
    ck_prototypes_release(&d->prototypes);
    ck_arrays_release(&d->arrays);
    ck_free(d);
    s->own = NULL;
}

static int state(const struct ck_session *s, struct ck_state *out)
{
    const struct dino *d = s->own;
    const struct ck_param *w = &d->averaged;
    CK_RETURN_IF(ck_state_add(out, "center", CK_F64, 1, w->shape, d->center));
    CK_RETURN_IF(ck_state_add(out, w->name, CK_F32, w->ndim, w->shape, w->value));
    CK_RETURN_IF(ck_prototypes_state(&d->prototypes, out));
    return ck_taught_state(s, out);
}

static int begin_step(struct ck_session *s, const struct coke_batch *b)
{
    struct dino *d = s->own;
    (void)b;
    ck_prototypes_begin(&d->prototypes);
    ck_prototypes_unit(&d->averaged, d->unit);
    memset(d->seen, 0, (size_t)s->o.own.prototypes * sizeof *d->seen);
    return COKE_OK;
}

/* Logits and targets of the teacher; x has room for its projections. */
static int make_targets(struct ck_session *s, const struct coke_batch *b, struct ck_part part)
{
    struct dino *d = s->own;
    const struct ck_method_options *o = &s->o.own;
    int64_t k = o->prototypes, rows = s->large * part.n;
    struct ck_soft soft = {d->center,
                           ck_teacher_temperature(o->teacher_temperature_start,
                                                  o->teacher_temperature, o->teacher_warmup,
                                                  b->epoch - 1),
                           1};
    CK_RETURN_IF(ck_teacher_run(&d->teacher, s, b, part));
    ck_part_loss_widen(d->teacher.proj, rows * s->dim, d->prototypes.x);
    ck_prototype_scores(d->prototypes.x, rows, d->unit, k, s->dim, d->target);
    for (int64_t i = 0; i < rows * k; i++)
        d->seen[i % k] += d->target[i];
    ck_soft_targets(d->target, rows, k, &soft, d->target);
    return COKE_OK;
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct dino *d = s->own;
    struct ck_prototypes *p = &d->prototypes;
    double value = 0;
    CK_RETURN_IF(make_targets(s, b, part));
    ck_prototypes_score(p, s, part);
    struct ck_code_input in = {p->score, d->target, s->views,           s->large,
                               1,        part.n,    s->o.own.prototypes, s->o.loss.temperature};
    if (part.n > 0)
        value = ck_code_loss(&in, p->loss, p->grad_score);
    return ck_prototypes_take(p, s, part, value, sums);
}

/* The center follows the mean logits of the teacher, of all ranks. */
static int end_step(struct ck_session *s, const struct coke_batch *b)
{
    struct dino *d = s->own;
    int64_t k = s->o.own.prototypes;
    double rows = (double)s->large * (double)s->ranks.total;
    (void)b;
    CK_RETURN_IF(ck_group_sum_f64(s->ranks.group, d->seen, k));
    for (int64_t j = 0; j < k; j++)
        d->center[j] = ck_average_of(d->center[j], d->seen[j] / rows, s->o.own.center_momentum);
    return ck_prototypes_end(&d->prototypes, s);
}

static int after_step(struct ck_session *s, const struct coke_batch *b)
{
    struct dino *d = s->own;
    CK_RETURN_IF(ck_prototypes_step(&d->prototypes, s, b));
    double tau = ck_teacher_follow(&d->teacher, s, b);
    ck_average_params(&d->averaged, &d->prototypes.param, 1, tau);
    return COKE_OK;
}

static const char *const options[] = {"temperature",
                                      "momentum-start",
                                      "momentum-end",
                                      "prototypes",
                                      "freeze-prototypes",
                                      "teacher-temperature",
                                      "teacher-temperature-start",
                                      "teacher-warmup",
                                      "center-momentum",
                                      NULL};

const struct ck_method ck_method_dino = {
    .name = "dino",
    .about = "DINO: predict the prototypes that an averaged encoder gives the other views",
    .options = options,
    .predictor = CK_PREDICTOR_NONE,
    .teacher = 1,
    .check = ck_prototypes_check,
    .init = init,
    .release = release,
    .state = state,
    .loaded = ck_taught_loaded,
    .begin_run = ck_taught_begin_run,
    .begin_step = begin_step,
    .loss = loss,
    .end_step = end_step,
    .after_step = after_step,
};
