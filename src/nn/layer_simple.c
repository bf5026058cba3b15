/* layer_simple.c - the input, and simple layers: ReLU and addition where they are not fused
 * into a batch norm, GELU, and scaling to length 1. */
#include "core/error.h"
#include "core/mem.h"
#include "kernels/gelu.h"
#include "nn/plan_ops.h"
#include "nn/unit.h"

#include <string.h>

static int64_t elements(const struct ck_value *v)
{
    return (int64_t)(v->bytes / ck_dtype_size(v->dtype));
}

static int prepare_nothing(struct ck_op *op)
{
    (void)op;
    return COKE_OK;
}

/* ---- input: converts the caller's plain f32 images to the plan's layout and precision ---- */

static int prepare_input(struct ck_op *op)
{
    int rc = COKE_OK;
    const struct ck_value *y = &op->plan->value[op->out];
    struct ck_format *plain = NULL;
    struct ck_dnn_op *reorder = NULL;
    int64_t dims[4] = {op->plan->r.n, y->c, y->h, y->w};
    if (y->dtype == CK_BF16)
        return COKE_OK;
    CK_TRY(ck_format_image(&plain, dims, CK_PLAIN));
    CK_TRY(ck_reorder_new(&reorder, plain, y->format));
    op->data = reorder;
    op->scratch = ck_dnn_op_scratch(reorder);
done:
    ck_format_free(plain);
    return rc;
}

/* p->images is borrowed for the forward pass only. */
static int forward_input(struct ck_op *op)
{
    const struct ck_value *y = &op->plan->value[op->out];
    if (y->dtype == CK_BF16) {
        ck_tiles_from_plain(op->plan->r.n, y->c, y->h * y->w, op->plan->images, ck_op_out(op));
        return COKE_OK;
    }
    void *arg[CK_DNN_ARGS] = {
        [CK_ARG_SRC] = (void *)(uintptr_t)op->plan->images, [CK_ARG_DST] = ck_op_out(op)};
    return ck_dnn_op_run(op->data, arg, op->plan->scratch);
}

static void release_input(struct ck_op *op)
{
    ck_dnn_op_free(op->data);
}

const struct ck_op_class ck_op_input = {
    .kind = "input",
    .prepare = prepare_input,
    .forward = forward_input,
    .release = release_input,
};

/* ---- ReLU ---- */

static int prepare_relu(struct ck_op *op)
{
    op->keeps_out = 1;
    return COKE_OK;
}

/* In place: the gradient of the input overwrites that of the output. */
static int prepare_backward_relu(struct ck_op *op)
{
    return ck_plan_pass_grad(op, 0, op->dout[0]);
}

static int forward_relu(struct ck_op *op)
{
    const struct ck_value *y = &op->plan->value[op->out];
    ck_relu(y->dtype, elements(y), ck_op_in(op, 0), ck_op_out(op));
    return COKE_OK;
}

static int backward_relu(struct ck_op *op)
{
    const struct ck_value *y = &op->plan->value[op->out];
    if (op->din[0] >= 0)
        ck_relu_grad(y->dtype, elements(y), ck_op_dout(op, 0), ck_op_saved(op, op->out),
                     ck_op_din(op, 0));
    return COKE_OK;
}

const struct ck_op_class ck_op_relu = {
    .kind = "relu",
    .prepare = prepare_relu,
    .prepare_backward = prepare_backward_relu,
    .forward = forward_relu,
    .backward = backward_relu,
};

/* ---- GELU of vectors, which are f32 in every plan ---- */

static int prepare_gelu(struct ck_op *op)
{
    op->keeps_in[0] = 1;
    return COKE_OK;
}

static int forward_gelu(struct ck_op *op)
{
    ck_gelu(elements(&op->plan->value[op->out]), ck_op_in(op, 0), ck_op_out(op));
    return COKE_OK;
}

static int backward_gelu(struct ck_op *op)
{
    if (op->din[0] >= 0)
        ck_gelu_grad(elements(&op->plan->value[op->out]), ck_op_dout(op, 0),
                     ck_op_saved(op, op->in[0]), ck_op_din(op, 0));
    return COKE_OK;
}

const struct ck_op_class ck_op_gelu = {
    .kind = "gelu",
    .prepare = prepare_gelu,
    .prepare_backward = prepare_backward_relu,
    .forward = forward_gelu,
    .backward = backward_gelu,
};

/* ---- addition: each side may overwrite its gradient, so the second gets a copy ---- */

static int prepare_backward_add(struct ck_op *op)
{
    int rc = ck_plan_pass_grad(op, 0, op->dout[0]);
    if (!rc)
        op->din[1] = ck_plan_grad_buffer(op, 1, &rc);
    return rc;
}

static int forward_add(struct ck_op *op)
{
    const struct ck_value *y = &op->plan->value[op->out];
    ck_add(y->dtype, elements(y), ck_op_in(op, 0), ck_op_in(op, 1), ck_op_out(op));
    return COKE_OK;
}

static int backward_add(struct ck_op *op)
{
    if (op->din[1] >= 0)
        memcpy(ck_op_din(op, 1), ck_op_dout(op, 0), op->plan->value[op->out].bytes);
    return COKE_OK;
}

const struct ck_op_class ck_op_add = {
    .kind = "add",
    .prepare = prepare_nothing,
    .prepare_backward = prepare_backward_add,
    .forward = forward_add,
    .backward = backward_add,
};

/* ---- scaling to length 1 ---- */

/* The lengths [n] live in op->data, from the forward to the backward pass. */
static int prepare_unit(struct ck_op *op)
{
    float *length = op->data = ck_alloc_array((size_t)op->plan->r.n, sizeof *length);
    op->keeps_out = 1;
    return length ? COKE_OK : COKE_ENOMEM;
}

static int prepare_backward_unit(struct ck_op *op)
{
    return ck_plan_pass_grad(op, 0, op->dout[0]);
}

static int forward_unit(struct ck_op *op)
{
    ck_unit_forward(ck_op_in(op, 0), op->plan->r.n, (int)op->plan->value[op->out].c,
                    ck_op_out(op), op->data);
    return COKE_OK;
}

static int backward_unit(struct ck_op *op)
{
    if (op->din[0] >= 0)
        ck_unit_backward(ck_op_saved(op, op->out), op->data, ck_op_dout(op, 0), op->plan->r.n,
                         (int)op->plan->value[op->out].c, ck_op_din(op, 0));
    return COKE_OK;
}

static void release_unit(struct ck_op *op)
{
    ck_free(op->data);
}

const struct ck_op_class ck_op_unit = {
    .kind = "unit",
    .prepare = prepare_unit,
    .prepare_backward = prepare_backward_unit,
    .forward = forward_unit,
    .backward = backward_unit,
    .release = release_unit,
};
