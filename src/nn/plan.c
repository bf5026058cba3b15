/* plan.c - creates and runs plans. Lifetimes and the arena are plan_build.c's business. */
#include "nn/plan.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "nn/conv_table.h"
#include "nn/plan_build.h"

#include <string.h>

struct ck_plan_request ck_plan_request_default(void)
{
    return (struct ck_plan_request){.dtype = CK_F32};
}

/* ---- creation ---- */

/* Validates everything that depends on the caller; plan_build.c checks shapes. */
static int check_request(const struct ck_net *net, const struct ck_plan_request *r)
{
    if (r->n < 1 || r->h < 1 || r->w < 1 || r->n > 1 << 24 || r->h > INT16_MAX ||
        r->w > INT16_MAX)
        return ck_fail(COKE_EUSAGE, "a batch of %lld images of %lldx%lld is invalid",
                       (long long)r->n, (long long)r->h, (long long)r->w);
    if (r->dtype == CK_BF16 && !ck_tiles_how())
        return ck_fail(COKE_EUSAGE,
                       "bf16: this CPU lacks the instructions (AVX-512 BF16 or AMX); "
                       "use f32");
    if (r->nwant < 1 || r->nwant > CK_PLAN_NODES || r->ngrad > CK_PLAN_NODES)
        return ck_fail(COKE_EUSAGE, "a plan can return 1..%d nodes, not %d", CK_PLAN_NODES,
                       r->nwant);
    for (int i = 0; i < r->nwant + r->ngrad; i++) {
        int node = i < r->nwant ? r->want[i] : r->grad[i - r->nwant];
        if (node < 0 || node >= net->nnodes)
            return ck_fail(COKE_EUSAGE, "node %d does not exist", node);
    }
    for (int i = 0; i < r->ngrad; i++) {
        int asked = 0, before = 0;
        for (int j = 0; j < r->nwant; j++)
            asked |= r->want[j] == r->grad[i];
        for (int j = 0; j < i; j++)
            before |= r->grad[j] == r->grad[i];
        if (!asked || before)
            return ck_fail(COKE_EUSAGE, "node %d %s", r->grad[i],
                           before ? "has two gradients" : "has a gradient but is not wanted");
    }
    return COKE_OK;
}

/* Everything but the arena and scratch. *out is NULL after a failure. */
static int compile(struct ck_plan **out, struct ck_net *net, const struct ck_plan_request *r)
{
    *out = NULL;
    CK_RETURN_IF(check_request(net, r));
    struct ck_plan *p = ck_calloc_array(1, sizeof *p);
    if (!p)
        return COKE_ENOMEM;
    p->net = net;
    p->r = *r;
    p->threads = ck_threads();
    int rc = ck_plan_build(p);
    if (rc)
        ck_plan_free(p);
    else
        *out = p;
    return rc;
}

/* Building may have measured convolutions, so the tuning file is saved here. */
int ck_plan_new(struct ck_plan **out, struct ck_net *net, const struct ck_plan_request *r)
{
    struct ck_plan *p;
    int rc = COKE_OK;
    *out = NULL;
    CK_RETURN_IF(compile(&p, net, r));
    CK_TRY(ck_plan_allocate(p));
    CK_TRY(ck_tuning_save());
    *out = p;
    p = NULL;
done:
    ck_plan_free(p);
    return rc;
}

int ck_plan_measure(struct ck_net *net, const struct ck_plan_request *r, size_t *bytes)
{
    struct ck_plan *p;
    *bytes = 0;
    CK_RETURN_IF(compile(&p, net, r));
    *bytes = ck_plan_bytes(p);
    ck_plan_free(p);
    return COKE_OK;
}

void ck_plan_free(struct ck_plan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->nops; i++)
        if (p->op[i].class->release)
            p->op[i].class->release(&p->op[i]);
    for (int i = 0; p->value && i < p->net->nnodes; i++)
        ck_format_free(p->value[i].format);
    ck_free(p->value);
    ck_free(p->op);
    ck_free(p->buffer);
    ck_free(p->arena);
    ck_free(p->scratch);
    ck_free(p);
}

void ck_plan_synchronise(struct ck_plan *p, const struct ck_reduce *reduce)
{
    p->reduce = reduce ? *reduce : (struct ck_reduce){NULL, NULL, 0};
}

