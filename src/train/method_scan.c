/* method_scan.c - SCAN: an image and one of its nearest neighbors, as a trained encoder sees them,
 * have the same class, and classes are equally large. */
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "data/loader.h"
#include "nn/class_loss.h"
#include "train/batch_loss.h"
#include "train/class_heads.h"
#include "train/clusters.h"
#include "train/neighbours.h"

/* The neighbors [images][near] are l->extra. */

static int64_t near_of(const struct ck_session *s)
{
    int64_t others = s->data->set->n - 1;
    return s->o.own.neighbours < others ? s->o.own.neighbours : others;
}

/* Labels come from the first view: the last one shows the neighbor. */
static int init(struct ck_session *s)
{
    s->large = 1;
    CK_RETURN_IF(ck_class_heads_init(s, NULL));
    CK_RETURN_IF(ck_batch_loss_init(s, ck_class_scratch(s->max_batch, s->dim)));
    struct ck_batch_loss *l = s->own;
    if (near_of(s) < 1)
        return ck_fail(COKE_EUSAGE, "method scan: %s has one image, and it no neighbor",
                       s->data->set->source);
    l->extra = ck_calloc_array((size_t)s->data->set->n, (size_t)near_of(s) * sizeof(int32_t));
    return l->extra ? COKE_OK : COKE_ENOMEM;
}

static void release(struct ck_session *s)
{
    struct ck_batch_loss *l = s->own;
    if (l)
        ck_free(l->extra);
    ck_batch_loss_release(s);
}

static int state(const struct ck_session *s, struct ck_state *out)
{
    const struct ck_batch_loss *l = s->own;
    int64_t shape[2] = {s->data->set->n, near_of(s)};
    return ck_state_add(out, "neighbors", CK_I32, 2, shape, l->extra);
}

static int use_neighbors(struct ck_session *s)
{
    const struct ck_batch_loss *l = s->own;
    return ck_loader_set_partners(s->loader, l->extra, near_of(s), 0, 0);
}

static int loaded(struct ck_session *s)
{
    const struct ck_batch_loss *l = s->own;
    const int32_t *near = l->extra;
    for (int64_t i = 0; i < s->data->set->n * near_of(s); i++)
        if (near[i] < 0 || near[i] >= s->data->set->n)
            return ck_fail(COKE_EFORMAT, "neighbor %lld is %d, not an image", (long long)i,
                           near[i]);
    return use_neighbors(s);
}

static int begin_run(struct ck_session *s, const struct coke_callbacks *messages)
{
    struct ck_batch_loss *l = s->own;
    double same;
    CK_RETURN_IF(ck_neighbours_find(s, near_of(s), l->extra, &same));
    if (same >= 0)
        ck_say(messages, "scan: %.1f %% of the %lld nearest neighbors are of the image's class",
               100 * same, (long long)near_of(s));
    return use_neighbors(s);
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct ck_batch_loss *l = s->own;
    int64_t n = s->ranks.total, half = n * s->dim;
    (void)b;
    CK_RETURN_IF(ck_batch_loss_gather(s, part));
    double value = ck_scan_loss(l->proj, l->proj + half, n, s->dim, s->o.own.balance_weight,
                                l->scratch, l->grad, l->grad + half);
    double agree = ck_class_agreement(l->proj, l->proj + half, n, s->dim);
    ck_class_heads_add(part, value, agree, sums);
    return ck_batch_loss_take(s, part, value, 0, sums);
}

static const char *const options[] = {"k", "from", "near", "balance-weight", NULL};

const struct ck_method ck_method_scan = {
    .name = "scan",
    .about = "SCAN: neighbors of a trained encoder (--from RUN) have the same cluster",
    .options = options,
    .clusters = 1,
    .views = 2,
    .predictor = CK_PREDICTOR_NONE,
    .any_length = 1,
    .takes = CK_TAKES_BACKBONE,
    .check = ck_class_heads_check,
    .classes = ck_class_heads_count,
    .whole_batch = ck_batch_loss_whole,
    .init = init,
    .release = release,
    .state = state,
    .loaded = loaded,
    .begin_run = begin_run,
    .scan = ck_class_heads_scan,
    .loss = loss,
    .end_step = ck_class_heads_end_step,
    .end_epoch = ck_clusters_end_epoch,
};
