/* layer_conv.c - convolutions; each pass has its own algorithm (conv.h). */
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "nn/conv_table.h"
#include "nn/copies.h"
#include "nn/plan_ops.h"

/* op->data; owns the passes. The copies of the weights belong to the network. */
struct conv {
    struct ck_conv pass[CK_CONV_PASSES];
    int copy[CK_CONV_PASSES];   /* weights in the layout of the pass; -1 = the parameter */
    struct ck_dnn_op *to_plain; /* gradient of the weights to OIHW, or NULL */
    /* Offsets in the scratch, after the convolution's part. */
    size_t at_packed[CK_CONV_PASSES]; /* of packed weights; 0 = they are not there */
    size_t at_diff, at_plain;
};

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static struct ck_conv_shape shape_of(const struct ck_op *op)
{
    const struct ck_value *x = &op->plan->value[op->in[0]], *y = &op->plan->value[op->out];
    const struct ck_node *v = op->node;
    return (struct ck_conv_shape){op->plan->r.n, x->c, x->h,      x->w,      y->c,
                                  y->h,          y->w, v->kernel, v->stride, v->pad};
}

static void need_scratch(struct ck_op *op, size_t bytes)
{
    op->scratch = bytes > op->scratch ? bytes : op->scratch;
}

/* Creates the pass with the chosen algorithm; falls back to direct if that does not exist
 * here. */
static int make_pass(struct ck_op *op, struct conv *c, enum ck_conv_pass pass)
{
    const struct ck_value *x = &op->plan->value[op->in[0]];
    const struct ck_format *src = x->act.n ? NULL : x->format;
    struct ck_conv_shape s = shape_of(op);
    enum ck_dtype t = op->plan->r.dtype;
    enum ck_conv_way way;
    int rc = ck_conv_choose(&s, pass, t, src, &way);
    if (!rc)
        rc = ck_conv_init(&c->pass[pass], &s, pass, t, src, way);
    if (rc == COKE_EUSAGE && way == CK_WINOGRAD)
        rc = ck_conv_init(&c->pass[pass], &s, pass, t, src, CK_DIRECT);
    if (rc)
        return ck_fail_prefix(rc, "%s: ", op->node->name);
    op->flops[pass] =
        2.0 * (double)(s.n * s.oc * s.oh * s.ow) * (double)(s.ic * s.kernel * s.kernel);
    need_scratch(op, c->pass[pass].scratch);
    return COKE_OK;
}

/* In training, where the weights change between steps, each run packs them in the scratch: copies
 * of all layers, forward and data, would take as much memory as the parameters. */
static int make_copy(struct ck_op *op, struct conv *c, enum ck_conv_pass pass)
{
    const struct ck_tiles_conv *tiles = ck_conv_packing(&c->pass[pass]);
    c->copy[pass] = -1;
    if (tiles && op->plan->r.backward) {
        c->at_packed[pass] = aligned(c->pass[pass].scratch);
        need_scratch(op, c->at_packed[pass] + tiles->packed);
        return COKE_OK;
    }
    if (tiles) {
        c->copy[pass] = ck_copies_get_packed(op->plan->net, op->node->param, tiles);
        return c->copy[pass] < 0 ? c->copy[pass] : COKE_OK;
    }
    const struct ck_format *format = ck_conv_weights(&c->pass[pass]);
    int copy = format ? ck_copies_get(op->plan->net, op->node->param, format, c->pass[pass].oc,
                                      c->pass[pass].ic)
                      : -1;
    c->copy[pass] = copy;
    return format && copy < 0 ? copy : COKE_OK;
}

/* If the gradient has a layout of oneDNN's choice, it is converted to OIHW in scratch and then
 * added. */
static int make_gradient(struct ck_op *op, struct conv *c)
{
    int rc = COKE_OK;
    const struct ck_format *diff = ck_conv_weights(&c->pass[CK_CONV_WEIGHTS]);
    struct ck_format *plain = NULL;
    if (!diff)
        return COKE_OK;
    const struct ck_conv *w = &c->pass[CK_CONV_WEIGHTS];
    int64_t dims[4] = {w->oc, w->ic, op->node->kernel, op->node->kernel};
    CK_TRY(ck_format_weights(&plain, dims));
    CK_TRY(ck_reorder_new(&c->to_plain, diff, plain));
    c->at_diff = aligned(c->pass[CK_CONV_WEIGHTS].scratch + ck_dnn_op_scratch(c->to_plain));
    c->at_plain = c->at_diff + aligned(ck_format_bytes(diff));
    need_scratch(op, c->at_plain + aligned(ck_format_bytes(plain)));
done:
    ck_format_free(plain);
    return rc;
}

static int prepare(struct ck_op *op)
{
    struct conv *c = op->data = ck_calloc_array(1, sizeof *c);
    if (!c)
        return COKE_ENOMEM;
    CK_RETURN_IF(make_pass(op, c, CK_CONV_FORWARD));
    CK_RETURN_IF(make_copy(op, c, CK_CONV_FORWARD));
    op->keeps_in[0] = 1;
    return COKE_OK;
}

/* The data pass exists only if the gradient of the input is wanted. */
static int prepare_backward(struct ck_op *op)
{
    int rc = COKE_OK;
    struct conv *c = op->data;
    CK_TRY(make_pass(op, c, CK_CONV_WEIGHTS));
    CK_TRY(make_gradient(op, c));
    op->din[0] = ck_plan_grad_buffer(op, 0, &rc);
    if (rc || op->din[0] < 0)
        goto done;
    CK_TRY(make_pass(op, c, CK_CONV_DATA));
    CK_TRY(make_copy(op, c, CK_CONV_DATA));
done:
    return rc;
}

