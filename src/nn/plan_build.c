/* plan_build.c - compiles a network: shapes, fusion, lifetimes, arena.
 *
 * Runs once per plan, on one thread. Every op is described by the buffers it reads and writes
 * and the steps in which they are live; no memory exists until ck_plan_allocate
 * all. */
#include "nn/plan_build.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "nn/plan_defer.h"

#include <string.h>

/* ---- shapes ---- */

/* Output size of a window that slides over `size` pixels. */
static int64_t slide(int64_t size, const struct ck_node *v)
{
    return (size + 2 * v->pad - v->kernel) / v->stride + 1;
}

static int slides(enum ck_layer kind)
{
    return kind == CK_LAYER_CONV || kind == CK_LAYER_MAX_POOL || kind == CK_LAYER_AVG_POOL;
}

static int shape_node(struct ck_plan *p, int i)
{
    const struct ck_node *v = &p->net->node[i];
    struct ck_value *y = &p->value[i];
    y->c = v->channels;
    y->is_vector = v->is_vector;
    if (v->kind == CK_LAYER_INPUT) {
        y->h = p->r.h;
        y->w = p->r.w;
        return COKE_OK;
    }
    const struct ck_value *x = &p->value[v->in[0]];
    y->h = v->is_vector ? 1 : x->h;
    y->w = v->is_vector ? 1 : x->w;
    if (!slides(v->kind))
        return COKE_OK;
    if (x->h + 2 * v->pad < v->kernel || x->w + 2 * v->pad < v->kernel)
        return ck_fail(COKE_EUSAGE,
                       "%s: an image of %lldx%lld is too small for a window of %lldx%lld",
                       v->name[0] ? v->name : "pooling", (long long)x->h, (long long)x->w,
                       (long long)v->kernel, (long long)v->kernel);
    y->h = slide(x->h, v);
    y->w = slide(x->w, v);
    return COKE_OK;
}

/* The limit is far beyond any memory and far below what overflows in later products. */
static int check_size(const struct ck_plan *p, const struct ck_value *y)
{
    double size = (double)p->r.n * (double)(y->c + 15) * (double)y->h * (double)y->w;
    return size < 1e12 ? COKE_OK
                       : ck_fail(COKE_EUSAGE,
                                 "a batch of %lld images of %lldx%lld is invalid (%.0f "
                                 "values in one layer)",
                                 (long long)p->r.n, (long long)p->r.h, (long long)p->r.w, size);
}

/* Sets element type, layout and size of a value. Vectors are always f32. */
static int format_value(struct ck_plan *p, struct ck_value *y)
{
    int bf16 = p->r.dtype == CK_BF16;
    int64_t dims[4] = {p->r.n, y->c, y->h, y->w};
    int64_t block = bf16 ? ck_tiles_block(y->c) : ck_dnn_block();
    if (y->is_vector) {
        y->dtype = CK_F32;
        y->act = (struct ck_act_shape){p->r.n, 1, 1, y->c};
        y->bytes = (size_t)(p->r.n * y->c) * sizeof(float);
        return COKE_OK;
    }
    y->dtype = p->r.dtype;
    y->act = (struct ck_act_shape){p->r.n, (y->c + block - 1) / block, y->h * y->w, block};
    y->bytes = (size_t)ck_act_size(&y->act) * ck_dtype_size(y->dtype);
    if (bf16)
        return COKE_OK;
    int rc = ck_format_image(&y->format, dims, CK_BLOCKED);
    if (!rc)
        y->bytes = ck_format_bytes(y->format);
    return rc;
}

/* Uses the layout that the first convolution prefers for the images, which have few channels
 * and would waste most of a block. Falls back to blocks if anything else reads them. */
