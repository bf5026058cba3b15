/* step.c - one training step, from images to changed weights.
 *
 * What is learned from the outputs of the encoder is the method's (method.h); they meet as plain
 * arrays. A step allocates nothing once the plans for its batch size exist. With several
 * processes each rank runs its own images, and every function marked "collective" must be called
 * by all ranks in the same order. A rank without images in a part runs a blank one, so that its
 * collective calls (the batch-norm statistics) match those of the other ranks. */
#include "core/first_error.h"
#include "core/workers.h"
#include "train/averaged.h"
#include "train/method.h"
#include "train/session.h"

#include <string.h>

/* No part is empty on all ranks. */
static int64_t count_parts(const struct ck_session *s)
{
    return s->o.accumulate < s->ranks.largest ? s->o.accumulate : s->ranks.largest;
}

static struct ck_part part_of(int64_t n, int64_t parts, int64_t i)
{
    int64_t from = ck_share_first(n, (int)i, (int)parts),
            to = ck_share_first(n, (int)i + 1, (int)parts);
    return (struct ck_part){from, to - from, NULL};
}

/* One projection per image: the mean of the unit vectors of the large views, not normalized
 * again. */
static void take_projections(struct ck_session *s, struct ck_part part)
{
    float *to = s->projections + (s->ranks.first + part.from) * s->dim;
    int64_t n = part.n * s->dim;
    for (int v = 0; v < s->large; v++) {
        const float *unit =
            ck_plan_vector(part.plans->plan[v], s->encoder.node[COKE_OUTPUT_PROJ]);
        for (int64_t i = 0; i < n; i++)
            to[i] = v ? to[i] + unit[i] : unit[i];
    }
    for (int64_t i = 0; i < n && s->large > 1; i++)
        to[i] /= (float)s->large;
}

/* ---- the views of a part ---- */

/* Shared by the threads that run views. */
struct pass {
    struct ck_session *s;
    const struct coke_batch *b;
    struct ck_part part;
    const struct ck_reduce *reduce; /* NULL = one process */
    int last;                       /* no other part of the batch follows */
    struct ck_first_error error;
};

/* Each view on a thread of its own, or one after the other on the team. */
static int run_views(struct pass *p, void (*run)(void *pass, int64_t view))
{
    if (p->s->plans.lanes)
        ck_lanes(p->s->views, run, p);
    else
        for (int v = 0; v < p->s->views && !p->error.status; v++)
            run(p, v);
    return ck_first_error_raise(&p->error);
}

static int forward_view(const struct pass *p, int64_t v)
{
    struct ck_session *s = p->s;
    struct ck_plan *plan = p->part.plans->plan[v];
    size_t bytes = (size_t)(p->part.n * s->dim) * sizeof(float);
    int64_t at = v * p->part.n * s->dim;
    ck_plan_synchronise(plan, p->reduce);
    CK_RETURN_IF(ck_plan_forward(plan, ck_session_view(s, p->b, p->part, s->skip + (int)v)));
    memcpy(s->proj + at, ck_plan_vector(plan, s->encoder.node[s->output]), bytes);
    if (s->pred)
        memcpy(s->pred + at, ck_plan_vector(plan, s->encoder.node[COKE_OUTPUT_PRED]), bytes);
    return COKE_OK;
}

static void forward(void *pass, int64_t v)
{
    struct pass *p = pass;
    int rc = forward_view(p, v);
    if (rc)
        ck_first_error_keep(&p->error, rc);
}

/* Runs the encoder forward, once per view: outputs in s->proj, s->pred [views][n][dim], which
 * replace those of the part before, and the part's rows of s->projections. Collective. */
static int encode(struct ck_session *s, const struct coke_batch *b, struct ck_part *part)
{
    struct ck_reduce reduce = ck_ranks_reduce(&s->ranks, part->n == 0);
    CK_RETURN_IF(ck_session_plans(s, b, ck_part_images(*part), &part->plans));
    struct pass pass = {
        .s = s, .b = b, .part = *part, .reduce = s->ranks.size > 1 ? &reduce : NULL};
    ck_plan_cache_begin(&s->plans, &s->encoder.net);
    CK_RETURN_IF(run_views(&pass, forward));
    ck_plan_cache_add_statistics(&s->plans, &s->encoder.net);
    take_projections(s, *part);
    return COKE_OK;
}

/* Every rank then has images and projections of the whole batch. Collective. */
static int gather(struct ck_session *s, const struct coke_batch *b)
{
    struct ck_ranks *r = &s->ranks;
    memcpy(s->ids + r->first, b->index, (size_t)b->n * sizeof *s->ids);
    CK_RETURN_IF(ck_ranks_gather(r, s->ids, sizeof *s->ids));
    CK_RETURN_IF(ck_ranks_gather(r, s->projections, (size_t)s->dim * sizeof(float)));
    for (int64_t i = 0; i < r->total * s->dim; i++)
        s->feature_sum[i % s->dim] += (double)s->projections[i];
    return COKE_OK;
}

