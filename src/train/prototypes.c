/* prototypes.c - unit vectors that projections are compared with, trained like the encoder. */
#include "train/prototypes.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "nn/center_loss.h"
#include "nn/prototype_loss.h"
#include "train/batch_loss.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void draw(struct ck_param *p, uint64_t seed)
{
    for (int64_t i = 0; i < p->size; i++) {
        double two[2];
        ck_rng_normal(seed, CK_RNG_INIT, (uint64_t)(i / p->shape[1]),
                      (uint32_t)(i % p->shape[1]), two);
        p->value[i] = (float)two[0];
    }
    ck_center_unit(p->value, p->shape[0], (int)p->shape[1], p->value);
}

int ck_prototypes_init(struct ck_prototypes *p, const struct ck_session *s, int sphere)
{
    int64_t k = s->o.own.prototypes, n = k * s->dim;
    size_t rows = (size_t)(s->views * s->max_local), dim = (size_t)s->dim;
    *p = (struct ck_prototypes){.sphere = sphere};
    p->memory = ck_arrays_floats(&p->arrays, 2 * (size_t)n);
    p->unit = ck_arrays_doubles(&p->arrays, (size_t)n);
    p->grad = ck_arrays_doubles(&p->arrays, (size_t)n);
    p->x = ck_arrays_doubles(&p->arrays, rows * dim);
    p->grad_x = ck_arrays_doubles(&p->arrays, rows * dim);
    p->score = ck_arrays_doubles(&p->arrays, rows * (size_t)k);
    p->grad_score = ck_arrays_doubles(&p->arrays, rows * (size_t)k);
    p->loss = ck_arrays_doubles(&p->arrays, rows);
    CK_RETURN_IF(ck_arrays_status(&p->arrays));
    p->param = (struct ck_param){
        .ndim = 2, .shape = {k, s->dim}, .size = n, .value = p->memory, .grad = p->memory + n};
    snprintf(p->param.name, sizeof p->param.name, "prototypes");
    draw(&p->param, (uint64_t)s->o.encoder.seed);
    return ck_optimizer_new(&p->optimizer, &p->param, 1, &s->o.optimizer);
}

void ck_prototypes_release(struct ck_prototypes *p)
{
    ck_optimizer_free(p->optimizer);
    ck_arrays_release(&p->arrays);
}

int ck_prototypes_check(const struct ck_train_options *o)
{
    return ck_train_views(o) < 2
               ? ck_fail(COKE_EUSAGE, "recipe: method %s compares views; use at least 2",
                         ck_method_row(o)->name)
               : COKE_OK;
}

void ck_prototypes_unit(const struct ck_param *p, double *unit)
{
    int64_t dim = p->shape[1];
    for (int64_t r = 0; r < p->shape[0]; r++) {
        const float *x = p->value + r * dim;
        double square = 0;
        for (int64_t j = 0; j < dim; j++)
            square += (double)x[j] * (double)x[j];
        double inverse = 1 / fmax(sqrt(square), 1e-12);
        for (int64_t j = 0; j < dim; j++)
            unit[r * dim + j] = (double)x[j] * inverse;
    }
}

void ck_prototypes_begin(struct ck_prototypes *p)
{
    ck_prototypes_unit(&p->param, p->unit);
    memset(p->grad, 0, (size_t)p->param.size * sizeof *p->grad);
}

void ck_prototypes_score(struct ck_prototypes *p, const struct ck_session *s,
                         struct ck_part part)
{
    int64_t rows = s->views * part.n;
    ck_part_loss_widen(s->proj, rows * s->dim, p->x);
    ck_prototype_scores(p->x, rows, p->unit, p->param.shape[0], s->dim, p->score);
}

int ck_prototypes_take(struct ck_prototypes *p, struct ck_session *s, struct ck_part part,
                       double loss, double *sums)
{
    int64_t k = p->param.shape[0], rows = s->views * part.n;
    double share = (double)part.n / (double)s->ranks.total;
    ck_prototype_gradients(p->grad_score, rows, p->unit, k, s->dim, p->grad_x);
    for (int64_t i = 0; i < rows * k; i++)
        p->grad_score[i] *= share;
    ck_prototype_collect(p->grad_score, rows, p->x, k, s->dim, p->grad);
    return ck_part_loss_take(s, part, loss, p->grad_x, 0, sums);
}

int ck_prototypes_end(struct ck_prototypes *p, const struct ck_session *s)
{
    CK_RETURN_IF(ck_group_sum_f64(s->ranks.group, p->grad, p->param.size));
    if (!p->sphere) {
        ck_center_gradient(p->param.value, p->grad, p->param.shape[0], s->dim, 1,
                           p->param.grad);
        return COKE_OK;
    }
    for (int64_t i = 0; i < p->param.size; i++)
        p->param.grad[i] = (float)p->grad[i];
    return COKE_OK;
}

int ck_prototypes_step(struct ck_prototypes *p, const struct ck_session *s,
                       const struct coke_batch *b)
{
    double rate = ck_schedule_rate(&s->schedule, b->epoch, b->step);
    int64_t step = b->epoch * b->steps + b->step;
    if (b->epoch <= s->o.own.freeze_prototypes)
        return COKE_OK;
    ck_optimizer_set_decay(p->optimizer,
                           ck_train_weight_decay(&s->o, step, s->o.epochs * b->steps));
    CK_RETURN_IF(ck_optimizer_step(p->optimizer, rate, 1, step + 1));
    if (p->sphere)
        ck_center_unit(p->param.value, p->param.shape[0], s->dim, p->param.value);
    return COKE_OK;
}

int ck_prototypes_state(const struct ck_prototypes *p, struct ck_state *out)
{
    const struct ck_param *w = &p->param;
    CK_RETURN_IF(ck_state_add(out, w->name, CK_F32, w->ndim, w->shape, w->value));
    return ck_optimizer_save(p->optimizer, out);
}