static int format_input(struct ck_plan *p, int i)
{
    const struct ck_node *first = NULL;
    struct ck_value *y = &p->value[i];
    for (int j = 0; j < p->net->nnodes; j++)
        if (p->value[j].needed && p->net->node[j].in[0] == i)
            first = first || p->net->node[j].kind != CK_LAYER_CONV ? NULL : &p->net->node[j];
    if (!first || y->uses != 1 || y->c >= ck_dnn_block() || p->r.dtype == CK_BF16)
        return format_value(p, y);
    struct ck_conv_shape s = {p->r.n,
                              y->c,
                              y->h,
                              y->w,
                              first->channels,
                              slide(y->h, first),
                              slide(y->w, first),
                              first->kernel,
                              first->stride,
                              first->pad};
    struct ck_dnn_op *trial = NULL;
    struct ck_format *out = NULL;
    int64_t block = ck_dnn_block();
    s.oc = (s.oc + block - 1) / block * block; /* as conv.c pads it */
    int64_t dims[4] = {s.n, s.oc, s.oh, s.ow};
    int rc = COKE_OK;
    CK_TRY(ck_format_image(&out, dims, CK_BLOCKED));
    CK_TRY(ck_dnn_conv_new(&trial, &s, CK_CONV_FORWARD, NULL, out, 0));
    CK_TRY(ck_format_copy(&y->format, ck_dnn_op_format(trial, CK_ARG_SRC)));
    y->dtype = p->r.dtype;
    y->bytes = ck_format_bytes(y->format);
done:
    ck_dnn_op_free(trial);
    ck_format_free(out);
    return rc;
}

static int same_size(struct ck_plan *p, const struct ck_node *v)
{
    const struct ck_value *a = &p->value[v->in[0]], *b = &p->value[v->in[1]];
    if (a->h == b->h && a->w == b->w)
        return COKE_OK;
    return ck_fail(COKE_EUSAGE, "cannot add images of %lldx%lld and %lldx%lld", (long long)a->h,
                   (long long)a->w, (long long)b->h, (long long)b->w);
}

/* Marks what the wanted nodes depend on, then computes shapes input first. Nodes are in
 * topological order, so that one sweep in each direction suffices. */
static int shape_all(struct ck_plan *p)
{
    int n = p->net->nnodes;
    for (int i = 0; i < p->r.nwant; i++)
        p->value[p->r.want[i]].wanted = p->value[p->r.want[i]].needed = 1;
    for (int i = n - 1; i >= 0; i--)
        for (int j = 0; j < 2 && p->value[i].needed; j++)
            if (p->net->node[i].in[j] >= 0) {
                p->value[p->net->node[i].in[j]].needed = 1;
                p->value[p->net->node[i].in[j]].uses++;
            }
    for (int i = 0; i < n; i++)
        if (p->value[i].needed) {
            CK_RETURN_IF(shape_node(p, i));
            CK_RETURN_IF(check_size(p, &p->value[i]));
        }
    for (int i = 0; i < n; i++) {
        const struct ck_node *v = &p->net->node[i];
        if (!p->value[i].needed)
            continue;
        if (v->kind == CK_LAYER_ADD)
            CK_RETURN_IF(same_size(p, v));
        CK_RETURN_IF(v->kind == CK_LAYER_INPUT ? format_input(p, i)
                                               : format_value(p, &p->value[i]));
    }
    return COKE_OK;
}

/* ---- operations: batch norm fuses with the addition and ReLU after it ---- */

/* Read by exactly one node and not by the caller, so that it need not exist. */
static int is_private(const struct ck_plan *p, int node)
{
    return p->value[node].uses == 1 && !p->value[node].wanted;
}

static int is_private_norm(const struct ck_plan *p, int node)
{
    return p->net->node[node].kind == CK_LAYER_NORM && is_private(p, node);
}

/* An addition that is fused into a batch norm. */
static int is_fused_add(const struct ck_plan *p, int node)
{
    const struct ck_node *v = &p->net->node[node];
    return v->kind == CK_LAYER_ADD &&
           (is_private_norm(p, v->in[0]) || is_private_norm(p, v->in[1]));
}

