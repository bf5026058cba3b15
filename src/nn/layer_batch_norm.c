/* layer_batch_norm.c - batch norm fused with what follows it: out = relu?(norm(x) + residual),
 * where the residual may have a batch norm of its own.
 *
 * Deferred results (plan_defer.c) are computed by a convolution's workers, concurrently and for
 * disjoint images: make_out() and make_din() only read op and struct norm. */
#include "core/error.h"
#include "core/mem.h"
#include "kernels/norm.h"
#include "nn/plan_ops.h"

#include <string.h>

/* One batch norm: coefficients per channel, [padded] each. Valid from forward to backward. */
struct unit {
    const struct ck_node *node;
    int64_t channels, padded;
    float *mean, *var, *invstd, *scale, *shift, *ca, *cb, *cc;
    double *sums; /* [2][padded], part of norm.sums */
    int summed;   /* the convolution before it writes the sums of the input */
};

/* op->data. One allocation of floats and one of doubles hold all arrays; the doubles are
 * contiguous so that a single all-reduce covers count and sums. */
struct norm {
    struct unit unit[2];
    int units;
    float *floats;
    double *sums; /* [1]: values per channel, then the units' sums */
    int64_t nsums;
};

/* A range of images of a batch. */
struct range {
    int64_t first, images;
};

static struct range whole(const struct ck_op *op)
{
    return (struct range){0, op->plan->value[op->in[0]].act.n};
}

static struct ck_act_shape shape_of(const struct ck_value *v, struct range r)
{
    return (struct ck_act_shape){r.images, v->act.cb, v->act.s, v->act.blk};
}

/* Address at which the range begins in an array shaped like v; NULL stays NULL. */
static void *part_of(const struct ck_value *v, const void *data, struct range r)
{
    size_t image = v->bytes / (size_t)v->act.n;
    return data ? (unsigned char *)(uintptr_t)data + (size_t)r.first * image : NULL;
}

static void place_unit(struct norm *m, struct unit *u, float **f, double **d)
{
    float **part[8] = {&u->mean,  &u->var, &u->invstd, &u->scale,
                       &u->shift, &u->ca,  &u->cb,     &u->cc};
    for (int i = 0; i < 8; i++, *f += u->padded)
        *part[i] = *f;
    u->sums = *d;
    *d += 2 * u->padded;
    m->nsums += 2 * u->padded;
}

/* Lets the convolution that yields input `which` sum it. */
static void ask_for_sums(struct ck_op *op, int which)
{
    struct norm *m = op->data;
    struct unit *u = &m->unit[which];
    const struct ck_value *x = &op->plan->value[op->in[which]];
    struct ck_op *conv = &op->plan->op[x->producer];
    u->summed = op->plan->r.train && x->uses == 1 && ck_conv_gives_sums(conv);
    if (u->summed)
        conv->sums = (struct ck_tiles_sums){u->sums, u->sums + u->padded};
}

static int prepare(struct ck_op *op)
{
    const struct ck_value *x = &op->plan->value[op->in[0]];
    struct norm *m = op->data = ck_calloc_array(1, sizeof *m);
    if (!m)
        return COKE_ENOMEM;
    m->units = op->second ? 2 : 1;
    size_t padded = (size_t)ck_act_channels(&x->act);
    m->floats = ck_calloc_array(padded * 16, sizeof *m->floats);
    m->sums = ck_calloc_array(padded * 4 + 1, sizeof *m->sums);
    if (!m->floats || !m->sums)
        return COKE_ENOMEM;
    float *f = m->floats;
    double *d = m->sums + 1;
    m->nsums = 1;
    for (int i = 0; i < m->units; i++) {
        m->unit[i].node = i ? op->second : op->node;
        m->unit[i].channels = x->c;
        m->unit[i].padded = (int64_t)padded;
        place_unit(m, &m->unit[i], &f, &d);
        ask_for_sums(op, i);
    }
    op->keeps_in[0] = 1;
    op->keeps_in[1] = m->units == 2;
    op->keeps_out = op->relu && op->in[1] >= 0;
    return COKE_OK;
}

/* The masked gradient overwrites the first gradient of the output and is the residual's
 * gradient; the second, if any, is overwritten by the gradient of x. */
