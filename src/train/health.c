/* health.c - does a training go well? Warnings that say what is seen and what to try. */
#include "train/health.h"
#include "core/callbacks.h"

#include <math.h>

/* A cluster with more than this share of the images has swallowed others (of more than two). */
static const double giant_share = 0.5;
/* Similarities of unit vectors differ by less than 2, those that compete by far less. */
static const double large_duals = 1;
/* A loss within this share of ln k has learned nothing about its labels. */
static const double near_chance = 0.985;
/* The mean projection of images that differ is short. */
static const double same_features = 0.95;
/* A loss that grows by this share of ln k above its least follows labels that get worse. */
static const double climb = 0.1;
enum { FLAT_EPOCHS = 3 };

enum kind { GIANT, EMPTY, DUPLICATES, DUALS, FLAT, CLIMB, CONSTANT };

struct talk {
    struct ck_health *w;
    const struct coke_callbacks *cb;
};

static int is_new(struct talk *t, enum kind k)
{
    int bit = 1 << k, is = !(t->w->told & bit);
    t->w->told |= bit;
    return is;
}

static void check_sizes(struct talk *t, const struct ck_epoch_report *r, int h)
{
    const struct ck_head_health *s = &r->health[h];
    double n = (double)r->images;
    if (s->k > 2 && (double)s->size_max > giant_share * n && is_new(t, GIANT)) {
        ck_warn(t->cb,
                "epoch %lld: one cluster of head %d (k %lld) holds %.0f %% of the images: "
                "collapse. Try a larger ratio or eta, a lower rate, a longer warmup, or "
                "with two views a larger alpha at first (alpha-start)",
                (long long)r->epoch, h, (long long)s->k, 100 * (double)s->size_max / n);
    }
    if (r->epoch > 0 && s->bound > 0 && s->empty * 10 > s->k && is_new(t, EMPTY)) {
        ck_warn(t->cb,
                "epoch %lld: %lld of %lld clusters of head %d are empty although each should "
                "have %lld images. Try a larger eta",
                (long long)r->epoch, (long long)s->empty, (long long)s->k, h,
                (long long)s->bound);
    }
    if (r->epoch > 0 && s->duplicates * 10 > s->k && is_new(t, DUPLICATES)) {
        ck_warn(t->cb,
                "epoch %lld: %lld of %lld centers of head %d lie where another one is. Fewer "
                "clusters (a smaller k) would do, or the features have collapsed",
                (long long)r->epoch, (long long)s->duplicates, (long long)s->k, h);
    }
}

static void check_duals(struct talk *t, const struct ck_epoch_report *r, int h)
{
    const struct ck_head_health *s = &r->health[h];
    double range = s->dual_max - s->dual_min;
    if (range <= large_duals || !is_new(t, DUALS))
        return;
    ck_warn(t->cb,
            "epoch %lld: the duals of head %d (k %lld) range over %.2f, more than similarities "
            "differ: they decide the labels, not the features. Try a smaller eta or ratio",
            (long long)r->epoch, h, (long long)s->k, range);
}

static void check_loss(struct talk *t, const struct ck_epoch_report *r, int64_t warmup, int h)
{
    const struct ck_head_health *s = &r->health[h];
    double chance = log((double)s->k);
    int flat = r->epoch > warmup && s->loss > near_chance * chance;
    t->w->flat[h] = flat ? t->w->flat[h] + 1 : 0;
    if (t->w->flat[h] < FLAT_EPOCHS || !is_new(t, FLAT))
        return;
    ck_warn(
        t->cb,
        "epoch %lld: the loss of head %d stands at %.3f, that of guessing is ln %lld = %.3f: "
        "nothing is learned. Try another rate, a lower temperature, a larger alpha, or "
        "one view",
        (long long)r->epoch, h, s->loss, (long long)s->k, chance);
}

/* What too few epochs of the published setting do: one cluster takes over, the loss falls with
 * it, then the duals drive the images out of it again, wherever they belong. */
static void check_climb(struct talk *t, const struct ck_epoch_report *r, int h)
{
    const struct ck_head_health *s = &r->health[h];
    double *least = &t->w->least[h];
    if (r->epoch == 0)
        return;
    if (*least == 0 || s->loss < *least)
        *least = s->loss;
    if (s->loss < *least + climb * log((double)s->k) || !is_new(t, CLIMB))
        return;
    ck_warn(
        t->cb,
        "epoch %lld: the loss of head %d (k %lld) has climbed from %.3f to %.3f: its labels "
        "are made by the duals rather than the features. Try a larger alpha and temperature, "
        "form=epoch, a lower rate or a longer warmup",
        (long long)r->epoch, h, (long long)s->k, *least, s->loss);
}

void ck_health_check(struct ck_health *w, const struct ck_epoch_report *r, int64_t warmup,
                     const struct coke_callbacks *cb)
{
    struct talk t = {w, cb};
    if (r->epoch > 0 && r->feature_mean > same_features && is_new(&t, CONSTANT)) {
        ck_warn(cb,
                "epoch %lld: all images have nearly the same projection (their mean has length "
                "%.3f): collapse. Try a lower rate or a longer warmup",
                (long long)r->epoch, r->feature_mean);
    }
    for (int h = 0; h < r->heads; h++) {
        check_sizes(&t, r, h);
        check_duals(&t, r, h);
        check_loss(&t, r, warmup, h);
        check_climb(&t, r, h);
    }
}