/* Marks the nodes that get no op of their own because their only reader computes them. */
static void mark_fused(const struct ck_plan *p, char *fused)
{
    for (int i = 0; i < p->net->nnodes; i++) {
        const struct ck_node *v = &p->net->node[i];
        if (!p->value[i].needed)
            continue;
        if (v->kind == CK_LAYER_RELU && is_private(p, v->in[0]) &&
            (p->net->node[v->in[0]].kind == CK_LAYER_NORM || is_fused_add(p, v->in[0])))
            fused[v->in[0]] = 1;
        if (is_fused_add(p, i))
            for (int j = 0; j < 2; j++)
                if (is_private_norm(p, v->in[j]))
                    fused[v->in[j]] = 1;
    }
}

static const struct ck_op_class *class_of(enum ck_layer kind)
{
    switch (kind) {
    case CK_LAYER_INPUT:
        return &ck_op_input;
    case CK_LAYER_CONV:
        return &ck_op_conv;
    case CK_LAYER_NORM:
        return &ck_op_norm;
    case CK_LAYER_RELU:
        return &ck_op_relu;
    case CK_LAYER_GELU:
        return &ck_op_gelu;
    case CK_LAYER_ADD:
        return &ck_op_add;
    case CK_LAYER_MAX_POOL:
        return &ck_op_max_pool;
    case CK_LAYER_AVG_POOL:
        return &ck_op_avg_pool;
    case CK_LAYER_MEAN:
        return &ck_op_mean;
    case CK_LAYER_LINEAR:
        return &ck_op_linear;
    case CK_LAYER_UNIT:
        return &ck_op_unit;
    }
    return NULL;
}

/* Turns the op of a chain's last node into a batch norm with its addition and ReLU, as far as
 * they are marked. If both sides of the addition are private batch norms, the second is fused,
 * too. */
static void fuse(const struct ck_plan *p, struct ck_op *op, const char *fused)
{
    const struct ck_node *node = p->net->node;
    int at = op->out;
    if (node[at].kind == CK_LAYER_RELU && fused[node[at].in[0]]) {
        op->relu = 1;
        at = node[at].in[0];
    }
    if (node[at].kind == CK_LAYER_ADD && is_fused_add(p, at)) {
        int first = is_private_norm(p, node[at].in[0]) ? 0 : 1;
        int other = node[at].in[!first];
        op->in[1] = other;
        if (is_private_norm(p, other) && other != node[at].in[first]) {
            op->second = &node[other];
            op->in[1] = node[other].in[0];
        }
        at = node[at].in[first];
    }
    if (node[at].kind != CK_LAYER_NORM)
        return;
    op->class = &ck_op_norm;
    op->node = &node[at];
    op->in[0] = node[at].in[0];
}

static int make_ops(struct ck_plan *p)
{
    int n = p->net->nnodes;
    char *fused = ck_calloc_array((size_t)n, 1);
    if (!fused)
        return COKE_ENOMEM;
    mark_fused(p, fused);
    for (int i = 0; i < n; i++) {
        if (!p->value[i].needed || fused[i])
            continue;
        struct ck_op *op = &p->op[p->nops];
        const struct ck_node *v = &p->net->node[i];
        *op = (struct ck_op){.class = class_of(v->kind),
                             .plan = p,
                             .index = p->nops,
                             .node = v,
                             .in = {v->in[0], v->in[1]},
                             .out = i,
                             .aux = -1,
                             .din = {-1, -1}};
        fuse(p, op, fused);
        p->value[i].producer = p->nops++;
    }
    ck_free(fused);
    return COKE_OK;
}

/* ---- buffers and their lifetimes ---- */

int ck_plan_backward_step(const struct ck_op *op)
{
    return 2 * op->plan->nops - 1 - op->index;
}

int ck_plan_buffer(struct ck_plan *p, size_t bytes, int first, int last)
{
    CK_RETURN_IF(CK_VEC_RESERVE(p->buffer, p->room_buffers, p->nbuffers + 1));
    p->buffer[p->nbuffers] = (struct ck_buffer){{bytes, first, last, 0}, NULL};
    return p->nbuffers++;
}

void ck_plan_live_until(struct ck_plan *p, int buffer, int step)
{
    if (p->buffer[buffer].span.last < step)
        p->buffer[buffer].span.last = step;
}