static int prepare_backward(struct ck_op *op)
{
    int rc = COKE_OK;
    if (op->in[1] < 0)
        return ck_plan_pass_grad(op, 0, op->dout[0]);
    CK_TRY(ck_plan_pass_grad(op, 1, op->dout[0]));
    if (op->ndout == 2)
        return ck_plan_pass_grad(op, 0, op->dout[1]);
    op->din[0] = ck_plan_grad_buffer(op, 0, &rc);
done:
    return rc;
}

/* ---- forward ---- */

/* All-reduces the sums over the ranks. A rank without images contributes zeros but must still
 * call, because the all-reduce is collective. */
static int synchronise(struct ck_op *op, struct norm *m)
{
    const struct ck_reduce *r = &op->plan->reduce;
    const struct ck_act_shape *a = &op->plan->value[op->in[0]].act;
    m->sums[0] = (double)(a->n * a->s);
    if (r->absent)
        memset(m->sums, 0, (size_t)m->nsums * sizeof *m->sums);
    return r->sum ? r->sum(r->arg, m->sums, m->nsums) : COKE_OK;
}

int ck_norm_fail_single(const struct ck_op *op)
{
    return ck_fail(COKE_EUSAGE,
                   "%s: batch norm over a single value per channel (batch 1, image 1x1) is not "
                   "defined in training",
                   op->node->name);
}

/* Computes the batch's statistics and updates the running ones. */
static int batch_statistics(struct ck_op *op, struct norm *m)
{
    struct ck_net *net = op->plan->net;
    for (int i = 0; i < m->units; i++) {
        const struct ck_value *x = &op->plan->value[op->in[i]];
        if (!m->unit[i].summed)
            ck_bn_sums(&x->act, x->dtype, ck_op_in(op, i), m->unit[i].sums,
                       m->unit[i].sums + m->unit[i].padded);
    }
    int rc = synchronise(op, m);
    if (rc)
        return rc;
    double count = m->sums[0];
    if (count < 2)
        return ck_norm_fail_single(op);
    for (int i = 0; i < m->units; i++) {
        struct unit *u = &m->unit[i];
        struct ck_param *running = &net->buffer[u->node->buffer];
        ck_bn_finish(u->channels, u->padded, count, u->sums, u->sums + u->padded, CK_NORM_EPS,
                     u->mean, u->var, u->invstd);
        ck_bn_running(u->channels, count, CK_NORM_MOMENTUM, u->mean, u->var, running[0].value,
                      running[1].value);
        net->counter[u->node->counter].value++;
    }
    return COKE_OK;
}

/* For evaluation; var is not needed. */
static void running_statistics(struct ck_op *op, struct norm *m)
{
    for (int i = 0; i < m->units; i++) {
        struct unit *u = &m->unit[i];
        const struct ck_param *running = &op->plan->net->buffer[u->node->buffer];
        memcpy(u->mean, running[0].value, (size_t)u->channels * sizeof *u->mean);
        ck_bn_invstd(u->channels, u->padded, running[1].value, CK_NORM_EPS, u->invstd);
    }
}

static void apply(const struct ck_op *op, const void *x, const void *res, void *y,
                  struct range range)
{
    const struct norm *m = op->data;
    const struct ck_value *v = &op->plan->value[op->in[0]];
    struct ck_act_shape a = shape_of(v, range);
    struct ck_bn_residual r = {part_of(v, res, range), NULL, NULL};
    if (m->units == 2) {
        r.scale = m->unit[1].scale;
        r.shift = m->unit[1].shift;
    }
    ck_bn_apply(&a, v->dtype, part_of(v, x, range), m->unit[0].scale, m->unit[0].shift,
                res ? &r : NULL, op->relu, part_of(v, y, range));
}

static void make_out(const struct ck_op *op, struct range r)
{
    apply(op, ck_op_in(op, 0), op->in[1] >= 0 ? ck_op_in(op, 1) : NULL, ck_op_out(op), r);
}

/* Computes the statistics and, unless deferred, the output. */
static int forward(struct ck_op *op)
{
    struct norm *m = op->data;
    if (op->plan->r.train)
        CK_RETURN_IF(batch_statistics(op, m));
    else
        running_statistics(op, m);
    for (int i = 0; i < m->units; i++) {
        struct unit *u = &m->unit[i];
        const struct ck_param *p = &op->plan->net->param[u->node->param];
        ck_bn_affine(u->channels, u->padded, p[0].value, p[1].value, u->mean, u->invstd,
                     u->scale, u->shift);
    }
    if (!op->deferred[CK_NORM_OUT])
        make_out(op, whole(op));
    return COKE_OK;
}

