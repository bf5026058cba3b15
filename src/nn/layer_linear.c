/* layer_linear.c - linear layers on vectors: y = x W' + b, x [n][in], W [out][in].
 *
 * In f32 plans the products run on oneDNN's team (kernels/gemm.h), so that their last bits may
 * depend on the number of threads. In bf16 plans they run on tiles where the CPU has them
 * (kernels/gemm_tiles.h): operands are rounded to bf16, sums and vectors are f32. */
#include "kernels/conv_tiles.h"
#include "kernels/gemm_tiles.h"
#include "nn/plan_ops.h"

#include "coke/types.h"

#include <string.h>

/* gemm_tiles.h addresses an operand by 32 bits. */
static int on_tiles(const struct ck_op *op)
{
    int64_t in = op->plan->value[op->in[0]].c, out = op->plan->value[op->out].c;
    int64_t n = op->plan->r.n, most = n > in ? n : in;
    return op->plan->r.dtype == CK_BF16 && ck_gemm_tiles_exist() && most * out < 1 << 29 &&
           n * in < 1 << 29;
}

static int prepare(struct ck_op *op)
{
    const struct ck_value *x = &op->plan->value[op->in[0]], *y = &op->plan->value[op->out];
    int64_t n = op->plan->r.n;
    op->keeps_in[0] = 1;
    op->flops[0] = 2.0 * (double)(n * x->c * y->c);
    op->flops[1] = 2 * op->flops[0];
    if (on_tiles(op)) {
        size_t need[] = {ck_gemm_tiles_scratch(n, y->c, x->c), /* forward, weights, data */
                         ck_gemm_tiles_scratch(y->c, x->c, n),
                         ck_gemm_tiles_scratch(n, x->c, y->c)};
        for (int i = 0; i < 3; i++)
            op->scratch = need[i] > op->scratch ? need[i] : op->scratch;
    }
    return COKE_OK;
}

static int multiply(struct ck_op *op, const struct ck_tile_product *p)
{
    if (!on_tiles(op))
        return ck_gemm(p->m, p->n, p->k, 1, p->a, p->b, p->accumulate ? 1 : 0, p->c, p->ldc);
    ck_gemm_tiles(p, op->plan->scratch);
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
    return multiply(op, &(struct ck_tile_product){.m = n,
                                                  .n = out,
                                                  .k = in,
                                                  .a = {ck_op_in(op, 0), in, 0},
                                                  .b = {p[0].value, in, 1},
                                                  .accumulate = 1,
                                                  .c = y,
                                                  .ldc = out});
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
    int rc = multiply(op, &(struct ck_tile_product){.m = out,
                                                    .n = in,
                                                    .k = n,
                                                    .a = {dy, out, 1},
                                                    .b = {ck_op_saved(op, op->in[0]), in, 0},
                                                    .accumulate = 1,
                                                    .c = p[0].grad,
                                                    .ldc = in});
    if (rc || op->din[0] < 0)
        return rc;
    return multiply(op, &(struct ck_tile_product){.m = n,
                                                  .n = in,
                                                  .k = out,
                                                  .a = {dy, out, 0},
                                                  .b = {p[0].value, in, 0},
                                                  .c = ck_op_din(op, 0),
                                                  .ldc = in});
}

static const char *how(const struct ck_op *op, int pass)
{
    (void)pass;
    return on_tiles(op) ? ck_tiles_how() : "";
}

const struct ck_op_class ck_op_linear = {
    .kind = "linear",
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .forward = forward,
    .backward = backward,
    .how = how,
};