/* Adds the outputs of the forward pass, live until the last op that reads them; wanted ones
 * until after the last step. */
static int buffer_values(struct ck_plan *p)
{
    for (int i = 0; i < p->nops; i++) {
        struct ck_op *op = &p->op[i];
        struct ck_value *y = &p->value[op->out];
        y->buffer = ck_plan_buffer(p, y->bytes, i, y->wanted ? 2 * p->nops : i);
        if (y->buffer < 0)
            return y->buffer;
        for (int j = 0; j < 2; j++)
            if (op->in[j] >= 0)
                ck_plan_live_until(p, p->value[op->in[j]].buffer, i);
        if (op->aux_bytes && p->r.backward) {
            op->aux = ck_plan_buffer(p, op->aux_bytes, i, ck_plan_backward_step(op));
            if (op->aux < 0)
                return op->aux;
        }
    }
    return COKE_OK;
}

int ck_plan_wants_grad(const struct ck_op *op, int which)
{
    const struct ck_plan *p = op->plan;
    return op->in[which] >= 0 &&
           (p->net->node[op->in[which]].kind != CK_LAYER_INPUT || p->r.input_grad);
}

/* The step in which the gradient of an input is consumed: the backward step of the op that
 * produces that input. The network's input has no backward pass, but its gradient must last
 * until the caller reads it. */
static int reader_step(const struct ck_op *op, int which)
{
    const struct ck_plan *p = op->plan;
    return ck_plan_backward_step(&p->op[p->value[op->in[which]].producer]);
}

static int add_grad(struct ck_value *x, int buffer)
{
    if (x->ngrads == CK_VALUE_GRADS)
        return ck_fail(COKE_EUSAGE, "a node has more than %d readers", CK_VALUE_GRADS);
    x->grad[x->ngrads++] = buffer;
    return COKE_OK;
}

int ck_plan_grad_buffer(struct ck_op *op, int which, int *rc)
{
    struct ck_plan *p = op->plan;
    if (!ck_plan_wants_grad(op, which))
        return -1;
    struct ck_value *x = &p->value[op->in[which]];
    int b = ck_plan_buffer(p, x->bytes, ck_plan_backward_step(op), reader_step(op, which));
    if (b >= 0)
        *rc = add_grad(x, b);
    else
        *rc = b;
    return b;
}

int ck_plan_pass_grad(struct ck_op *op, int which, int buffer)
{
    if (!ck_plan_wants_grad(op, which))
        return COKE_OK;
    ck_plan_live_until(op->plan, buffer, reader_step(op, which));
    op->din[which] = buffer;
    return add_grad(&op->plan->value[op->in[which]], buffer);
}

/* Must come first: take_gradients() in plan.c fills grad[0]. */
static int give_grads(struct ck_plan *p)
{
    for (int i = 0; i < p->r.ngrad; i++) {
        struct ck_value *y = &p->value[p->r.grad[i]];
        int b =
            ck_plan_buffer(p, y->bytes, p->nops, ck_plan_backward_step(&p->op[y->producer]));
        int rc = b < 0 ? b : add_grad(y, b);
        if (rc)
            return rc;
    }
    return COKE_OK;
}

static int needs_backward(const struct ck_op *op)
{
    return op->class->backward != NULL && op->ndout > 0;
}

/* Walks backward, so that all gradients of an op's output are registered before the op is
 * prepared. */
static int buffer_grads(struct ck_plan *p)
{
    CK_RETURN_IF(give_grads(p));
    for (int i = p->nops - 1; i >= 0; i--) {
        struct ck_op *op = &p->op[i];
        struct ck_value *y = &p->value[op->out];
        op->ndout = y->ngrads > 1 + op->class->two_grads ? 1 + op->class->two_grads : y->ngrads;
        for (int j = 0; j < op->ndout; j++)
            op->dout[j] = y->grad[j];
        if (needs_backward(op))
            CK_RETURN_IF(op->class->prepare_backward(op));
    }
    return COKE_OK;
}

/* ---- what the backward pass reads of the forward pass ---- */

