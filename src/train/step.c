/* step.c - one training step, from images to changed weights and clusters. */
#include "core/error.h"
#include "train/session.h"

#include <string.h>

/* A part of a batch: with gradient accumulation the network sees one after the other. */
struct part {
    int64_t from, n;
};

static int64_t image_floats(const struct coke_batch *b, int v)
{
    return (int64_t)b->channels * b->width[v] * b->height[v];
}

/* Unit vectors of all views. */
static int encode(struct ck_session *s, const struct coke_batch *b, struct part part,
                  struct ck_passes *p)
{
    size_t bytes = (size_t)(part.n * s->dim) * sizeof(float);
    int rc = COKE_OK;
    for (int v = 0; v < s->views; v++) {
        CK_TRY(ck_plan_forward(p->plan[v], b->x[v] + part.from * image_floats(b, v)));
        int64_t at = v * part.n * s->dim;
        memcpy(s->proj + at, ck_plan_vector(p->plan[v], s->encoder.node[COKE_PROJ]), bytes);
        if (s->pred)
            memcpy(s->pred + at, ck_plan_vector(p->plan[v], s->encoder.node[COKE_PRED]), bytes);
    }
done:
    return rc;
}

/* What is clustered: the projection, or the mean of those of the two large views. */
static void gather_features(struct ck_session *s, struct part part)
{
    float *to = s->features + part.from * s->dim;
    const float *a = s->proj, *b = s->proj + part.n * s->dim;
    for (int64_t i = 0; i < part.n * s->dim; i++) {
        to[i] = s->large == 1 ? a[i] : 0.5f * (a[i] + b[i]);
        s->feature_sum[i % s->dim] += (double)to[i];
    }
}

/* The targets of a part of the batch. */
static void slice_targets(const struct ck_session *s, struct part part, struct ck_targets *out)
{
    for (int h = 0; h < s->heads.n; h++) {
        struct ck_targets t = s->heads.target[h];
        t.label += part.from * t.slots;
        t.weight = t.weight ? t.weight + part.from * t.slots : NULL;
        t.n = part.n;
        out[h] = t;
    }
}

static int compute_loss(struct ck_session *s, struct part part, int gradients, double *loss)
{
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
    *loss += out.loss * (double)part.n;
    for (int h = 0; h < s->heads.n; h++) {
        s->heads.sums[h].loss += head_loss[h] * (double)part.n;
        s->heads.sums[h].accuracy += accuracy[h] * (double)part.n;
    }
    return COKE_OK;
}

/* Adds this part's share of the gradients. */
static int propagate(struct ck_session *s, struct part part, int64_t whole, struct ck_passes *p)
{
    float share = (float)part.n / (float)whole;
    int rc = COKE_OK;
    for (int64_t i = 0; part.n < whole && i < s->views * part.n * s->dim; i++) {
        s->grad_proj[i] *= share;
        if (s->pred)
            s->grad_pred[i] *= share;
    }
    for (int v = 0; v < s->views; v++) {
        int64_t at = v * part.n * s->dim;
        const float *seed[2] = {s->grad_proj + at, s->pred ? s->grad_pred + at : NULL};
        CK_TRY(ck_plan_backward(p->plan[v], seed));
    }
done:
    return rc;
}

static struct part part_of(const struct ck_session *s, int64_t n, int64_t i)
{
    int64_t parts = s->o.accumulate < n ? s->o.accumulate : n;
    int64_t from = n * i / parts, to = n * (i + 1) / parts;
    return (struct part){from, to - from};
}

int ck_session_step(struct ck_session *s, const struct coke_batch *b, struct ck_step *out)
{
    int rc = COKE_OK;
    int scan = b->epoch == 0, current = scan || s->o.labels == COKE_CURRENT;
    int early = current || s->o.centers == COKE_CURRENT; /* clusters move before the loss */
    int64_t parts = s->o.accumulate < b->n ? s->o.accumulate : b->n;
    *out = (struct ck_step){b->epoch, b->step, b->n, 0, 0};

    out->rate = ck_sched_rate(&s->sched, b->epoch, b->step);
    ck_net_zero_grad(&s->encoder.net);
    if (!current)
        ck_heads_read(&s->heads, b->index, b->n, 0);
    for (int64_t i = 0; i < parts; i++) {
        struct part part = part_of(s, b->n, i);
        struct ck_passes *passes;
        CK_TRY(ck_session_passes(s, b, part.n, &passes));
        CK_TRY(encode(s, b, part, passes));
        gather_features(s, part);
        if (early && parts > 1)
            continue; /* epoch 0: the whole batch clusters first, and nothing is learned */
        if (early)
            CK_TRY(ck_heads_update(&s->heads, s->features, b->index, b->n, current));
        CK_TRY(compute_loss(s, part, !scan, &out->loss));
        if (!scan)
            CK_TRY(propagate(s, part, b->n, passes));
    }
    if (!early || parts > 1)
        CK_TRY(ck_heads_update(&s->heads, s->features, b->index, b->n, current));
    if (!scan)
        CK_TRY(ck_optim_step(s->optim, out->rate, 1, b->epoch * b->steps + b->step + 1));
    out->loss /= (double)b->n;
done:
    return rc;
}