static int recompute(struct ck_op *op, void *out)
{
    apply(op, ck_op_saved(op, op->in[0]), op->in[1] >= 0 ? ck_op_saved(op, op->in[1]) : NULL,
          out, whole(op));
    return COKE_OK;
}

/* ---- backward ---- */

/* The gradient at the output of unit `which`; with a residual it has been masked already. */
static struct ck_bn_grad incoming(const struct ck_op *op, int which, int masked)
{
    const struct norm *m = op->data;
    struct ck_bn_grad g = {.dy = ck_op_dout(op, 0), .x = ck_op_saved(op, op->in[which])};
    if (masked)
        return g;
    g.dy2 = ck_op_dout(op, 1);
    if (op->relu && op->in[1] >= 0)
        g.y = ck_op_saved(op, op->out);
    else if (op->relu) {
        g.scale = m->unit[0].scale;
        g.shift = m->unit[0].shift;
    }
    return g;
}

/* Sums the gradients, masks the first one in place if there is a residual, and adds this rank's
 * own sums to the gradients of gamma and beta. */
static void sum_grads(struct ck_op *op, struct norm *m)
{
    for (int i = 0; i < m->units; i++) {
        const struct ck_value *x = &op->plan->value[op->in[i]];
        struct unit *u = &m->unit[i];
        struct ck_bn_grad g = incoming(op, i, i > 0);
        ck_bn_grad_sums(&x->act, x->dtype, &g, u->mean, u->invstd, u->sums, u->sums + u->padded,
                        i == 0 && op->in[1] >= 0 ? ck_op_dout(op, 0) : NULL);
        struct ck_param *p = &op->plan->net->param[u->node->param];
        for (int64_t c = 0; c < u->channels; c++) {
            p[0].grad[c] += (float)u->sums[u->padded + c];
            p[1].grad[c] += (float)u->sums[c];
        }
    }
}

static void make_din(const struct ck_op *op, int which, struct range r)
{
    const struct norm *m = op->data;
    const struct unit *u = &m->unit[which];
    const struct ck_value *x = &op->plan->value[op->in[which]];
    struct ck_act_shape a = shape_of(x, r);
    struct ck_bn_grad g = incoming(op, which, op->in[1] >= 0);
    int train = op->plan->r.train;
    g.dy = part_of(x, g.dy, r);
    g.dy2 = part_of(x, g.dy2, r);
    g.x = part_of(x, g.x,
                  r); /* y is not needed: with a residual the gradient is masked already */
    ck_bn_grad_apply(&a, x->dtype, &g, train ? u->ca : u->scale, train ? u->cb : NULL,
                     train ? u->cc : NULL, part_of(x, ck_op_din(op, which), r));
}

static int backward(struct ck_op *op)
{
    struct norm *m = op->data;
    sum_grads(op, m);
    if (op->plan->r.train)
        CK_RETURN_IF(synchronise(op, m));
    for (int i = 0; i < m->units; i++) {
        struct unit *u = &m->unit[i];
        if (op->plan->r.train)
            ck_bn_grad_coef(u->channels, u->padded, m->sums[0],
                            op->plan->net->param[u->node->param].value, u->mean, u->invstd,
                            u->sums, u->sums + u->padded, u->ca, u->cb, u->cc);
        /* This rank contributed no images to the batch statistics, so its dummy image gets a
         * zero gradient. */
        if (op->plan->reduce.absent) {
            memset(u->cb, 0, (size_t)u->padded * sizeof *u->cb);
            memset(u->cc, 0, (size_t)u->padded * sizeof *u->cc);
        }
        if (op->din[i] >= 0 && (i || !op->deferred[CK_NORM_DIN]))
            make_din(op, i, whole(op));
    }
    return COKE_OK;
}

void ck_norm_compute_deferred(const struct ck_op *norm, enum ck_deferred what, int64_t first,
                              int64_t images)
{
    struct range r = {first, images};
    if (what == CK_NORM_OUT)
        make_out(norm, r);
    else
        make_din(norm, 0, r);
}

static void release(struct ck_op *op)
{
    struct norm *m = op->data;
    if (!m)
        return;
    ck_free(m->floats);
    ck_free(m->sums);
    ck_free(m);
}

const struct ck_op_class ck_op_norm = {
    .kind = "batch norm",
    .two_grads = 1,
    .prepare = prepare,
    .prepare_backward = prepare_backward,
    .forward = forward,
    .backward = backward,
    .recompute = recompute,
    .release = release,
};
