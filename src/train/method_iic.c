/* method_iic.c - invariant information clustering: the classes of two views of an image tell as
 * much about each other as possible. */
#include "core/error.h"
#include "nn/class_loss.h"
#include "train/batch_loss.h"
#include "train/class_heads.h"
#include "train/clusters.h"

static int init(struct ck_session *s)
{
    CK_RETURN_IF(ck_class_heads_init(s, NULL));
    return ck_batch_loss_init(s, ck_class_scratch(s->max_batch, s->dim));
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct ck_batch_loss *l = s->own;
    int64_t n = s->ranks.total, half = n * s->dim;
    (void)b;
    CK_RETURN_IF(ck_batch_loss_gather(s, part));
    double value = ck_information_loss(l->proj, l->proj + half, n, s->dim, l->scratch, l->grad,
                                       l->grad + half);
    double agree = ck_class_agreement(l->proj, l->proj + half, n, s->dim);
    ck_class_heads_add(part, value, agree, sums);
    return ck_batch_loss_take(s, part, value, 0, sums);
}

static const char *const options[] = {"k", NULL};

const struct ck_method ck_method_iic = {
    .name = "iic",
    .about = "IIC: the classes of two views tell as much about each other as possible",
    .options = options,
    .clusters = 1,
    .views = 2,
    .predictor = CK_PREDICTOR_NONE,
    .any_length = 1,
    .check = ck_class_heads_check,
    .classes = ck_class_heads_count,
    .whole_batch = ck_batch_loss_whole,
    .init = init,
    .release = ck_batch_loss_release,
    .scan = ck_class_heads_scan,
    .loss = loss,
    .end_step = ck_class_heads_end_step,
    .end_epoch = ck_clusters_end_epoch,
};
