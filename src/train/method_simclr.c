/* method_simclr.c - SimCLR: each view finds the other view of its image in the batch. */
#include "core/error.h"
#include "nn/pair_loss.h"
#include "train/batch_loss.h"

static int init(struct ck_session *s)
{
    return ck_batch_loss_init(s, ck_simclr_scratch(s->max_batch));
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct ck_batch_loss *l = s->own;
    (void)b;
    CK_RETURN_IF(ck_batch_loss_gather(s, part));
    double value = ck_simclr_loss(l->proj, s->ranks.total, s->dim, s->o.loss.temperature,
                                  l->scratch, l->grad);
    return ck_batch_loss_take(s, part, value, 0, sums);
}

static const char *const options[] = {"temperature", NULL};

const struct ck_method ck_method_simclr = {
    .name = "simclr",
    .about = "SimCLR: find the other view of an image among all others of the batch",
    .options = options,
    .views = 2,
    .predictor = CK_PREDICTOR_NONE,
    .whole_batch = ck_batch_loss_whole,
    .init = init,
    .release = ck_batch_loss_release,
    .loss = loss,
};