void ck_plan_watch(struct ck_plan *p, const struct ck_grad_hook *hook)
{
    p->hook = hook ? *hook : (struct ck_grad_hook){NULL, NULL};
}

size_t ck_plan_bytes(const struct ck_plan *p)
{
    return p->arena_bytes + p->scratch_bytes;
}

/* ---- conversion between internal layouts and plain arrays ---- */

/* Copies vectors. Images are converted for taps and tests only, so the operation is created on
 * demand. */
static int convert(const struct ck_plan *p, const struct ck_value *v, void *inside,
                   float *outside, int inwards)
{
    int rc = COKE_OK;
    struct ck_format *plain = NULL;
    struct ck_dnn_op *op = NULL;
    void *scratch = NULL;
    int64_t dims[4] = {p->r.n, v->c, v->h, v->w};
    if (v->is_vector) {
        memcpy(inwards ? inside : (void *)outside, inwards ? (void *)outside : inside,
               v->bytes);
        return COKE_OK;
    }
    if (v->dtype == CK_BF16) {
        if (inwards)
            ck_tiles_from_plain(p->r.n, v->c, v->h * v->w, outside, inside);
        else
            ck_tiles_to_plain(p->r.n, v->c, v->h * v->w, inside, outside);
        return COKE_OK;
    }
    CK_TRY(ck_format_image(&plain, dims, CK_PLAIN));
    CK_TRY(ck_reorder_new(&op, inwards ? plain : v->format, inwards ? v->format : plain));
    scratch = ck_alloc_array(ck_dnn_op_scratch(op) + 1, 1);
    if (!scratch)
        CK_LEAVE(COKE_ENOMEM);
    void *arg[CK_DNN_ARGS] = {[CK_ARG_SRC] = inwards ? (void *)outside : inside,
                              [CK_ARG_DST] = inwards ? inside : (void *)outside};
    CK_TRY(ck_dnn_op_run(op, arg, scratch));
done:
    ck_free(scratch);
    ck_dnn_op_free(op);
    ck_format_free(plain);
    return rc;
}

int64_t ck_plan_elements(const struct ck_plan *p, int node)
{
    const struct ck_value *v = &p->value[node];
    return p->r.n * v->c * v->h * v->w;
}

const float *ck_plan_vector(const struct ck_plan *p, int node)
{
    const struct ck_value *v = &p->value[node];
    return v->wanted && v->is_vector ? ck_buffer_data(p, v->buffer) : NULL;
}

int ck_plan_read(const struct ck_plan *p, int node, float *out)
{
    const struct ck_value *v = &p->value[node];
    if (!v->wanted || !p->ran)
        return ck_fail(COKE_EUSAGE, "node %d cannot be read: it was not requested", node);
    return convert(p, v, ck_buffer_data(p, v->buffer), out, 0);
}

/* ---- running ---- */

/* Keeps the fastest run of each pass; 0 = none yet. */
static void note_time(struct ck_op *op, int pass, double seconds)
{
    if (seconds > 0 && (op->seconds[pass] == 0 || seconds < op->seconds[pass]))
        op->seconds[pass] = seconds;
}

static int check_threads(const struct ck_plan *p)
{
    return ck_threads() <= p->threads
               ? COKE_OK
               : ck_fail(COKE_EUSAGE, "the plan was made for %d threads and cannot run on %d",
                         p->threads, ck_threads());
}

/* Rejects a single value per channel before running statistics change; with several processes
 * the count is known only after the all-reduce. */
static int check_counts(const struct ck_plan *p)
{
    for (int i = 0; i < p->nops && p->r.train && !p->reduce.sum; i++) {
        const struct ck_op *op = &p->op[i];
        const struct ck_value *y = &p->value[op->out];
        if (op->class == &ck_op_norm && y->act.n * y->act.s < 2)
            return ck_norm_fail_single(op);
    }
    return COKE_OK;
}

/* A failure leaves the plan without readable outputs. */
int ck_plan_forward(struct ck_plan *p, const float *images)
{
    int rc = COKE_OK;
    p->images = images;
    p->ran = p->fresh = 0;
    CK_TRY(check_threads(p));
    CK_TRY(check_counts(p));
    for (int i = 0; i < p->nops; i++) {
        double start = ck_clock_seconds();
        CK_TRY(p->op[i].class->forward(&p->op[i]));
        note_time(&p->op[i], 0, ck_clock_seconds() - start);
    }
    p->ran = p->fresh = 1;
done:
    p->images = NULL;
    return rc;
}

