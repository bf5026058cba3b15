/* clusters.c - what methods with clusters share: heads, and the loss that predicts their
 * labels. */
#include "train/clusters.h"
#include "core/error.h"

/* The loss is sized for the largest part of a batch, which is all of this rank's images. */
int ck_clusters_build(struct ck_session *s, const struct ck_train_options *o)
{
    int64_t k[COKE_MAX_HEADS];
    for (int i = 0; i < o->k.n; i++)
        k[i] = o->k.v[i];
    struct ck_loss_shape shape = {s->views, s->large, s->max_local, s->dim, o->k.n, k};
    CK_RETURN_IF(ck_heads_init(&s->heads, o, s->data->set->n));
    return ck_loss_new(&s->loss, &shape, &o->loss);
}

int ck_clusters_init(struct ck_session *s)
{
    return ck_clusters_build(s, &s->o);
}

void ck_clusters_begin_epoch(struct ck_session *s, int64_t epoch)
{
    ck_loss_set_alpha(s->loss, ck_train_alpha(&s->o, epoch));
}

int ck_clusters_read(struct ck_session *s, const struct coke_batch *b)
{
    ck_heads_read(&s->heads, b->index, b->n, s->ranks.first, 0);
    return COKE_OK;
}

int ck_clusters_move(struct ck_session *s, int current)
{
    struct ck_ranks *r = &s->ranks;
    struct ck_share share = ck_ranks_share(r);
    return ck_heads_update(&s->heads, s->projections, s->ids, r->total, current,
                           r->size > 1 ? &share : NULL);
}

void ck_clusters_targets(const struct ck_session *s, struct ck_part part,
                         struct ck_targets *out)
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

/* ck_loss_step has the mean over the part; it counts by the part's fraction of the batch. */
static void scale_gradients(struct ck_session *s, struct ck_part part)
{
    float fraction = (float)part.n / (float)s->ranks.total;
    for (int64_t i = 0; i < s->views * part.n * s->dim; i++) {
        s->grad_proj[i] *= fraction;
        if (s->pred)
            s->grad_pred[i] *= fraction;
    }
}

void ck_clusters_take(struct ck_session *s, struct ck_part part,
                      const struct ck_loss_output *out, int gradients, double *sums)
{
    sums[0] += out->loss * (double)part.n;
    for (int h = 0; h < s->heads.n; h++) {
        sums[1 + 2 * h] += out->head_loss[h] * (double)part.n;
        sums[2 + 2 * h] += out->accuracy[h] * (double)part.n;
    }
    if (gradients && part.n < s->ranks.total)
        scale_gradients(s, part);
}

int ck_clusters_loss(struct ck_session *s, struct ck_part part, int gradients, double *sums)
{
    if (part.n == 0)
        return COKE_OK;
    struct ck_targets target[COKE_MAX_HEADS];
    double head_loss[COKE_MAX_HEADS], accuracy[COKE_MAX_HEADS];
    ck_clusters_targets(s, part, target);
    struct ck_loss_input in = {part.n, s->proj, s->pred, s->heads.centers, target};
    struct ck_loss_output out = {.grad_proj = gradients ? s->grad_proj : NULL,
                                 .grad_pred = gradients ? s->grad_pred : NULL,
                                 .head_loss = head_loss,
                                 .accuracy = accuracy};
    CK_RETURN_IF(ck_loss_step(s->loss, &in, &out));
    ck_clusters_take(s, part, &out, gradients, sums);
    return COKE_OK;
}

int ck_clusters_end_epoch(struct ck_session *s)
{
    return ck_heads_epoch_end(&s->heads);
}
