/* method_simsiam.c - SimSiam: the prediction from one view is the projection of the other, which
 * is a constant. */
#include "core/error.h"
#include "nn/pair_loss.h"
#include "train/batch_loss.h"

static int init(struct ck_session *s)
{
    return ck_batch_loss_init(s, 0);
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct ck_batch_loss *l = s->own;
    (void)b;
    CK_RETURN_IF(ck_batch_loss_gather(s, part));
    double value = ck_cosine_loss(l->pred, l->proj, s->ranks.total, s->dim, l->grad);
    return ck_batch_loss_take(s, part, value, 1, sums);
}

static const char *const options[] = {NULL};

const struct ck_method ck_method_simsiam = {
    .name = "simsiam",
    .about = "SimSiam: predict the projection of the other view, no negatives",
    .options = options,
    .views = 2,
    .predictor = CK_PREDICTOR_NEEDED,
    .whole_batch = ck_batch_loss_whole,
    .init = init,
    .release = ck_batch_loss_release,
    .loss = loss,
};
