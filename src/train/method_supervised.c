/* method_supervised.c - training with the classes of the images: cross-entropy of every view. */
#include "core/error.h"
#include "core/mem.h"
#include "nn/class_loss.h"
#include "train/class_heads.h"
#include "train/clusters.h"

#include <string.h>

struct own {
    double *scores, *grad; /* [max_local][dim] of one view */
};

static int classes(const struct ck_train_options *o, const struct coke_dataset *d, int64_t *out)
{
    (void)o;
    *out = d->set->classes;
    return d->set->classes >= 2
               ? COKE_OK
               : ck_fail(
                     COKE_EUSAGE,
                     "method supervised: the images of %s have %d classes; it needs at least "
                     "2, as from a folder with one folder per class",
                     d->set->source, d->set->classes);
}

static int init(struct ck_session *s)
{
    size_t values = (size_t)(s->max_local * s->dim);
    CK_RETURN_IF(ck_class_heads_init(s, NULL));
    struct own *w = s->own = ck_calloc_array(1, sizeof *w);
    if (!w)
        return COKE_ENOMEM;
    w->scores = ck_alloc_array(values, sizeof *w->scores);
    w->grad = ck_alloc_array(values, sizeof *w->grad);
    return w->scores && w->grad ? COKE_OK : COKE_ENOMEM;
}

static void release(struct ck_session *s)
{
    struct own *w = s->own;
    if (!w)
        return;
    ck_free(w->scores);
    ck_free(w->grad);
    ck_free(w);
    s->own = NULL;
}

/* The mean over the views of the cross-entropy of the part's images that have a class. */
static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct own *w = s->own;
    const int32_t *label = b->label + part.from;
    double value = 0, right = 0, scale = (double)part.n / (double)s->ranks.total / s->views;
    int64_t mine = part.n * s->dim;
    for (int v = 0; v < s->views; v++) {
        for (int64_t i = 0; i < mine; i++)
            w->scores[i] = (double)s->proj[v * mine + i];
        value += ck_label_cross_entropy(w->scores, part.n, s->dim, label, NULL, w->grad);
        right += ck_class_accuracy(w->scores, part.n, s->dim, label);
        for (int64_t i = 0; i < mine; i++)
            s->grad_proj[v * mine + i] = (float)(scale * w->grad[i]);
    }
    sums[0] += value / s->views * (double)part.n;
    ck_class_heads_add(part, value / s->views, right / s->views, sums);
    return COKE_OK;
}

static const char *const options[] = {NULL};

const struct ck_method ck_method_supervised = {
    .name = "supervised",
    .about = "cross-entropy with the classes of the images: what labels would give",
    .options = options,
    .predictor = CK_PREDICTOR_NONE,
    .any_length = 1,
    .classes = classes,
    .init = init,
    .release = release,
    .scan = ck_class_heads_scan,
    .loss = loss,
    .end_step = ck_class_heads_end_step,
    .end_epoch = ck_clusters_end_epoch,
};
