/* step.c - one training step, from images to changed weights and clusters.
 *
 * The only file that knows both the network and the clustering; they meet as plain arrays and
 * struct ck_targets. A step allocates nothing once the plans for its batch size exist. With
 * several processes each rank runs its own images, and every function marked "collective" must
 * be called by all ranks in the same order. */
#include "core/error.h"
#include "train/session.h"

#include <string.h>

/* A part of this rank's images: with gradient accumulation the encoder runs on one part after
 * the other. A rank without images in a part runs a blank one, so that its collective calls
 * (the batch-norm statistics) match those of the other ranks. */
struct part {
    int64_t from, n;
    struct ck_plans *plans; /* set by encode; borrowed from the session */
};

/* No part is empty on all ranks. */
static int64_t count_parts(const struct ck_session *s)
{
    return s->o.accumulate < s->ranks.largest ? s->o.accumulate : s->ranks.largest;
}

static struct part part_of(int64_t n, int64_t parts, int64_t i)
{
    int64_t from = ck_share_first(n, (int)i, (int)parts),
            to = ck_share_first(n, (int)i + 1, (int)parts);
    return (struct part){from, to - from, NULL};
}

static int64_t images_run(struct part part)
{
    return part.n > 0 ? part.n : 1;
}

static int64_t image_floats(const struct coke_batch *b, int v)
{
    return (int64_t)b->channels * b->width[v] * b->height[v];
}

/* The projections to cluster: those of the large view, or the means over both. */
static void take_projections(struct ck_session *s, struct part part)
{
    float *to = s->projections + (s->ranks.first + part.from) * s->dim;
    const float *a = s->proj, *b = s->proj + part.n * s->dim;
    for (int64_t i = 0; i < part.n * s->dim; i++)
        to[i] = s->large == 1 ? a[i] : 0.5f * (a[i] + b[i]);
}

/* Runs the encoder forward, once per view: unit vectors in s->proj, s->pred [views][n][dim],
 * which replace those of the part before, and the part's rows of s->projections. Collective. */
static int encode(struct ck_session *s, const struct coke_batch *b, struct part *part)
{
    size_t bytes = (size_t)(part->n * s->dim) * sizeof(float);
    struct ck_reduce reduce = ck_ranks_reduce(&s->ranks, part->n == 0);
    CK_RETURN_IF(ck_session_plans(s, b, images_run(*part), &part->plans));
    for (int v = 0; v < s->views; v++) {
        struct ck_plan *plan = part->plans->plan[v];
        const float *x = part->n ? b->x[v] + part->from * image_floats(b, v) : s->blank;
        ck_plan_synchronise(plan, s->ranks.size > 1 ? &reduce : NULL);
        CK_RETURN_IF(ck_plan_forward(plan, x));
        int64_t at = v * part->n * s->dim;
        memcpy(s->proj + at, ck_plan_vector(plan, s->encoder.node[COKE_OUTPUT_PROJ]), bytes);
        if (s->pred)
            memcpy(s->pred + at, ck_plan_vector(plan, s->encoder.node[COKE_OUTPUT_PRED]),
                   bytes);
    }
    take_projections(s, *part);
    return COKE_OK;
}

/* Moves the clusters. Every rank gathers the ids and projections of the whole batch, assigns
 * labels to its own images, and moves the centers by all of them, so that all ranks keep the
 * same clusters. current_labels: these labels become the targets of the loss. Collective. */
static int cluster(struct ck_session *s, const struct coke_batch *b, int current_labels)
{
    struct ck_ranks *r = &s->ranks;
    struct ck_share share = ck_ranks_share(r);
    memcpy(s->ids + r->first, b->index, (size_t)b->n * sizeof *s->ids);
    CK_RETURN_IF(ck_ranks_gather(r, s->ids, sizeof *s->ids));
    CK_RETURN_IF(ck_ranks_gather(r, s->projections, (size_t)s->dim * sizeof(float)));
    for (int64_t i = 0; i < r->total * s->dim; i++)
        s->feature_sum[i % s->dim] += (double)s->projections[i];
    return ck_heads_update(&s->heads, s->projections, s->ids, r->total, current_labels,
                           r->size > 1 ? &share : NULL);
}

/* ---- loss ---- */

/* Sums over the images of a step: the loss, then loss and accuracy of each head. */
enum { SUMS = 1 + 2 * COKE_MAX_HEADS };

/* The targets of a part, which begins at image ranks.first + part.from of the batch. */
static void slice_targets(const struct ck_session *s, struct part part, struct ck_targets *out)
{
    for (int h = 0; h < s->heads.n; h++) {
        struct ck_targets t = s->heads.target[h];
        int64_t at = s->ranks.first + part.from, from = at - t.first;
        t.label += from * t.slots;
        t.weight = t.weight ? t.weight + from * t.slots : NULL;
        t.n = part.n;
        t.first = at;
        out[h] = t;
    }
}

