/* method_msn.c - MSN: views predict the prototypes that an averaged encoder gives one other view of
 * the image, and all prototypes are used. */
#include "core/error.h"
#include "core/mem.h"
#include "nn/prototype_loss.h"
#include "train/batch_loss.h"
#include "train/prototypes.h"
#include "train/teacher.h"

#include <string.h>

struct msn {
    struct ck_teacher teacher; /* sees the first view alone */
    struct ck_prototypes prototypes;
    struct ck_arrays arrays;
    double *p;      /* [views][part][prototypes] softmax of the scores */
    double *target; /* [part][prototypes] */
    double *sums;   /* [prototypes] */
};

static int skip(const struct ck_train_options *o)
{
    (void)o;
    return 1;
}

static const char *whole_batch(const struct ck_train_options *o)
{
    (void)o;
    return "the targets of a batch are computed together";
}

static int init(struct ck_session *s)
{
    size_t n = (size_t)s->max_local, k = (size_t)s->o.own.prototypes;
    struct msn *m = s->own = ck_calloc_array(1, sizeof *m);
    if (!m)
        return COKE_ENOMEM;
    m->p = ck_arrays_doubles(&m->arrays, (size_t)s->views * n * k);
    m->target = ck_arrays_doubles(&m->arrays, n * k);
    m->sums = ck_arrays_doubles(&m->arrays, k);
    CK_RETURN_IF(ck_arrays_status(&m->arrays));
    CK_RETURN_IF(ck_teacher_init(&m->teacher, s));
    return ck_prototypes_init(&m->prototypes, s, 0);
}

static void release(struct ck_session *s)
{
    struct msn *m = s->own;
    if (!m)
        return;
    ck_teacher_release(&m->teacher);
    ck_prototypes_release(&m->prototypes);
    ck_arrays_release(&m->arrays);
    ck_free(m);
    s->own = NULL;
}

static int state(const struct ck_session *s, struct ck_state *out)
{
    const struct msn *m = s->own;
    CK_RETURN_IF(ck_prototypes_state(&m->prototypes, out));
    return ck_taught_state(s, out);
}

static int begin_step(struct ck_session *s, const struct coke_batch *b)
{
    struct msn *m = s->own;
    (void)b;
    ck_prototypes_begin(&m->prototypes);
    return COKE_OK;
}

/* The teacher's view, sharpened, then evened out over the batch of all ranks. */
static int make_targets(struct ck_session *s, const struct coke_batch *b, struct ck_part part)
{
    struct msn *m = s->own;
    const struct ck_method_options *o = &s->o.own;
    struct ck_reduce reduce = ck_ranks_reduce(&s->ranks, 0);
    struct ck_soft soft = {NULL, s->o.loss.temperature, o->sharpen};
    CK_RETURN_IF(ck_teacher_run(&m->teacher, s, b, part));
    ck_part_loss_widen(m->teacher.proj, part.n * s->dim, m->prototypes.x);
    ck_prototype_scores(m->prototypes.x, part.n, m->prototypes.unit, o->prototypes, s->dim,
                        m->target);
    ck_soft_targets(m->target, part.n, o->prototypes, &soft, m->target);
    return ck_sinkhorn(m->target, part.n, o->prototypes, (int)o->sinkhorn_rounds,
                       s->ranks.size > 1 ? &reduce : NULL, m->sums);
}

/* The mean use of each prototype by all views of all ranks, left in sums. */
static int mean_use(struct ck_session *s, int64_t rows)
{
    struct msn *m = s->own;
    int64_t k = s->o.own.prototypes;
    memset(m->sums, 0, (size_t)k * sizeof *m->sums);
    for (int64_t i = 0; i < rows * k; i++)
        m->sums[i % k] += m->p[i];
    CK_RETURN_IF(ck_group_sum_f64(s->ranks.group, m->sums, k));
    for (int64_t j = 0; j < k; j++)
        m->sums[j] /= (double)s->views * (double)s->ranks.total;
    return COKE_OK;
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct msn *m = s->own;
    struct ck_prototypes *p = &m->prototypes;
    int64_t k = s->o.own.prototypes, rows = s->views * part.n;
    double t = s->o.loss.temperature;
    struct ck_soft soft = {NULL, t, 1};
    CK_RETURN_IF(make_targets(s, b, part));
    ck_prototypes_score(p, s, part);
    ck_soft_targets(p->score, rows, k, &soft, m->p);
    CK_RETURN_IF(mean_use(s, rows));
    struct ck_code_input in = {p->score, m->target, s->views, 1, 0, part.n, k, t};
    double value = part.n > 0 ? ck_code_loss(&in, p->loss, p->grad_score) : 0;
    value += ck_mean_entropy(m->p, rows, k, m->sums, rows, t, s->o.own.mean_entropy_weight,
                             p->grad_score);
    return ck_prototypes_take(p, s, part, value, sums);
}

static int end_step(struct ck_session *s, const struct coke_batch *b)
{
    struct msn *m = s->own;
    (void)b;
    return ck_prototypes_end(&m->prototypes, s);
}

static int after_step(struct ck_session *s, const struct coke_batch *b)
{
    struct msn *m = s->own;
    CK_RETURN_IF(ck_prototypes_step(&m->prototypes, s, b));
    return ck_taught_after_step(s, b);
}

static const char *const options[] = {"temperature",     "momentum-start",      "momentum-end",
                                      "prototypes",      "freeze-prototypes",   "sharpen",
                                      "sinkhorn-rounds", "mean-entropy-weight", NULL};

const struct ck_method ck_method_msn = {
    .name = "msn",
    .about = "MSN: predict the prototypes of another view, sharpened, all of them used",
    .options = options,
    .predictor = CK_PREDICTOR_NONE,
    .teacher = 1,
    .skip = skip,
    .check = ck_prototypes_check,
    .whole_batch = whole_batch,
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
