/* api_encoder.c - public functions of encoders, passes and optimisers. */
#include "core/error.h"
#include "core/mem.h"
#include "dist/group.h"
#include "io/safetensors.h"
#include "nn/conv_table.h"
#include "nn/encoder.h"
#include "nn/optimizer.h"
#include "nn/plan.h"
#include "train/checkpoint.h"

#include <string.h>

/* ---- encoders ---- */

int coke_encoder_new(struct coke_encoder **out, const struct ck_encoder_options *options)
{
    struct coke_encoder *e = ck_alloc_array(1, sizeof *e);
    *out = NULL;
    if (!e)
        return COKE_ENOMEM;
    int rc = ck_encoder_init(e, options);
    if (rc)
        ck_free(e);
    else
        *out = e;
    return rc;
}

void coke_encoder_free(struct coke_encoder *e)
{
    if (e)
        ck_encoder_release(e);
    ck_free(e);
}

struct ck_encoder_options coke_encoder_options_of(const struct coke_encoder *e)
{
    return e->o;
}

int64_t coke_encoder_size(const struct coke_encoder *e)
{
    return ck_net_size(&e->net);
}

int coke_encoder_open(struct coke_encoder **out, const char *path)
{
    int rc = COKE_OK;
    struct ck_state s = {0};
    struct ck_encoder_options o;
    struct coke_encoder *e = NULL;
    *out = NULL;
    CK_TRY(ck_safetensors_read(path, &s));
    CK_TRY(ck_encoder_options_from(&o, &s, path));
    CK_TRY(coke_encoder_new(&e, &o));
    if (ck_checkpoint_is(&s))
        CK_TRY(ck_checkpoint_encoder(&s, &e->net, path));
    else
        CK_TRY(ck_net_load(&e->net, &s, path, NULL));
    *out = e;
    e = NULL;
done:
    coke_encoder_free(e);
    ck_state_release(&s);
    return rc;
}

int coke_encoder_save(const struct coke_encoder *e, const char *path, int force)
{
    int rc = COKE_OK;
    struct ck_state s = {0};
    CK_TRY(ck_file_check_target(path, force));
    CK_TRY(ck_encoder_save(e, &s));
    CK_TRY(ck_safetensors_write(path, &s, force));
done:
    ck_state_release(&s);
    return rc;
}

int coke_encoder_load_weights(struct coke_encoder *e, const char *path, const char *ignore)
{
    int rc = COKE_OK;
    struct ck_state s = {0};
    CK_TRY(ck_safetensors_read(path, &s));
    CK_TRY(ck_net_load(&e->net, &s, path, ignore));
done:
    ck_state_release(&s);
    return rc;
}

static const struct ck_param *find(const struct coke_encoder *e, const char *name)
{
    for (int i = 0; i < e->net.nparams; i++)
        if (strcmp(e->net.param[i].name, name) == 0)
            return &e->net.param[i];
    for (int i = 0; i < e->net.nbuffers; i++)
        if (strcmp(e->net.buffer[i].name, name) == 0)
            return &e->net.buffer[i];
    return NULL;
}

float *coke_encoder_tensor(struct coke_encoder *e, const char *name, int64_t *size)
{
    const struct ck_param *p = find(e, name);
    *size = p ? p->size : 0;
    return p ? p->value : NULL;
}

const float *coke_encoder_gradient(const struct coke_encoder *e, const char *name,
                                   int64_t *size)
{
    const struct ck_param *p = find(e, name);
    *size = p && p->grad ? p->size : 0;
    return p ? p->grad : NULL;
}

void coke_encoder_touch(struct coke_encoder *e)
{
    for (int i = 0; i < e->net.nparams; i++)
        e->net.param[i].version++;
}

void coke_encoder_zero_grad(struct coke_encoder *e)
{
    ck_net_zero_grad(&e->net);
}

/* ---- passes ---- */

struct coke_plan {
    const struct coke_encoder *encoder;
    struct ck_plan *plan;
    int seed[COKE_OUTPUTS]; /* outputs in the order of the plan's seeds */
    int nseed;
};

static int any(const int32_t *flag)
{
    for (int i = 0; i < COKE_OUTPUTS; i++)
        if (flag[i])
            return 1;
    return 0;
}

static int wanted(const struct coke_encoder *e, const struct ck_plan_options *o, int i)
{
    return any(o->want) ? o->want[i] : e->node[i] >= 0;
}

static int gets_grad(const struct coke_encoder *e, const struct ck_plan_options *o, int i)
{
    if (!o->backward)
        return 0;
    return any(o->grad) ? o->grad[i] : e->node[i] >= 0 && i >= COKE_PROJ;
}

