/* health.c - warns when a training goes wrong: what was measured and which options to try.
 *
 * The thresholds were set on trainings that failed; docs/training.md has a table of them. */
#include "train/health.h"
#include "core/callbacks.h"

#include <math.h>

/* Of more than two clusters one with more than this fraction of the images absorbs the rest. */
static const double giant_fraction = 0.5;
/* Similarities of unit vectors differ by at most 2, those of competing clusters by far less. */
static const double large_duals = 1;
/* A loss above this fraction of ln k has learned nothing about its labels. */
static const double near_chance = 0.985;
/* Length of the mean projection: short if the images differ. */
static const double same_features = 0.95;
/* A loss this fraction of ln k above its minimum follows labels that get worse. */
static const double climb = 0.1;
enum { FLAT_EPOCHS = 3 };

enum kind { GIANT, EMPTY, DUPLICATES, DUALS, FLAT, CLIMB, CONSTANT };

/* Where the warnings of one check go. */
struct talk {
    struct ck_health *w;
    const struct coke_callbacks *cb;
};

/* Every kind is given once per process. */
static int is_new(struct talk *t, enum kind k)
{
    int bit = 1 << k, is = !(t->w->given & bit);
    t->w->given |= bit;
    return is;
}

static void check_sizes(struct talk *t, const struct ck_epoch_report *r, int h)
{
    const struct ck_head_health *s = &r->health[h];
    double n = (double)r->images;
    if (s->k > 2 && (double)s->size_max > giant_fraction * n && is_new(t, GIANT)) {
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
                "epoch %lld: %lld of %lld centers of head %d coincide with another one. Try "
                "fewer clusters (a smaller k), or the features have collapsed",
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
    ck_warn(t->cb,
            "epoch %lld: the loss of head %d is %.3f, guessing gives ln %lld = %.3f: "
            "nothing is learned. Try another rate, a lower temperature, a larger alpha, or "
            "one view",
            (long long)r->epoch, h, s->loss, (long long)s->k, chance);
}

/* Seen with too few epochs of the published settings: one cluster takes over and the loss falls
 * with it, then the duals push the images out of it again, wherever they belong. */
static void check_climb(struct talk *t, const struct ck_epoch_report *r, int h)
{
    const struct ck_head_health *s = &r->health[h];
    double *lowest = &t->w->min_loss[h];
    if (r->epoch == 0)
        return;
    if (*lowest == 0 || s->loss < *lowest)
        *lowest = s->loss;
    if (s->loss < *lowest + climb * log((double)s->k) || !is_new(t, CLIMB))
        return;
    ck_warn(t->cb,
            "epoch %lld: the loss of head %d (k %lld) has climbed from %.3f to %.3f: the "
            "duals decide its labels, not the features. Try a larger alpha and temperature, "
            "form=epoch, a lower rate or a longer warmup",
            (long long)r->epoch, h, (long long)s->k, *lowest, s->loss);
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
