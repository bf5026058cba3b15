/* method_coke.c - CoKe: predict the clusters of the last epoch while the images are clustered
 * again (docs/algorithm.md). */
#include "core/error.h"
#include "nn/mlp.h"
#include "train/clusters.h"

static int wants_current(const struct ck_train_options *o)
{
    return o->labels == CK_COUPLING_CURRENT || o->centers == CK_COUPLING_CURRENT;
}

static int check(const struct ck_train_options *o)
{
    if (o->kmeans.stage >= 0 && ck_train_views(o) > 1)
        return ck_fail(COKE_EUSAGE, "stage: the second stage needs one view (recipe single or "
                                    "cifar-single)");
    if (o->kmeans.stage >= o->epochs || o->kmeans.stage == 0)
        return ck_fail(COKE_EUSAGE, "stage: epoch %lld is not within 1..%lld",
                       (long long)o->kmeans.stage, (long long)o->epochs - 1);
    if (o->round > 0 && (o->keep_best || o->kmeans.stage >= 0 || wants_current(o)))
        return ck_fail(COKE_EUSAGE,
                       "round: %s counts in epochs or steps; leave one of them out",
                       o->keep_best           ? "keep-best"
                       : o->kmeans.stage >= 0 ? "the second stage (stage)"
                                              : "labels or centers current");
    if (o->loss.beta > 0 && !ck_has_predictor(&o->encoder))
        return ck_fail(COKE_EUSAGE,
                       "beta %g weighs the predictor, and there is none: set beta 0",
                       o->loss.beta);
    if (o->loss.beta <= 0 && ck_has_predictor(&o->encoder))
        return ck_fail(COKE_EUSAGE,
                       "the predictor would learn nothing with beta 0: set no-predictor");
    return COKE_OK;
}

static const char *whole_batch(const struct ck_train_options *o)
{
    return wants_current(o)
               ? "labels and centers of the current step are known only after the whole batch"
               : NULL;
}

/* The loss is measured against the step's own labels. With accumulation it is 0: labels exist
 * after the whole batch, when the projections of all parts but the last are gone. */
static int scan(struct ck_session *s, const struct coke_batch *b, int64_t parts, double *sums)
{
    CK_RETURN_IF(ck_clusters_move(s, 1));
    return parts > 1 ? COKE_OK : ck_clusters_loss(s, (struct ck_part){.n = b->n}, 0, sums);
}

static int begin_step(struct ck_session *s, const struct coke_batch *b)
{
    return s->o.labels == CK_COUPLING_CURRENT ? COKE_OK : ck_clusters_read(s, b);
}

/* Labels or centers of the current step must exist before the loss reads them; those of the last
 * epoch are read first and then replaced. */
static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    (void)b;
    if (wants_current(&s->o))
        CK_RETURN_IF(ck_clusters_move(s, s->o.labels == CK_COUPLING_CURRENT));
    return ck_clusters_loss(s, part, 1, sums);
}

static int end_step(struct ck_session *s, const struct coke_batch *b)
{
    (void)b;
    return wants_current(&s->o) ? COKE_OK : ck_clusters_move(s, 0);
}

static const char *const options[] = {
    "k",       "ratio",       "eta",          "eta-mode",    "update",
    "stage",   "slots",       "beta",         "alpha",       "keep-best",
    "round",   "labels",      "alpha-start",  "alpha-until", "slot-temperature",
    "centers", "temperature", "large-weight", NULL};

const struct ck_method ck_method_coke = {
    .name = "coke",
    .about = "online constrained k-means and prediction of the last epoch's clusters",
    .options = options,
    .clusters = 1,
    .check = check,
    .whole_batch = whole_batch,
    .init = ck_clusters_init,
    .begin_epoch = ck_clusters_begin_epoch,
    .scan = scan,
    .begin_step = begin_step,
    .loss = loss,
    .end_step = end_step,
    .end_epoch = ck_clusters_end_epoch,
};