static int take_gradients(struct ck_plan *p, const float *const *grad)
{
    for (int i = 0; i < p->r.ngrad; i++) {
        const struct ck_value *v = &p->value[p->r.grad[i]];
        /* plan_build.c registers these gradients first, so grad[0] is their buffer. */
        int rc = convert(p, v, ck_buffer_data(p, v->grad[0]), (float *)(uintptr_t)grad[i], 1);
        if (rc)
            return rc;
    }
    return COKE_OK;
}

/* Recomputes all values that this backward step needs. Ops are in topological order, so that
 * each finds its inputs recomputed. */
static int recompute(struct ck_plan *p, int step)
{
    for (int i = 0; i < p->nops; i++) {
        struct ck_op *op = &p->op[i];
        const struct ck_value *y = &p->value[op->out];
        int rc = y->recomputed == step ? op->class->recompute(op, ck_buffer_data(p, y->saved))
                                       : COKE_OK;
        if (rc)
            return rc;
    }
    return COKE_OK;
}

/* Adds the gradients beyond those that the op accepts separately into the first one. */
static void add_grads(struct ck_plan *p, struct ck_op *op)
{
    const struct ck_value *y = &p->value[op->out];
    int64_t n = (int64_t)(y->bytes / ck_dtype_size(y->dtype));
    void *first = ck_buffer_data(p, op->dout[0]);
    for (int i = op->ndout; i < y->ngrads; i++)
        ck_add(y->dtype, n, first, ck_buffer_data(p, y->grad[i]), first);
}

/* Reports complete gradients to the hook. A convolution has one parameter; batch norm and
 * linear layers have two. */
static int announce(const struct ck_plan *p, const struct ck_node *node)
{
    if (!p->hook.ready || !node || node->param < 0)
        return COKE_OK;
    return p->hook.ready(p->hook.arg, node->param, node->kind == CK_LAYER_CONV ? 1 : 2);
}

int ck_plan_backward(struct ck_plan *p, const float *const *grad)
{
    if (!p->r.backward || !p->fresh)
        return ck_fail(COKE_EUSAGE, "cannot run the backward pass without %s",
                       p->r.backward ? "a forward pass before it" : "a plan made for it");
    CK_RETURN_IF(check_threads(p));
    p->fresh = 0; /* gradients overwrite activations */
    CK_RETURN_IF(take_gradients(p, grad));
    for (int i = p->nops - 1; i >= 0; i--) {
        struct ck_op *op = &p->op[i];
        if (!op->ndout)
            continue;
        if (!op->class->backward) { /* the input layer: gradient of the images */
            add_grads(p, op);
            continue;
        }
        double start = ck_clock_seconds();
        if (p->r.recompute)
            CK_RETURN_IF(recompute(p, ck_plan_backward_step(op)));
        add_grads(p, op);
        CK_RETURN_IF(op->class->backward(op));
        note_time(op, 1, ck_clock_seconds() - start - op->weights_seconds);
        note_time(op, 2, op->weights_seconds);
        CK_RETURN_IF(announce(p, op->node));
        CK_RETURN_IF(announce(p, op->second));
    }
    return COKE_OK;
}

int ck_plan_read_input_grad(const struct ck_plan *p, float *out)
{
    const struct ck_value *v = &p->value[0];
    if (!p->r.input_grad || !v->ngrads)
        return ck_fail(COKE_EUSAGE, "the plan was not made for gradients of the images");
    return convert(p, v, ck_buffer_data(p, v->grad[0]), out, 0);
}

/* ---- costs ---- */

int ck_plan_costs(const struct ck_plan *p, struct ck_plan_cost *row, int room)
{
    static const char *const pass[CK_OP_PASSES] = {"forward", "backward", "weights"};
    int n = 0;
    for (int i = 0; i < p->nops; i++)
        for (int j = 0; j < CK_OP_PASSES; j++) {
            const struct ck_op *op = &p->op[i];
            if (op->seconds[j] == 0)
                continue;
            if (n < room)
                row[n] = (struct ck_plan_cost){
                    op->node->name, op->class->kind,
                    pass[j],        op->class->how ? op->class->how(op, j) : "",
                    op->seconds[j], op->flops[j]};
            n++;
        }
    return n;
}