static const char *const output_name[] = {"features", "logits", "projections", "predictions"};

static int make_request(struct coke_plan *p, struct ck_plan_request *r,
                        const struct coke_encoder *e, const struct ck_plan_options *o)
{
    *r = ck_plan_request_default();
    if (o->precision != COKE_F32 && o->precision != COKE_BF16)
        return ck_fail(COKE_EUSAGE, "precision: %d is neither f32 nor bf16", o->precision);
    r->n = o->batch;
    r->h = o->height;
    r->w = o->width;
    r->dtype = o->precision == COKE_BF16 ? CK_BF16 : CK_F32;
    r->train = o->train;
    r->backward = o->backward;
    r->recompute = o->recompute;
    for (int i = 0; i < COKE_OUTPUTS; i++) {
        int grad = gets_grad(e, o, i);
        if (!wanted(e, o, i) && !grad)
            continue;
        if (e->node[i] < 0)
            return ck_fail(COKE_EUSAGE, "this encoder gives no %s", output_name[i]);
        r->want[r->nwant++] = e->node[i];
        if (!grad)
            continue;
        r->seed[r->nseed++] = e->node[i];
        p->seed[p->nseed++] = i;
    }
    return o->backward && !r->nseed
               ? ck_fail(COKE_EUSAGE, "a backward pass needs an output that gets gradients")
               : COKE_OK;
}

int coke_plan_new(struct coke_plan **out, struct coke_encoder *e,
                  const struct ck_plan_options *o)
{
    int rc = COKE_OK;
    struct ck_plan_request r;
    struct coke_plan *p = ck_calloc_array(1, sizeof *p);
    *out = NULL;
    if (!p)
        return COKE_ENOMEM;
    p->encoder = e;
    CK_TRY(make_request(p, &r, e, o));
    CK_TRY(ck_plan_new(&p->plan, &e->net, &r));
    if (o->reduce) {
        struct ck_reduce reduce = {o->reduce, o->reduce_arg, 0};
        ck_plan_synchronise(p->plan, &reduce);
    }
    *out = p;
    p = NULL;
done:
    coke_plan_free(p);
    return rc;
}

void coke_plan_free(struct coke_plan *p)
{
    if (p)
        ck_plan_free(p->plan);
    ck_free(p);
}

int coke_plan_forward(struct coke_plan *p, const float *images)
{
    return ck_plan_forward(p->plan, images);
}

const float *coke_plan_output(const struct coke_plan *p, enum coke_output which, int64_t *dim)
{
    int node = which >= 0 && which < COKE_OUTPUTS ? p->encoder->node[which] : -1;
    *dim = node < 0 ? 0 : p->encoder->net.node[node].channels;
    return node < 0 ? NULL : ck_plan_vector(p->plan, node);
}

int coke_plan_backward(struct coke_plan *p, const float *const grad[COKE_OUTPUTS])
{
    const float *seed[COKE_OUTPUTS] = {NULL};
    for (int i = 0; i < p->nseed; i++) {
        seed[i] = grad[p->seed[i]];
        if (!seed[i])
            return ck_fail(COKE_EUSAGE, "the gradient of the %s is missing",
                           output_name[p->seed[i]]);
    }
    return ck_plan_backward(p->plan, seed);
}

int64_t coke_plan_bytes(const struct coke_plan *p)
{
    return (int64_t)ck_plan_bytes(p->plan);
}

/* ---- optimisers ---- */

struct coke_optimizer {
    struct ck_optimizer *optim;
    int64_t step;
};

int coke_optimizer_new(struct coke_optimizer **out, struct coke_encoder *e,
                       const struct ck_optimizer_options *options)
{
    *out = NULL;
    CK_RETURN_IF(ck_options_check(ck_optimizer_option_table(), options));
    struct coke_optimizer *p = ck_calloc_array(1, sizeof *p);
    if (!p)
        return COKE_ENOMEM;
    int rc = ck_optimizer_new(&p->optim, e->net.param, e->net.nparams, options);
    if (rc)
        ck_free(p);
    else
        *out = p;
    return rc;
}

void coke_optimizer_free(struct coke_optimizer *o)
{
    if (o)
        ck_optimizer_free(o->optim);
    ck_free(o);
}

int coke_optimizer_step(struct coke_optimizer *o, double rate)
{
    int rc = ck_optimizer_step(o->optim, rate, 1, o->step + 1);
    if (!rc)
        o->step++;
    return rc;
}

int coke_tune(const char *path)
{
    int rc = ck_tuning_open(path);
    if (!rc && ck_group_size(ck_group()) > 1)
        ck_tuning_freeze(); /* each process would measure, and choose, for itself */
    return rc;
}
