/* api_encoder.c - public functions of encoders, plans and optimizers.
 *
 * Plans and optimizers borrow their encoder, which must outlive them. One thread at a time per
 * encoder and everything made from it; the computation itself uses all threads. */
#include "api/check_args.h"
#include "dist/group.h"
#include "nn/conv_table.h"
#include "nn/encoder_optimizer.h"
#include "nn/encoder_plan.h"
#include "train/encoder_file.h"

/* ---- encoders ---- */

int coke_encoder_new(struct coke_encoder **out, const struct coke_options *options)
{
    CK_ARGS_OUT(out);
    CK_OPTIONS(o, encoder, options);
    return ck_encoder_new(out, o);
}

void coke_encoder_free(struct coke_encoder *e)
{
    ck_encoder_free(e);
}

int coke_encoder_options(const struct coke_encoder *e, struct coke_options **out)
{
    CK_ARGS_OUT(out);
    CK_ARGS(e);
    return ck_options_wrap(out, "encoder", &e->o);
}

int64_t coke_encoder_size(const struct coke_encoder *e)
{
    return e ? ck_net_size(&e->net) : 0;
}

int coke_encoder_open(struct coke_encoder **out, const char *path)
{
    CK_ARGS_OUT(out);
    CK_ARGS(path);
    return ck_encoder_open(out, path);
}

int coke_encoder_save(const struct coke_encoder *e, const char *path, int force)
{
    CK_ARGS(e, path);
    return ck_encoder_write(e, path, force);
}

int coke_encoder_load_weights(struct coke_encoder *e, const char *path, const char *ignore)
{
    CK_ARGS(e, path);
    return ck_encoder_load_weights(e, path, ignore);
}

/* Borrowed, and writable: call coke_encoder_touch after a change, so that plans repack
 * weights. */
float *coke_encoder_tensor(struct coke_encoder *e, const char *name, int64_t *size)
{
    const struct ck_param *p = e && name ? ck_encoder_find(e, name) : NULL;
    if (size)
        *size = p ? p->size : 0;
    return p ? p->value : NULL;
}

/* NULL for running statistics, which have no gradient. */
const float *coke_encoder_gradient(const struct coke_encoder *e, const char *name,
                                   int64_t *size)
{
    const struct ck_param *p = e && name ? ck_encoder_find(e, name) : NULL;
    if (size)
        *size = p && p->grad ? p->size : 0;
    return p ? p->grad : NULL;
}

void coke_encoder_touch(struct coke_encoder *e)
{
    if (e)
        ck_encoder_touch(e);
}

void coke_encoder_zero_grad(struct coke_encoder *e)
{
    if (e)
        ck_net_zero_grad(&e->net);
}

/* ---- plans ---- */

/* reduce: sums the statistics of batch norm over processes; NULL = this process alone. */
int coke_plan_new(struct coke_plan **out, struct coke_encoder *e,
                  const struct coke_options *options, const struct coke_reduce *reduce)
{
    struct coke_reduce r;
    CK_ARGS_OUT(out);
    CK_ARGS(e);
    CK_READ(r, reduce);
    CK_OPTIONS(o, plan, options);
    struct ck_reduce sum = {r.sum, r.arg, 0};
    return ck_encoder_plan_new(out, e, o, r.sum ? &sum : NULL);
}

void coke_plan_free(struct coke_plan *p)
{
    ck_encoder_plan_free(p);
}

int coke_plan_forward(struct coke_plan *p, const float *images)
{
    CK_ARGS(p, images);
    return ck_plan_forward(p->plan, images);
}

/* [batch][*dim], the plan's memory: valid until the next forward. */
const float *coke_plan_output(const struct coke_plan *p, enum coke_output which, int32_t *dim)
{
    int32_t unused;
    if (dim)
        *dim = 0;
    return p ? ck_encoder_plan_output(p, which, dim ? dim : &unused) : NULL;
}

int coke_plan_backward(struct coke_plan *p, const struct coke_gradients *grad)
{
    struct coke_gradients g;
    CK_ARGS(p, grad);
    CK_READ(g, grad);
    const float *const each[CK_OUTPUTS] = {g.features, g.logits, g.proj, g.pred};
    return ck_encoder_plan_backward(p, each);
}

int64_t coke_plan_bytes(const struct coke_plan *p)
{
    return p ? (int64_t)ck_plan_bytes(p->plan) : 0;
}

/* ---- optimizers ---- */

int coke_optimizer_new(struct coke_optimizer **out, struct coke_encoder *e,
                       const struct coke_options *options)
{
    CK_ARGS_OUT(out);
    CK_ARGS(e);
    CK_OPTIONS(o, optimizer, options);
    return ck_encoder_optimizer_new(out, e, o);
}

void coke_optimizer_free(struct coke_optimizer *o)
{
    ck_encoder_optimizer_free(o);
}

/* Uses the accumulated gradients; zeroing them is up to the caller. */
int coke_optimizer_step(struct coke_optimizer *o, double rate)
{
    CK_ARGS(o);
    return ck_encoder_optimizer_step(o, rate);
}

/* ---- tuning ---- */

/* Convolutions of plans that are made afterwards use the measured table. */
int coke_tune(const char *path)
{
    CK_RETURN_IF(ck_tuning_open(path)); /* NULL: back to the built-in table */
    if (ck_group_size(ck_group()) > 1)
        ck_tuning_freeze(); /* ranks would measure, and choose, differently */
    return COKE_OK;
}
