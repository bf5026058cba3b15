/* step.c - one training step, from images to changed weights and clusters. */
#include "core/error.h"
#include "train/session.h"

#include <string.h>

/* A part of this process's images: with gradient accumulation the network sees one after the
 * other. Of several processes some may have no image in it; they go through the motions with a
 * blank one, because the others wait for their sums. */
struct part {
    int64_t from, n;
};

static int64_t images_run(struct part part)
{
    return part.n > 0 ? part.n : 1;
}

static int64_t image_floats(const struct coke_batch *b, int v)
{
    return (int64_t)b->channels * b->width[v] * b->height[v];
}

/* Unit vectors of all views. */
static int encode(struct ck_session *s, const struct coke_batch *b, struct part part,
                  struct ck_passes *p)
{
    size_t bytes = (size_t)(part.n * s->dim) * sizeof(float);
    struct ck_reduce reduce = ck_ranks_reduce(&s->ranks, part.n == 0);
    for (int v = 0; v < s->views; v++) {
        const float *x = part.n ? b->x[v] + part.from * image_floats(b, v) : s->blank;
        ck_plan_synchronise(p->plan[v], s->ranks.size > 1 ? &reduce : NULL);
        CK_RETURN_IF(ck_plan_forward(p->plan[v], x));
        int64_t at = v * part.n * s->dim;
        memcpy(s->proj + at, ck_plan_vector(p->plan[v], s->encoder.node[COKE_OUTPUT_PROJ]),
               bytes);
        if (s->pred)
            memcpy(s->pred + at, ck_plan_vector(p->plan[v], s->encoder.node[COKE_OUTPUT_PRED]),
                   bytes);
    }
    return COKE_OK;
}

/* What is clustered: the projection, or the mean of those of the two large views. */
static void take_features(struct ck_session *s, struct part part)
{
    float *to = s->features + (s->ranks.first + part.from) * s->dim;
    const float *a = s->proj, *b = s->proj + part.n * s->dim;
    for (int64_t i = 0; i < part.n * s->dim; i++)
        to[i] = s->large == 1 ? a[i] : 0.5f * (a[i] + b[i]);
}

/* All processes get the features of the whole batch, label their own, and move the centers by
 * all of them in the same way. */
static int cluster(struct ck_session *s, const struct coke_batch *b, int current)
{
    struct ck_ranks *r = &s->ranks;
    struct ck_label_share share = ck_ranks_share(r);
    memcpy(s->ids + r->first, b->index, (size_t)b->n * sizeof *s->ids);
    CK_RETURN_IF(ck_ranks_gather(r, s->ids, sizeof *s->ids));
    CK_RETURN_IF(ck_ranks_gather(r, s->features, (size_t)s->dim * sizeof(float)));
    for (int64_t i = 0; i < r->total * s->dim; i++)
        s->feature_sum[i % s->dim] += (double)s->features[i];
    CK_RETURN_IF(ck_heads_update(&s->heads, s->features, s->ids, r->total, current,
                                 r->size > 1 ? &share : NULL));
    return COKE_OK;
}

/* The targets of a part of the batch. Those of this step's labels are of all processes. */
static void slice_targets(const struct ck_session *s, struct part part, struct ck_targets *out)
{
    for (int h = 0; h < s->heads.n; h++) {
        struct ck_targets t = s->heads.target[h];
        int64_t from = part.from + (t.n == s->ranks.total ? s->ranks.first : 0);
        t.label += from * t.slots;
        t.weight = t.weight ? t.weight + from * t.slots : NULL;
        t.n = part.n;
        out[h] = t;
    }
}

/* Sums over the images of a step: the loss, then of each head loss and accuracy. */
enum { SUMS = 1 + 2 * COKE_MAX_HEADS };

static int compute_loss(struct ck_session *s, struct part part, int gradients, double *sums)
{
    if (part.n == 0)
        return COKE_OK;
    struct ck_targets target[COKE_MAX_HEADS];
    double head_loss[COKE_MAX_HEADS], accuracy[COKE_MAX_HEADS];
    slice_targets(s, part, target);
    struct ck_loss_input in = {part.n, s->proj, s->pred, s->heads.centers, target};
    struct ck_loss_output out = {.grad_proj = gradients ? s->grad_proj : NULL,
                                 .grad_pred = gradients ? s->grad_pred : NULL,
                                 .head_loss = head_loss,
                                 .accuracy = accuracy};
    int rc = ck_loss_step(s->loss, &in, &out);
    if (rc)
        return rc;
    sums[0] += out.loss * (double)part.n;
    for (int h = 0; h < s->heads.n; h++) {
        sums[1 + 2 * h] += head_loss[h] * (double)part.n;
        sums[2 + 2 * h] += accuracy[h] * (double)part.n;
    }
    return COKE_OK;
}

