/* layer_pool.c - max, average and whole-image pooling. */
#include "kernels/pool.h"
#include "nn/plan_ops.h"

#include "coke/types.h"

static struct ck_pool_shape shape_of(const struct ck_op *op)
{
    const struct ck_value *x = &op->plan->value[op->in[0]], *y = &op->plan->value[op->out];
    const struct ck_node *v = op->node;
    return (struct ck_pool_shape){.n = x->act.n,
                                  .cb = x->act.cb,
                                  .blk = x->act.blk,
                                  .h = (int)x->h,
                                  .w = (int)x->w,
                                  .oh = (int)y->h,
                                  .ow = (int)y->w,
                                  .kh = (int)v->kernel,
                                  .kw = (int)v->kernel,
                                  .stride_h = (int)v->stride,
                                  .stride_w = (int)v->stride,
                                  .pad_h = (int)v->pad,
                                  .pad_w = (int)v->pad};
}

static int prepare_nothing(struct ck_op *op)
{
    (void)op;
    return COKE_OK;
}

/* Pooling cannot work in place: input and output differ in size. */
static int prepare_backward(struct ck_op *op)
{
    int rc = COKE_OK;
    op->din[0] = ck_plan_grad_buffer(op, 0, &rc);
    return rc;
}

/* ---- maximum: the forward pass records the winners for the backward pass ---- */

/* One byte per output. Without a backward pass the buffer is not created and nothing is
 * recorded. */
static int prepare_max(struct ck_op *op)
{
    op->aux_bytes = (size_t)ck_act_size(&op->plan->value[op->out].act);
    return COKE_OK;
}

static int forward_max(struct ck_op *op)
{
    struct ck_pool_shape s = shape_of(op);
    ck_max_pool(&s, op->plan->value[op->out].dtype, ck_op_in(op, 0), ck_op_out(op),
                ck_buffer_data(op->plan, op->aux));
    return COKE_OK;
}

static int backward_max(struct ck_op *op)
{
    struct ck_pool_shape s = shape_of(op);
    if (op->din[0] >= 0)
        ck_max_pool_grad(&s, op->plan->value[op->out].dtype, ck_op_dout(op, 0),
                         ck_buffer_data(op->plan, op->aux), ck_op_din(op, 0));
    return COKE_OK;
}

const struct ck_op_class ck_op_max_pool = {
    .kind = "max pool",
    .prepare = prepare_max,
    .prepare_backward = prepare_backward,
    .forward = forward_max,
    .backward = backward_max,
};

/* ---- average ---- */

static int forward_avg(struct ck_op *op)
{
    struct ck_pool_shape s = shape_of(op);
    ck_avg_pool(&s, op->plan->value[op->out].dtype, ck_op_in(op, 0), ck_op_out(op));
    return COKE_OK;
}

static int backward_avg(struct ck_op *op)
{
    struct ck_pool_shape s = shape_of(op);
    if (op->din[0] >= 0)
        ck_avg_pool_grad(&s, op->plan->value[op->out].dtype, ck_op_dout(op, 0),
                         ck_op_din(op, 0));
    return COKE_OK;
}

const struct ck_op_class ck_op_avg_pool = {
    .kind = "average pool",
    .prepare = prepare_nothing,
    .prepare_backward = prepare_backward,
    .forward = forward_avg,
    .backward = backward_avg,
};

/* ---- whole image: the output is f32 whatever the input is ---- */

static int forward_mean(struct ck_op *op)
{
    const struct ck_value *x = &op->plan->value[op->in[0]];
    ck_mean_pool(&x->act, x->dtype, ck_op_in(op, 0), x->c, x->c, ck_op_out(op));
    return COKE_OK;
}

static int backward_mean(struct ck_op *op)
{
    const struct ck_value *x = &op->plan->value[op->in[0]];
    if (op->din[0] >= 0)
        ck_mean_pool_grad(&x->act, x->dtype, ck_op_dout(op, 0), x->c, x->c, ck_op_din(op, 0));
    return COKE_OK;
}

const struct ck_op_class ck_op_mean = {
    .kind = "mean",
    .prepare = prepare_nothing,
    .prepare_backward = prepare_backward,
    .forward = forward_mean,
    .backward = backward_mean,
};
