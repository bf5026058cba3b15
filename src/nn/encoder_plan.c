/* encoder_plan.c - an encoder compiled for a batch and image size, by its outputs' names. */
#include "nn/encoder_plan.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "nn/precision.h"

static int any(const int32_t *flag)
{
    for (int i = 0; i < CK_OUTPUTS; i++)
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
    return any(o->grad) ? o->grad[i] : e->node[i] >= 0 && i >= COKE_OUTPUT_PROJ;
}

static const char *const output_name[] = {"features", "logits", "projections", "predictions"};

static int make_request(struct coke_plan *p, struct ck_plan_request *r,
                        const struct coke_encoder *e, const struct ck_plan_options *o)
{
    *r = ck_plan_request_default();
    r->n = o->batch;
    r->h = o->height;
    r->w = o->width;
    r->train = o->train;
    r->backward = o->backward;
    r->recompute = o->recompute;
    for (int i = 0; i < CK_OUTPUTS; i++) {
        int grad = gets_grad(e, o, i);
        if (!wanted(e, o, i) && !grad)
            continue;
        if (e->node[i] < 0)
            return ck_fail(COKE_EUSAGE, "this encoder gives no %s", output_name[i]);
        r->want[r->nwant++] = e->node[i];
        if (!grad)
            continue;
        r->grad[r->ngrad++] = e->node[i];
        p->grad[p->ngrad++] = i;
    }
    return o->backward && !r->ngrad
               ? ck_fail(COKE_EUSAGE, "a backward pass needs an output that gets gradients")
               : COKE_OK;
}

/* Measures the forward pass in evaluation, which changes nothing in the encoder. */
static int choose_precision(struct coke_encoder *e, const struct ck_plan_request *r,
                            int32_t *precision)
{
    struct ck_plan_request q = *r;
    double seconds[2];
    q.train = q.backward = q.ngrad = 0;
    return ck_precision_choose(precision, &e->net, &q, seconds);
}

int ck_encoder_plan_new(struct coke_plan **out, struct coke_encoder *e,
                        const struct ck_plan_options *o, const struct ck_reduce *reduce)
{
    int rc = COKE_OK;
    struct ck_plan_request r;
    *out = NULL;
    CK_RETURN_IF(ck_options_check(ck_plan_option_table(), o));
    struct coke_plan *p = ck_calloc_array(1, sizeof *p);
    if (!p)
        return COKE_ENOMEM;
    p->encoder = e;
    CK_TRY(make_request(p, &r, e, o));
    int32_t precision = o->precision;
    CK_TRY(choose_precision(e, &r, &precision));
    r.dtype = ck_precision_dtype((enum ck_precision)precision);
    CK_TRY(ck_plan_new(&p->plan, &e->net, &r));
    if (reduce)
        ck_plan_synchronise(p->plan, reduce);
    *out = p;
    p = NULL;
done:
    ck_encoder_plan_free(p);
    return rc;
}

void ck_encoder_plan_free(struct coke_plan *p)
{
    if (p)
        ck_plan_free(p->plan);
    ck_free(p);
}

const float *ck_encoder_plan_output(const struct coke_plan *p, enum coke_output which,
                                    int32_t *dim)
{
    int node = (int)which >= 0 && (int)which < CK_OUTPUTS ? p->encoder->node[which] : -1;
    *dim = node < 0 ? 0 : (int32_t)p->encoder->net.node[node].channels;
    return node < 0 ? NULL : ck_plan_vector(p->plan, node);
}

int ck_encoder_plan_backward(struct coke_plan *p, const float *const grad[CK_OUTPUTS])
{
    const float *given[CK_OUTPUTS] = {NULL};
    for (int i = 0; i < p->ngrad; i++) {
        given[i] = grad[p->grad[i]];
        if (!given[i])
            return ck_fail(COKE_EUSAGE, "the gradient of the %s is missing",
                           output_name[p->grad[i]]);
    }
    return ck_plan_backward(p->plan, given);
}
