/* plan_defer.c - decides which results of batch norms are deferred to convolutions (enum
 * ck_deferred).
 *
 * The first consumer computes the result, so that it is still in the cache: one sweep over
 * memory is saved. Because this delays the computation, the lifetimes of its inputs are
 * extended. */
#include "nn/plan_defer.h"

/* The first op that reads a value; NULL = none. */
static struct ck_op *first_reader(struct ck_plan *p, int value)
{
    for (int i = 0; i < p->nops; i++)
        if (p->op[i].in[0] == value || p->op[i].in[1] == value)
            return &p->op[i];
    return NULL;
}

/* Links the two ops if the convolution's pass can use a producer. */
static int defer(struct ck_op *norm, enum ck_deferred what, struct ck_op *conv,
                 enum ck_conv_pass pass)
{
    if (conv->class != &ck_op_conv || !ck_conv_can_produce(conv, pass))
        return 0;
    norm->deferred[what] = conv;
    conv->deferred[what] = norm;
    return 1;
}

/* Defers the output. Recording both ends lets the batch norm skip it and the convolution find
 * it. */
static void defer_out(struct ck_op *norm)
{
    struct ck_plan *p = norm->plan;
    struct ck_op *conv = first_reader(p, norm->out);
    if (!conv || !defer(norm, CK_NORM_OUT, conv, CK_CONV_FORWARD))
        return;
    for (int i = 0; i < 2; i++)
        if (norm->in[i] >= 0)
            ck_plan_live_until(p, p->value[norm->in[i]].buffer, conv->index);
}

/* Defers the gradient of the input, except where it is one of several, or where its inputs are
 * changed or released earlier: by the batch norm of the residual branch, by the producer of the
 * residual, or because they were only recomputed. */
static void defer_din(struct ck_op *norm)
{
    struct ck_plan *p = norm->plan;
    const struct ck_value *x = &p->value[norm->in[0]];
    struct ck_op *conv = &p->op[x->producer];
    if (norm->din[0] < 0 || x->ngrads != 1 || x->recomputed || norm->second ||
        (norm->in[1] >= 0 && p->value[norm->in[1]].producer > conv->index) ||
        !defer(norm, CK_NORM_DIN, conv, CK_CONV_DATA))
        return;
    ck_plan_live_until(p, x->saved, ck_plan_backward_step(conv));
    for (int i = 0; i < norm->ndout; i++)
        ck_plan_live_until(p, norm->dout[i], ck_plan_backward_step(conv));
}

void ck_plan_defer(struct ck_plan *p)
{
    for (int i = 0; i < p->nops; i++)
        if (p->op[i].class == &ck_op_norm) {
            defer_out(&p->op[i]);
            if (p->r.backward && p->op[i].ndout)
                defer_din(&p->op[i]);
        }
}
