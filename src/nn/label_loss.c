/* label_loss.c - the discrimination loss with one hard label per head and image. */
#include "nn/label_loss.h"
#include "core/error.h"
#include "core/mem.h"

int ck_label_loss_new(struct coke_loss **out, const struct ck_loss_setup *o)
{
    int64_t k[COKE_MAX_HEADS];
    *out = NULL;
    if (o->k.n < 1)
        return ck_fail(COKE_EUSAGE, "k: the numbers of centers are missing");
    for (int h = 0; h < o->k.n; h++)
        k[h] = o->k.v[h];
    int views = (int)o->views;
    struct ck_loss_shape shape = {views, views < 2 ? views : 2, o->batch, (int)o->dim, o->k.n,
                                  k};
    struct coke_loss *l = ck_calloc_array(1, sizeof *l);
    if (!l)
        return COKE_ENOMEM;
    l->heads = o->k.n;
    l->batch = o->batch;
    int rc = ck_loss_new(&l->loss, &shape, &o->loss);
    if (rc)
        ck_free(l);
    else
        *out = l;
    return rc;
}

void ck_label_loss_free(struct coke_loss *l)
{
    if (l)
        ck_loss_free(l->loss);
    ck_free(l);
}

int ck_label_loss_step(struct coke_loss *l, const struct coke_loss_input *in,
                       struct coke_loss_output *out)
{
    if (in->n < 1 || in->n > l->batch)
        return ck_fail(COKE_EUSAGE, "batch of %lld instances is not within 1..%lld",
                       (long long)in->n, (long long)l->batch);
    for (int i = 0; i < l->heads; i++)
        l->target[i] = (struct ck_targets){
            in->n, 1, (int32_t *)(uintptr_t)(in->labels + i * in->n), NULL, 0};
    struct ck_loss_input all = {in->n, in->proj, in->pred, in->centers, l->target};
    struct ck_loss_output result = {
        .grad_proj = out->grad_proj, .grad_pred = out->grad_pred, .head_loss = l->head_loss};
    int rc = ck_loss_step(l->loss, &all, &result);
    out->loss = result.loss;
    return rc;
}
