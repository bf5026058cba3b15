/* method_vicreg.c - VICReg: both views at the same place, every dimension in use, none like
 * another. */
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
    struct ck_vicreg_weights w = {o->invariance_weight, o->variance_weight,
                                  o->covariance_weight};
    (void)b;
    CK_RETURN_IF(ck_batch_loss_gather(s, part));
    double value = ck_vicreg_loss(l->proj, s->ranks.total, s->dim, &w, l->scratch, l->grad);
    return ck_batch_loss_take(s, part, value, 0, sums);
}

static const char *const options[] = {"invariance-weight", "variance-weight",
                                      "covariance-weight", NULL};

const struct ck_method ck_method_vicreg = {
    .name = "vicreg",
    .about = "VICReg: views agree, every dimension varies, none varies like another",
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