/* Adds the part's loss to sums [SUMS]; gradients: also fills s->grad_proj and s->grad_pred. */
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
    CK_RETURN_IF(ck_loss_step(s->loss, &in, &out));
    sums[0] += out.loss * (double)part.n;
    for (int h = 0; h < s->heads.n; h++) {
        sums[1 + 2 * h] += head_loss[h] * (double)part.n;
        sums[2 + 2 * h] += accuracy[h] * (double)part.n;
    }
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

/* The loss is the mean over the part; its gradients count by the part's fraction of the batch
 * of all ranks. A blank image gets a zero gradient. */
static void scale_gradients(struct ck_session *s, struct part part)
{
    float fraction = (float)part.n / (float)s->ranks.total;
    int64_t n = s->views * images_run(part) * s->dim;
    for (int64_t i = 0; i < n; i++) {
        s->grad_proj[i] = part.n ? s->grad_proj[i] * fraction : 0;
        if (s->pred)
            s->grad_pred[i] = part.n ? s->grad_pred[i] * fraction : 0;
    }
}

/* Runs the encoder backward, adding the part's gradients to those of the weights. The last view
 * of the last part completes them: during that pass the hook starts the all-reduce of every
 * bucket as soon as it is ready. Collective. */
static int propagate(struct ck_session *s, struct part part, int last)
{
    if (part.n < s->ranks.total)
        scale_gradients(s, part);
    for (int v = 0; v < s->views; v++) {
        struct ck_plan *plan = part.plans->plan[v];
        int64_t at = v * images_run(part) * s->dim;
        int completes = last && v == s->views - 1 && s->ranks.size > 1;
        ck_plan_watch(plan, completes ? &s->ranks.hook : NULL);
        const float *seed[2] = {s->grad_proj + at, s->pred ? s->grad_pred + at : NULL};
        CK_RETURN_IF(ck_plan_backward(plan, seed));
    }
    return COKE_OK;
}

/* Waits for the all-reduce of the gradients, then steps the optimizer. Collective. */
static int update_weights(struct ck_session *s, const struct coke_batch *b, double rate)
{
    if (s->ranks.size > 1)
        CK_RETURN_IF(ck_buckets_finish(s->ranks.buckets));
    return ck_optimizer_step(s->optimizer, rate, 1, b->epoch * b->steps + b->step + 1);
}

/* ---- the step ---- */

/* Epoch 0 only clusters: no gradients, no backward pass, weights stay as they are. The loss is
 * measured against the step's own labels. With accumulation it is 0: labels exist after the
 * whole batch, when the projections of all parts but the last are gone. */
static int cluster_step(struct ck_session *s, const struct coke_batch *b, double *sums)
{
    int64_t parts = count_parts(s);
    for (int64_t i = 0; i < parts; i++) {
        struct part part = part_of(b->n, parts, i);
        CK_RETURN_IF(encode(s, b, &part));
    }
    CK_RETURN_IF(cluster(s, b, 1));
    return parts > 1 ? COKE_OK : compute_loss(s, part_of(b->n, 1, 0), 0, sums);
}

/* Any later epoch. Clusters that move before the loss see the whole batch in one part:
 * ck_train_options_check refuses accumulation with current labels or centers. */
static int learn_step(struct ck_session *s, const struct coke_batch *b, double rate,
                      double *sums)
{
    int64_t parts = count_parts(s);
    int current_labels = s->o.labels == CK_COUPLING_CURRENT;
    begin_gradients(s);
    if (!current_labels)
        ck_heads_read(&s->heads, b->index, b->n, s->ranks.first, 0);
    for (int64_t i = 0; i < parts; i++) {
        struct part part = part_of(b->n, parts, i);
        CK_RETURN_IF(encode(s, b, &part));
        if (s->move == CK_MOVE_BEFORE_LOSS)
            CK_RETURN_IF(cluster(s, b, current_labels));
        CK_RETURN_IF(compute_loss(s, part, 1, sums));
        CK_RETURN_IF(propagate(s, part, i == parts - 1));
    }
    if (s->move == CK_MOVE_AFTER_LOSS)
        CK_RETURN_IF(cluster(s, b, 0));
    return update_weights(s, b, rate);
}

int ck_session_step(struct ck_session *s, const struct coke_batch *b, struct ck_step *out)
{
    double sums[SUMS] = {0}, rate = ck_schedule_rate(&s->schedule, b->epoch, b->step);
    CK_RETURN_IF(ck_ranks_count(&s->ranks, b->n));
    *out = (struct ck_step){b->epoch, b->step, s->ranks.total, rate, 0};
    CK_RETURN_IF(b->epoch == 0 ? cluster_step(s, b, sums) : learn_step(s, b, rate, sums));
    return add_sums(s, sums, &out->loss);
}
