/* layer_linear.c - linear layers on vectors, f32: y = x W' + b, x [n][in], W [out][in].
 *
 * The products run on oneDNN's team (kernels/gemm.h), so that their last bits may depend on the
 * number of threads. */
#include "kernels/gemm.h"
#include "nn/plan_ops.h"

#include "coke/types.h"

#include <string.h>

static int prepare(struct ck_op *op)
{
    const struct ck_value *x = &op->plan->value[op->in[0]], *y = &op->plan->value[op->out];
    op->keeps_in[0] = 1;
    op->flops[0] = 2.0 * (double)(op->plan->r.n * x->c * y->c);
    op->flops[1] = 2 * op->flops[0];
    return COKE_OK;
}

static int prepare_backward(struct ck_op *op)
{
    int rc = COKE_OK;
    op->din[0] = ck_plan_grad_buffer(op, 0, &rc);
    return rc;
}

/* Starts from the bias in every row, to which the product is added (beta = 1). */
static int forward(struct ck_op *op)
{
    int64_t n = op->plan->r.n, in = op->plan->value[op->in[0]].c,
            out = op->plan->value[op->out].c;
    const struct ck_param *p = &op->plan->net->param[op->node->param];
    float *y = ck_op_out(op);
    for (int64_t i = 0; i < n; i++)
        memcpy(y + i * out, p[1].value, (size_t)out * sizeof *y);
    return ck_gemm(n, out, in, 1, (struct ck_matrix){ck_op_in(op, 0), in, 0},
                   (struct ck_matrix){p[0].value, in, 1}, 1, y, out);
}

/* Gradients of parameters are added; that of the input is overwritten. */
static int backward(struct ck_op *op)
{
    int64_t n = op->plan->r.n, in = op->plan->value[op->in[0]].c,
            out = op->plan->value[op->out].c;
    struct ck_param *p = &op->plan->net->param[op->node->param];
    const float *dy = ck_op_dout(op, 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < out; j++)
            p[1].grad[j] += dy[i * out + j];
    int rc = ck_gemm(out, in, n, 1, (struct ck_matrix){dy, out, 1},
                     (struct ck_matrix){ck_op_saved(op, op->in[0]), in, 0}, 1, p[0].grad, in);
    if (rc || op->din[0] < 0)
        return rc;
    return ck_gemm(n, in, out, 1, (struct ck_matrix){dy, out, 0},
                   (struct ck_matrix){p[0].value, in, 0}, 0, ck_op_din(op, 0), in);
}

const struct ck_op_class ck_op_linear = {
    .kind = "linear",
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .forward = forward,
    .backward = backward,
};
