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
    double *x, *grad;               /* [views][part][dim] */
    double *score, *grad_score, *p; /* [views][part][prototypes]; p: softmax of the scores */
    double *target;                 /* [part][prototypes] */
    double *loss, *sums;            /* [views][part], [prototypes] */
};

static int skip(const struct ck_train_options *o)
{
    (void)o;
    return 1;
}

static int check(const struct ck_train_options *o)
{
    return ck_train_views(o) < 2
               ? ck_fail(COKE_EUSAGE, "recipe: method msn compares views; use at least 2")
               : COKE_OK;
}

static const char *whole_batch(const struct ck_train_options *o)
{
    (void)o;
    return "the targets of a batch are computed together";
}

static int init(struct ck_session *s)
{
    size_t n = (size_t)s->max_local, dim = (size_t)s->dim, k = (size_t)s->o.own.prototypes;
    size_t all = (size_t)s->views * n;
    struct msn *m = s->own = ck_calloc_array(1, sizeof *m);
    if (!m)
        return COKE_ENOMEM;
    m->x = ck_alloc_array(all * dim, sizeof *m->x);
    m->grad = ck_alloc_array(all * dim, sizeof *m->grad);
    m->score = ck_alloc_array(all * k, sizeof *m->score);
    m->grad_score = ck_alloc_array(all * k, sizeof *m->grad_score);
    m->p = ck_alloc_array(all * k, sizeof *m->p);
    m->target = ck_alloc_array(n * k, sizeof *m->target);
    m->loss = ck_alloc_array(all, sizeof *m->loss);
    m->sums = ck_alloc_array(k, sizeof *m->sums);
    if (!m->x || !m->grad || !m->score || !m->grad_score || !m->p || !m->target || !m->loss ||
        !m->sums)
        return COKE_ENOMEM;
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
    double *const arrays[] = {m->x, m->grad,   m->score, m->grad_score,
                              m->p, m->target, m->loss,  m->sums};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        ck_free(arrays[i]);
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
    ck_part_loss_widen(m->teacher.proj, part.n * s->dim, m->x);
    ck_prototype_scores(m->x, part.n, m->prototypes.unit, o->prototypes, s->dim, m->target);
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
    int64_t k = s->o.own.prototypes, rows = s->views * part.n;
    double t = s->o.loss.temperature, share = (double)part.n / (double)s->ranks.total;
    struct ck_soft soft = {NULL, t, 1};
    CK_RETURN_IF(make_targets(s, b, part));
    ck_part_loss_widen(s->proj, rows * s->dim, m->x);
    ck_prototype_scores(m->x, rows, m->prototypes.unit, k, s->dim, m->score);
    ck_soft_targets(m->score, rows, k, &soft, m->p);
    CK_RETURN_IF(mean_use(s, rows));
    struct ck_code_input in = {m->score, m->target, s->views, 1, 0, part.n, k, t};
    double value = part.n > 0 ? ck_code_loss(&in, m->loss, m->grad_score) : 0;
    value += ck_mean_entropy(m->p, rows, k, m->sums, rows, t, s->o.own.mean_entropy_weight,
                             m->grad_score);
    ck_prototype_gradients(m->grad_score, rows, m->prototypes.unit, k, s->dim, m->grad);
    for (int64_t i = 0; i < rows * k; i++)
        m->grad_score[i] *= share;
    ck_prototype_collect(m->grad_score, rows, m->x, k, s->dim, m->prototypes.grad);
    return ck_part_loss_take(s, part, value, m->grad, 0, sums);
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
    .check = check,
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