/* Adds the sums over the ranks to those of the epoch. Collective. */
static int add_sums(struct ck_session *s, double *sums, double *loss)
{
    CK_RETURN_IF(ck_group_sum_f64(s->ranks.group, sums, 1 + 2 * s->heads.n));
    for (int h = 0; h < s->heads.n; h++) {
        s->heads.sums[h].loss += sums[1 + 2 * h];
        s->heads.sums[h].accuracy += sums[2 + 2 * h];
    }
    *loss = sums[0] / (double)s->ranks.total;
    return COKE_OK;
}

/* ---- gradients ---- */

static void begin_gradients(struct ck_session *s)
{
    ck_net_zero_grad(&s->encoder.net);
    if (s->ranks.size > 1)
        ck_buckets_begin(s->ranks.buckets);
}

/* A blank image gets a zero gradient. */
static void clear_gradients(struct ck_session *s)
{
    size_t bytes = (size_t)(s->views * s->dim) * sizeof(float);
    memset(s->grad_proj, 0, bytes);
    if (s->pred)
        memset(s->grad_pred, 0, bytes);
}

static int backward_view(const struct pass *p, int64_t v)
{
    struct ck_session *s = p->s;
    struct ck_plan *plan = p->part.plans->plan[v];
    int64_t at = v * ck_part_images(p->part) * s->dim;
    int completes = p->last && v == s->views - 1 && s->ranks.size > 1;
    ck_plan_watch(plan, completes ? &s->ranks.hook : NULL);
    const float *seed[2] = {s->grad_proj + at, s->pred ? s->grad_pred + at : NULL};
    return ck_plan_backward(plan, seed);
}

static void backward(void *pass, int64_t v)
{
    struct pass *p = pass;
    int rc = backward_view(p, v);
    if (rc)
        ck_first_error_keep(&p->error, rc);
}

/* Runs the encoder backward, adding the part's gradients to those of the weights. The last view
 * of the last part completes them: during that pass the hook starts the all-reduce of every
 * bucket as soon as it is ready. Collective. */
static int propagate(struct ck_session *s, struct ck_part part, int last)
{
    struct pass pass = {.s = s, .part = part, .last = last};
    if (part.n == 0)
        clear_gradients(s);
    CK_RETURN_IF(run_views(&pass, backward));
    ck_plan_cache_add_gradients(&s->plans, &s->encoder.net);
    return COKE_OK;
}

/* Waits for the all-reduce of the gradients, then steps the optimizer. Collective. */
static int update_weights(struct ck_session *s, const struct coke_batch *b, double rate)
{
    if (s->ranks.size > 1)
        CK_RETURN_IF(ck_buckets_finish(s->ranks.buckets));
    int64_t step = b->epoch * b->steps + b->step;
    ck_optimizer_set_decay(s->optimizer,
                           ck_train_weight_decay(&s->o, step, s->o.epochs * b->steps));
    return ck_optimizer_step(s->optimizer, rate, 1, step + 1);
}

/* ---- the step ---- */

enum { SETTLED = 100 }; /* steps after which the statistics of batch norm hardly change */

/* Epoch 0 of most methods: no gradients, no backward pass, weights stay as they are. Without
 * clusters to find, it only gives batch norm the statistics with which the network is evaluated. */
static int scan_step(struct ck_session *s, const struct coke_batch *b, double *sums)
{
    if (!s->method->scan && b->step >= SETTLED)
        return COKE_OK;
    int64_t parts = count_parts(s);
    for (int64_t i = 0; i < parts; i++) {
        struct ck_part part = part_of(b->n, parts, i);
        CK_RETURN_IF(encode(s, b, &part));
    }
    CK_RETURN_IF(gather(s, b));
    return s->method->scan ? s->method->scan(s, b, parts, sums) : COKE_OK;
}

static int learn_step(struct ck_session *s, const struct coke_batch *b, double rate,
                      double *sums)
{
    const struct ck_method *m = s->method;
    int64_t parts = count_parts(s);
    begin_gradients(s);
    if (m->begin_step)
        CK_RETURN_IF(m->begin_step(s, b));
    for (int64_t i = 0; i < parts; i++) {
        struct ck_part part = part_of(b->n, parts, i);
        CK_RETURN_IF(encode(s, b, &part));
        if (i == parts - 1)
            CK_RETURN_IF(gather(s, b));
        CK_RETURN_IF(m->loss(s, b, part, sums));
        CK_RETURN_IF(propagate(s, part, i == parts - 1));
    }
    if (m->end_step)
        CK_RETURN_IF(m->end_step(s, b));
    CK_RETURN_IF(update_weights(s, b, rate));
    return m->after_step ? m->after_step(s, b) : COKE_OK;
}

int ck_session_step(struct ck_session *s, const struct coke_batch *b, struct ck_step *out)
{
    double sums[CK_SUMS] = {0}, rate = ck_schedule_rate(&s->schedule, b->epoch, b->step);
    int scans = b->epoch == 0 && !s->method->learns_at_once;
    CK_RETURN_IF(ck_ranks_count(&s->ranks, b->n));
    *out = (struct ck_step){b->epoch, b->step, s->ranks.total, rate, 0};
    CK_RETURN_IF(scans ? scan_step(s, b, sums) : learn_step(s, b, rate, sums));
    ck_averaged_update(s, b->epoch, b->step);
    return add_sums(s, sums, &out->loss);
}
