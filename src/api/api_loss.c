/* api_loss.c - public functions of the loss and the schedule. */
#include "core/error.h"
#include "core/mem.h"
#include "nn/loss.h"
#include "nn/schedule.h"

struct coke_loss {
    struct ck_loss *loss;
    struct ck_targets target[COKE_MAX_HEADS];
    double head_loss[COKE_MAX_HEADS];
    int heads;
};

int coke_loss_new(struct coke_loss **out, const struct ck_loss_setup *o)
{
    int64_t k[CK_MAX_HEADS];
    *out = NULL;
    CK_RETURN_IF(ck_options_check(ck_loss_setup_table(), o));
    if (o->k.n < 1)
        return ck_fail(COKE_EUSAGE, "k: the number of centers of each head is missing");
    for (int i = 0; i < o->k.n; i++)
        k[i] = o->k.v[i];
    struct ck_loss_shape shape = {(int)o->views, o->batch, (int)o->dim, o->k.n, k};
    struct coke_loss *l = ck_calloc_array(1, sizeof *l);
    if (!l)
        return COKE_ENOMEM;
    l->heads = o->k.n;
    int rc = ck_loss_new(&l->loss, &shape, &o->loss);
    if (rc)
        ck_free(l);
    else
        *out = l;
    return rc;
}

void coke_loss_free(struct coke_loss *l)
{
    if (l)
        ck_loss_free(l->loss);
    ck_free(l);
}

int coke_loss_step(struct coke_loss *l, int64_t n, const float *proj, const float *pred,
                   const float *const *centers, const int32_t *labels, float *grad_proj,
                   float *grad_pred, double *loss)
{
    for (int i = 0; i < l->heads; i++)
        l->target[i] =
            (struct ck_targets){n, 1, (int32_t *)(uintptr_t)(labels + i * n), NULL, 0};
    struct ck_loss_input in = {n, proj, pred, centers, l->target};
    struct ck_loss_output result = {
        .grad_proj = grad_proj, .grad_pred = grad_pred, .head_loss = l->head_loss};
    int rc = ck_loss_step(l->loss, &in, &result);
    *loss = result.loss;
    return rc;
}

int coke_schedule_rate(double rate, int64_t epochs, int64_t warmup, int64_t steps,
                       int64_t epoch, int64_t step, double *out)
{
    struct ck_schedule s;
    int rc = ck_schedule_init(&s, rate, epochs, warmup, steps);
    if (rc)
        return rc;
    if (epoch < 0 || epoch >= epochs || step < 0 || step >= steps)
        return ck_fail(COKE_EUSAGE, "schedule: epoch %lld of %lld, step %lld of %lld",
                       (long long)epoch, (long long)epochs, (long long)step, (long long)steps);
    *out = ck_schedule_rate(&s, epoch, step);
    return COKE_OK;
}
