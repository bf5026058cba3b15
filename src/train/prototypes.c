/* prototypes.c - unit vectors that projections are compared with, trained like the encoder. */
#include "train/prototypes.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "nn/center_loss.h"

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
    *p = (struct ck_prototypes){.sphere = sphere};
    p->memory = ck_calloc_array((size_t)n, 2 * sizeof *p->memory);
    p->unit = ck_alloc_array((size_t)n, sizeof *p->unit);
    p->grad = ck_alloc_array((size_t)n, sizeof *p->grad);
    if (!p->memory || !p->unit || !p->grad)
        return COKE_ENOMEM;
    p->param = (struct ck_param){
        .ndim = 2, .shape = {k, s->dim}, .size = n, .value = p->memory, .grad = p->memory + n};
    snprintf(p->param.name, sizeof p->param.name, "prototypes");
    draw(&p->param, (uint64_t)s->o.encoder.seed);
    return ck_optimizer_new(&p->optimizer, &p->param, 1, &s->o.optimizer);
}

void ck_prototypes_release(struct ck_prototypes *p)
{
    ck_optimizer_free(p->optimizer);
    ck_free(p->memory);
    ck_free(p->unit);
    ck_free(p->grad);
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
