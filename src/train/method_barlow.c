/* method_barlow.c - Barlow Twins: a dimension says the same of both views, and each dimension
 * something else. */
#include "core/error.h"
#include "nn/column_loss.h"
#include "train/batch_loss.h"

static int init(struct ck_session *s)
{
    return ck_batch_loss_init(s, ck_column_scratch(s->max_batch, s->dim));
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct ck_batch_loss *l = s->own;
    const struct ck_method_options *o = &s->o.own;
    (void)b;
    CK_RETURN_IF(ck_batch_loss_gather(s, part));
    double value = ck_barlow_loss(l->proj, s->ranks.total, s->dim, o->redundancy_weight,
                                  o->loss_scale, l->scratch, l->grad);
    return ck_batch_loss_take(s, part, value, 0, sums);
}

static const char *const options[] = {"redundancy-weight", "loss-scale", NULL};

const struct ck_method ck_method_barlow = {
    .name = "barlow",
    .about = "Barlow Twins: dimensions agree between the views and not with each other",
    .options = options,
    .views = 2,
    .predictor = CK_PREDICTOR_NONE,
    .any_length = 1,
    .check = ck_batch_loss_check_two,
    .whole_batch = ck_batch_loss_whole,
    .init = init,
    .release = ck_batch_loss_release,
    .loss = loss,
};