/* Value v is read in the backward step `step`: keep it, or recompute it then from values that
 * are kept or recomputed themselves. Called in the order of the backward steps, so that the
 * first call for a value sees its first use. */
static int save(struct ck_plan *p, int v, int step)
{
    struct ck_value *y = &p->value[v];
    struct ck_op *op = &p->op[y->producer];
    if (y->saved >= 0) {
        ck_plan_live_until(p, y->saved, step);
        return COKE_OK;
    }
    if (!p->r.recompute || !op->class->recompute || y->is_vector || y->wanted) {
        y->saved = y->buffer;
        ck_plan_live_until(p, y->saved, step);
        return COKE_OK;
    }
    int rc = COKE_OK;
    for (int j = 0; j < 2; j++)
        if (op->in[j] >= 0)
            CK_TRY(save(p, op->in[j], step));
    y->recomputed = step;
    y->saved = ck_plan_buffer(p, y->bytes, step, step);
    rc = y->saved < 0 ? y->saved : COKE_OK;
done:
    return rc;
}

static int save_all(struct ck_plan *p)
{
    for (int i = p->nops - 1; i >= 0; i--) {
        struct ck_op *op = &p->op[i];
        if (!needs_backward(op))
            continue;
        for (int j = 0; j < 2; j++)
            if (op->in[j] >= 0 && op->keeps_in[j])
                CK_RETURN_IF(save(p, op->in[j], ck_plan_backward_step(op)));
        if (op->keeps_out)
            CK_RETURN_IF(save(p, op->out, ck_plan_backward_step(op)));
    }
    return COKE_OK;
}

/* ---- driver ---- */

/* Sets the offsets of the buffers in an arena that does not exist yet. One scratch serves all ops, because they run one after another. */
static int lay_out(struct ck_plan *p)
{
    struct ck_span *span = ck_alloc_array((size_t)p->nbuffers, sizeof *span);
    if (!span)
        return COKE_ENOMEM;
    for (int i = 0; i < p->nbuffers; i++)
        span[i] = p->buffer[i].span;
    p->arena_bytes = ck_arena_lay_out(span, p->nbuffers);
    for (int i = 0; i < p->nbuffers; i++)
        p->buffer[i].span.offset = span[i].offset;
    for (int i = 0; i < p->nops; i++)
        if (p->op[i].scratch > p->scratch_bytes)
            p->scratch_bytes = p->op[i].scratch;
    ck_free(span);
    return p->arena_bytes ? COKE_OK : COKE_ENOMEM;
}

int ck_plan_allocate(struct ck_plan *p)
{
    p->arena = ck_alloc_array(p->arena_bytes, 1);
    p->scratch = ck_alloc_array(p->scratch_bytes + 64, 1);
    if (!p->arena || !p->scratch)
        return COKE_ENOMEM;
    ck_mem_large_pages(p->arena, p->arena_bytes);
    ck_mem_large_pages(p->scratch, p->scratch_bytes);
    for (int i = 0; i < p->nbuffers; i++)
        p->buffer[i].data = p->arena + p->buffer[i].span.offset;
    return COKE_OK;
}

int ck_plan_build(struct ck_plan *p)
{
    int n = p->net->nnodes;
    p->value = ck_calloc_array((size_t)n, sizeof *p->value);
    p->op = ck_calloc_array((size_t)n, sizeof *p->op);
    if (!p->value || !p->op)
        return COKE_ENOMEM;
    for (int i = 0; i < n; i++)
        p->value[i].buffer = p->value[i].saved = -1;
    CK_RETURN_IF(shape_all(p));
    CK_RETURN_IF(make_ops(p));
    for (int i = 0; i < p->nops; i++)
        CK_RETURN_IF(p->op[i].class->prepare(&p->op[i]));
    CK_RETURN_IF(buffer_values(p));
    if (p->r.backward) {
        CK_RETURN_IF(buffer_grads(p));
        CK_RETURN_IF(save_all(p));
    }
    ck_plan_defer(p);
    return lay_out(p);
}