static int add_sums(struct ck_session *s, double *sums, double *loss)
{
    int rc = ck_group_sum_f64(s->ranks.group, sums, 1 + 2 * s->heads.n);
    for (int h = 0; h < s->heads.n; h++) {
        s->heads.sums[h].loss += sums[1 + 2 * h];
        s->heads.sums[h].accuracy += sums[2 + 2 * h];
    }
    *loss = sums[0] / (double)s->ranks.total;
    return rc;
}

/* The loss is a mean over the part; of the batch it is a share. */
static void scale_gradients(struct ck_session *s, struct part part)
{
    float share = (float)part.n / (float)s->ranks.total;
    int64_t n = s->views * images_run(part) * s->dim;
    for (int64_t i = 0; i < n; i++) {
        s->grad_proj[i] = part.n ? s->grad_proj[i] * share : 0;
        if (s->pred)
            s->grad_pred[i] = part.n ? s->grad_pred[i] * share : 0;
    }
}

/* Adds this part's share of the gradients. The last pass of a step completes them: from then
 * on they are added up over the processes. */
static int propagate(struct ck_session *s, struct part part, int last, struct ck_passes *p)
{
    if (part.n < s->ranks.total)
        scale_gradients(s, part);
    for (int v = 0; v < s->views; v++) {
        int64_t at = v * images_run(part) * s->dim;
        int watched = last && v == s->views - 1 && s->ranks.size > 1;
        ck_plan_watch(p->plan[v], watched ? &s->ranks.watch : NULL);
        const float *seed[2] = {s->grad_proj + at, s->pred ? s->grad_pred + at : NULL};
        CK_RETURN_IF(ck_plan_backward(p->plan[v], seed));
    }
    return COKE_OK;
}

static struct part part_of(int64_t n, int64_t parts, int64_t i)
{
    int64_t from = n * i / parts, to = n * (i + 1) / parts;
    return (struct part){from, to - from};
}

/* Gradients of all processes, and with them the step. */
static int learn(struct ck_session *s, const struct coke_batch *b, double rate)
{
    if (s->ranks.size > 1)
        CK_RETURN_IF(ck_buckets_finish(s->ranks.buckets));
    return ck_optimizer_step(s->optim, rate, 1, b->epoch * b->steps + b->step + 1);
}

int ck_session_step(struct ck_session *s, const struct coke_batch *b, struct ck_step *out)
{
    int scan = b->epoch == 0, current = scan || s->o.labels == CK_COUPLING_CURRENT;
    int early =
        current || s->o.centers == CK_COUPLING_CURRENT; /* clusters move before the loss */
    double sums[SUMS] = {0};
    CK_RETURN_IF(ck_ranks_count(&s->ranks, b->n));
    int64_t total = s->ranks.total, most = s->ranks.largest;
    /* No part is empty everywhere. */
    int64_t parts = s->o.accumulate < most ? s->o.accumulate : most;
    *out = (struct ck_step){b->epoch, b->step, total, 0, 0};

    out->rate = ck_schedule_rate(&s->sched, b->epoch, b->step);
    ck_net_zero_grad(&s->encoder.net);
    if (s->ranks.size > 1)
        ck_buckets_begin(s->ranks.buckets);
    if (!current)
        ck_heads_read(&s->heads, b->index, b->n, 0);
    for (int64_t i = 0; i < parts; i++) {
        struct part part = part_of(b->n, parts, i);
        struct ck_passes *passes;
        CK_RETURN_IF(ck_session_passes(s, b, images_run(part), &passes));
        CK_RETURN_IF(encode(s, b, part, passes));
        take_features(s, part);
        if (early && parts > 1)
            continue; /* epoch 0: the whole batch clusters first, and nothing is learned */
        if (early)
            CK_RETURN_IF(cluster(s, b, current));
        CK_RETURN_IF(compute_loss(s, part, !scan, sums));
        if (!scan)
            CK_RETURN_IF(propagate(s, part, i == parts - 1, passes));
    }
    if (!early || parts > 1)
        CK_RETURN_IF(cluster(s, b, current));
    if (!scan)
        CK_RETURN_IF(learn(s, b, out->rate));
    return add_sums(s, sums, &out->loss);
}
