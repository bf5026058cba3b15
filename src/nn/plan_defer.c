/* plan_defer.c - which results of batch norms are left to convolutions (enum ck_deferred).
 *
 * Made by who reads them first, they are read from a cache: a pass over memory less. They are
 * made later than the batch norm's turn is, so what they are made from must live longer. */
#include "nn/plan_defer.h"

/* The op that reads a value first; NULL = none. */
static struct ck_op *first_reader(struct ck_plan *p, int value)
{
    for (int i = 0; i < p->nops; i++)
        if (p->op[i].in[0] == value || p->op[i].in[1] == value)
            return &p->op[i];
    return NULL;
}

static int leave(struct ck_op *norm, enum ck_deferred what, struct ck_op *conv,
                 enum ck_conv_pass pass)
{
    if (conv->class != &ck_op_conv || !ck_conv_can_produce(conv, pass))
        return 0;
    norm->share[what] = conv;
    conv->share[what] = norm;
    return 1;
}

static void leave_out(struct ck_op *norm)
{
    struct ck_plan *p = norm->plan;
    struct ck_op *conv = first_reader(p, norm->out);
    if (!conv || !leave(norm, CK_NORM_OUT, conv, CK_CONV_FORWARD))
        return;
    for (int i = 0; i < 2; i++)
        if (norm->in[i] >= 0)
            ck_plan_live_until(p, p->value[norm->in[i]].buffer, conv->index);
}

/* Not where the gradient is one of several, or where what it is made from is changed or given
 * up before: by the batch norm of the other branch, by the producer of what was added, or
 * because it was only computed again. */
static void leave_din(struct ck_op *norm)
{
    struct ck_plan *p = norm->plan;
    const struct ck_value *x = &p->value[norm->in[0]];
    struct ck_op *conv = &p->op[x->producer];
    if (norm->din[0] < 0 || x->ngrads != 1 || x->recomputed || norm->second ||
        (norm->in[1] >= 0 && p->value[norm->in[1]].producer > conv->index) ||
        !leave(norm, CK_NORM_DIN, conv, CK_CONV_DATA))
        return;
    ck_plan_live_until(p, x->saved, ck_plan_backward_step(conv));
    for (int i = 0; i < norm->ndout; i++)
        ck_plan_live_until(p, norm->dout[i], ck_plan_backward_step(conv));
}

void ck_plan_defer(struct ck_plan *p)
{
    for (int i = 0; i < p->nops; i++)
        if (p->op[i].class == &ck_op_norm) {
            leave_out(&p->op[i]);
            if (p->r.backward && p->op[i].ndout)
                leave_din(&p->op[i]);
        }
}