/* The weights in the pass's layout, refreshed if the parameter has changed since the last
 * run. */
static int weights_of(const struct ck_op *op, const struct conv *c, enum ck_conv_pass pass,
                      const void **weights)
{
    *weights = op->plan->net->param[op->node->param].value;
    if (c->at_packed[pass]) {
        void *packed = op->plan->scratch + c->at_packed[pass];
        ck_tiles_pack(ck_conv_packing(&c->pass[pass]), *weights, packed);
        *weights = packed;
        return COKE_OK;
    }
    return c->copy[pass] < 0 ? COKE_OK : ck_copies_fresh(op->plan->net, c->copy[pass], weights);
}

/* ---- results that batch norms defer to convolutions ---- */

int ck_conv_can_produce(const struct ck_op *conv, enum ck_conv_pass pass)
{
    const struct conv *c = conv->data;
    return ck_conv_takes_producer(&c->pass[pass]);
}

int ck_conv_gives_sums(const struct ck_op *conv)
{
    const struct conv *c = conv->data;
    return conv->class == &ck_op_conv && ck_conv_packing(&c->pass[CK_CONV_FORWARD]) != NULL;
}

/* Producers (kernels/winograd.h): run by the workers of the convolution. */
static void make_out(void *norm, int64_t first, int64_t images)
{
    ck_norm_compute_deferred(norm, CK_NORM_OUT, first, images);
}

static void make_din(void *norm, int64_t first, int64_t images)
{
    ck_norm_compute_deferred(norm, CK_NORM_DIN, first, images);
}

/* ---- running ---- */

static int forward(struct ck_op *op)
{
    struct conv *c = op->data;
    struct ck_op *norm = op->deferred[CK_NORM_OUT];
    struct ck_wino_producer producer = {make_out, norm, norm ? ck_op_in(norm, 0) : NULL};
    const void *weights;
    int rc = weights_of(op, c, CK_CONV_FORWARD, &weights);
    if (rc)
        return rc;
    void *arg[CK_DNN_ARGS] = {ck_op_in(op, 0), (void *)(uintptr_t)weights, ck_op_out(op)};
    return ck_conv_run(&c->pass[CK_CONV_FORWARD], arg, norm ? &producer : NULL,
                       op->sums.sum ? &op->sums : NULL, op->plan->scratch);
}

/* plain [..][ic][kernel][kernel] may have more channels than the parameter. */
static void add_gradient(struct ck_param *p, const float *plain, int64_t ic)
{
    int64_t window = p->shape[2] * p->shape[3], row = p->shape[1] * window;
    if (ic == p->shape[1]) {
        ck_accumulate_f32(p->size, plain, p->grad);
        return;
    }
    for (int64_t o = 0; o < p->shape[0]; o++)
        for (int64_t i = 0; i < row; i++)
            p->grad[o * row + i] += plain[o * ic * window + i];
}

static int backward_weights(struct ck_op *op, struct conv *c)
{
    struct ck_param *p = &op->plan->net->param[op->node->param];
    unsigned char *scratch = op->plan->scratch;
    void *diff = c->to_plain ? scratch + c->at_diff : (void *)p->grad;
    void *plain = scratch + c->at_plain;
    void *arg[CK_DNN_ARGS] = {(void *)(uintptr_t)ck_op_saved(op, op->in[0]), diff,
                              ck_op_dout(op, 0)};
    void *move[CK_DNN_ARGS] = {[CK_ARG_SRC] = diff, [CK_ARG_DST] = plain};
    int rc = ck_conv_run(&c->pass[CK_CONV_WEIGHTS], arg, NULL, NULL, scratch);
    if (rc || !c->to_plain)
        return rc;
    rc = ck_dnn_op_run(c->to_plain, move, scratch);
    if (!rc)
        add_gradient(p, plain, c->pass[CK_CONV_WEIGHTS].ic);
    return rc;
}

static int backward_data(struct ck_op *op, struct conv *c)
{
    struct ck_op *norm = op->deferred[CK_NORM_DIN];
    struct ck_wino_producer producer = {make_din, norm,
                                        norm ? ck_op_saved(norm, norm->in[0]) : NULL};
    const void *weights;
    int rc = weights_of(op, c, CK_CONV_DATA, &weights);
    if (rc)
        return rc;
    void *arg[CK_DNN_ARGS] = {ck_op_din(op, 0), (void *)(uintptr_t)weights, ck_op_dout(op, 0)};
    return ck_conv_run(&c->pass[CK_CONV_DATA], arg, norm ? &producer : NULL, NULL,
                       op->plan->scratch);
}

/* Data before weights: the data pass may produce the gradient of the output, which both
 * read. */
static int backward(struct ck_op *op)
{
    struct conv *c = op->data;
    if (op->din[0] >= 0)
        CK_RETURN_IF(backward_data(op, c));
    double start = ck_clock_seconds();
    CK_RETURN_IF(backward_weights(op, c));
    op->weights_seconds = ck_clock_seconds() - start;
    return COKE_OK;
}

static void release(struct ck_op *op)
{
    struct conv *c = op->data;
    if (!c)
        return;
    for (int i = 0; i < CK_CONV_PASSES; i++)
        ck_conv_release(&c->pass[i]);
    ck_dnn_op_free(c->to_plain);
    ck_free(c);
}

static const char *how(const struct ck_op *op, int pass)
{
    const struct conv *c = op->data;
    return ck_conv_how(&c->pass[pass]);
}

const struct ck_op_class ck_op_conv = {
    .kind = "conv",
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .forward = forward,
    .backward = backward,
    .release = release,
    .how = how,
};
