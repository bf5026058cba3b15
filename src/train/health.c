/* health.c - warns when a training goes wrong: what was measured and which options to try.
 *
 * The thresholds separate the recorded trainings in tests/golden/health, healthy and broken;
 * train/health replays them. Trainings that end well pass through states that look broken for
 * an epoch or two, so that every alarm needs several epochs in a row. */
#include "train/health.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "io/record.h"
#include "train/method.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of more than two clusters one with more than this fraction of the images absorbs the rest. */
static const double giant_fraction = 0.5;
/* Similarities of unit vectors differ by at most 2, those of competing clusters by far less. */
static const double large_duals = 1;
/* A loss above this fraction of ln k is that of guessing. */
static const double near_chance = 0.985;
/* Predictions that are right less than this many times as often as always naming the largest
 * cluster. */
static const double chance_factor = 1.25;
/* A loss that changed by this fraction of ln k has changed. */
static const double moved = 0.1;
/* A loss that fell by this fraction of ln k is on its way. */
static const double falls = 0.03;
/* Length of the mean projection: short if the images differ. */
static const double same_features = 0.95;
/* Keeps comparisons of counted fractions from depending on their last digit. */
static const double epsilon = 1e-7;
/* Epochs in a row until an alarm. */
enum { STREAK = 3, CHANCE_STREAK = 5 };
/* Epochs of fewer than FEW_STEPS steps say nothing about predictions before EARLY_STEPS of them. */
enum { FEW_STEPS = 5, EARLY_STEPS = 100 };
/* Predictions needed to tell learning from guessing. Shorter epochs are averaged until they have
 * as many. */
static const double enough = 200;

const char *ck_alarm_name(enum ck_alarm a)
{
    static const char *const name[CK_ALARMS] = {"giant", "empty",  "constant", "duplicates",
                                                "duals", "chance", "still"};
    return name[a];
}

/* ---- advice ---- */

enum option {
    RATIO,
    ETA,
    RATE,
    WARMUP,
    ALPHA,
    K,
    ZERO_RESIDUAL,
    VIEWS,
    RECIPE,
    IMAGES,
    OPTIONS
};
/* Entries of an alarm; those that a warning names. */
enum { MAX_ADVICE = 5, NAMED = 2 };

struct advice {
    enum option option;
    int direction; /* 1 = up, -1 = down */
    const char *text;
};

/* The most likely to help first, up to an entry without text. */
static const struct advice advice[CK_ALARMS][MAX_ADVICE + 1] = {
    [CK_ALARM_GIANT] = {{RATIO, 1, "a larger ratio"},
                        {ETA, 1, "a larger eta"},
                        {ALPHA, 1, "a larger alpha"},
                        {RATE, -1, "a lower rate"}},
    [CK_ALARM_EMPTY] = {{ETA, 1, "a larger eta"}, {K, -1, "fewer clusters (k)"}},
    [CK_ALARM_CONSTANT] = {{VIEWS, 1, "two views (recipe)"},
                           {ALPHA, 1, "a larger alpha"},
                           {RATE, -1, "a lower rate"},
                           {WARMUP, 1, "a longer warmup"}},
    [CK_ALARM_DUPLICATES] = {{K, -1, "fewer clusters (k)"}, {RATE, -1, "a lower rate"}},
    [CK_ALARM_DUALS] = {{ETA, -1, "a smaller eta"}, {RATIO, -1, "a smaller ratio"}},
    [CK_ALARM_CHANCE] = {{IMAGES, 1, "more images"},
                         {VIEWS, 1, "two views (recipe)"},
                         {ALPHA, 1, "a larger alpha"},
                         {RATE, 1, "a larger rate"},
                         {ZERO_RESIDUAL, 1, "zero-residual"}},
    [CK_ALARM_STILL] = {{RECIPE, 1, "another recipe, channels 1"}, {K, 1, "more clusters (k)"}},
};

/* Is the option already about as far as it goes, without effect here, or refused by the method? */
static int is_moot(const struct advice *v, const struct ck_health_facts *f)
{
    static const char *const own[OPTIONS] = {
        [RATIO] = "ratio", [ETA] = "eta", [ALPHA] = "alpha", [K] = "k"};
    if (own[v->option] && !ck_method_reads(ck_method_row(f->o), own[v->option]))
        return 1;
    switch (v->option) {
    case RATIO:
        return v->direction > 0 && f->o->kmeans.ratio >= 0.9;
    case ALPHA:
        return f->views == 1 || f->o->loss.alpha >= 1;
    case VIEWS:
        return f->views > 1;
    case ZERO_RESIDUAL:
        return f->o->encoder.zero_residual;
    case IMAGES:
        return f->steps >= FEW_STEPS;
    default:
        return 0;
    }
}

/* Appends ". Try a or b" of what does not contradict earlier advice of this training. */
static void add_advice(struct ck_health *w, enum ck_alarm a, const struct ck_health_facts *f,
                       char *text, size_t size)
{
    int n = 0;
    for (const struct advice *v = advice[a]; v->text && n < NAMED; v++) {
        int bit = 1 << v->option;
        if (is_moot(v, f) || (v->direction > 0 ? w->down : w->up) & bit)
            continue;
        if (v->direction > 0)
            w->up |= bit;
        else
            w->down |= bit;
        size_t at = strlen(text);
        snprintf(text + at, size - at, "%s%s", n++ ? " or " : ". Try ", v->text);
    }
}

static int was_given(const struct ck_health *w, enum ck_alarm a)
{
    return w->given >> a & 1;
}

/* Adds the warning unless the training has had it. */
__attribute__((format(printf, 4, 5))) static void alarm_user(struct ck_health *w,
                                                             struct ck_epoch_report *r,
                                                             enum ck_alarm a, const char *fmt,
                                                             ...)
{
    if (was_given(w, a) || r->warnings.n == CK_WARNINGS)
        return;
    struct ck_warning *to = &r->warnings.item[r->warnings.n++];
    w->given |= 1 << a;
    to->kind = ck_alarm_name(a);
    int n = snprintf(to->text, sizeof to->text, "epoch %lld: ", (long long)r->epoch);
    va_list ap;
    va_start(ap, fmt);
    ck_format_list(to->text + n, sizeof to->text - (size_t)n, fmt, ap);
    va_end(ap);
    add_advice(w, a, w->facts, to->text, sizeof to->text);
}

static void count(int *streak, int is)
{
    *streak = is ? *streak + 1 : 0;
}

/* ---- checks ---- */

static void check_features(struct ck_health *w, struct ck_epoch_report *r)
{
    count(&w->constant, r->epoch > 0 && r->feature_mean > same_features);
    if (w->constant >= STREAK)
        alarm_user(w, r, CK_ALARM_CONSTANT,
                   "all images have nearly the same projection (their mean has length %.3f): "
                   "collapse",
                   r->feature_mean);
}

static void check_sizes(struct ck_health *w, struct ck_epoch_report *r, int h)
{
    const struct ck_head_health *s = &r->health[h];
    struct ck_head_streaks *streak = &w->head[h];
    double n = (double)r->images;
    int later = r->epoch > 0;
    count(&streak->giant, later && s->k > 2 && (double)s->size_max > giant_fraction * n);
    count(&streak->empty, later && s->bound > 0 && s->empty * 10 > s->k);
    count(&streak->duplicates, later && s->duplicates * 10 > s->k);
    if (streak->giant >= STREAK)
        alarm_user(w, r, CK_ALARM_GIANT,
                   "one cluster of head %d (k %lld) holds %.0f %% of the images: collapse", h,
                   (long long)s->k, 100 * (double)s->size_max / n);
    if (streak->empty >= STREAK)
        alarm_user(w, r, CK_ALARM_EMPTY,
                   "%lld of %lld clusters of head %d are empty although each should have %lld "
                   "images",
                   (long long)s->empty, (long long)s->k, h, (long long)s->bound);
    /* With equal features the centers coincide too; the cause has been named. */
    if (streak->duplicates >= STREAK && !was_given(w, CK_ALARM_CONSTANT))
        alarm_user(w, r, CK_ALARM_DUPLICATES,
                   "%lld of %lld centers of head %d coincide with another one",
                   (long long)s->duplicates, (long long)s->k, h);
}

static void check_duals(struct ck_health *w, struct ck_epoch_report *r, int h)
{
    const struct ck_head_health *s = &r->health[h];
    double range = s->dual_max - s->dual_min;
    count(&w->head[h].duals, range > large_duals);
    if (w->head[h].duals >= STREAK)
        alarm_user(w, r, CK_ALARM_DUALS,
                   "the duals of head %d (k %lld) range over %.2f, more than similarities "
                   "differ: they decide the labels, not the features",
                   h, (long long)s->k, range);
}

/* The last epoch in which predictions at chance are normal. */
static int64_t last_early(const struct ck_health_facts *f)
{
    int64_t few = f->steps < FEW_STEPS ? EARLY_STEPS / f->steps : 0;
    return few > f->warmup ? few : f->warmup;
}

/* Are more predictions right than guesses would be? Averaged over as many epochs as `enough`
 * predictions take. */
static int is_right(struct ck_head_streaks *s, const struct ck_epoch_report *r, int h)
{
    double images = fmax((double)r->images, 1);
    s->seen += (double)s->seen * images < enough;
    s->right += (r->health[h].accuracy - s->right) / (double)s->seen;
    s->guess += ((double)r->health[h].size_max / images - s->guess) / (double)s->seen;
    double error = sqrt(fmax(s->guess * (1 - s->guess), 0) / (images * (double)s->seen));
    return s->right > chance_factor * s->guess - 2 * error - epsilon;
}

/* A high loss alone says little: at a high temperature, or with labels that get harder, it
 * belongs to trainings that learn; nor do predictions at chance while the loss falls or k-NN has
 * risen. */
static void check_predictions(struct ck_health *w, struct ck_epoch_report *r, int64_t early,
                              int h)
{
    const struct ck_head_health *s = &r->health[h];
    double chance = log((double)s->k);
    double *lowest = &w->min_loss[h];
    if (r->epoch == 0)
        return;
    if (*lowest == 0 || s->loss < *lowest)
        *lowest = s->loss;
    int high = s->loss > near_chance * chance || s->loss > *lowest + moved * chance;
    if (r->epoch <= early)
        w->head[h].seen = 0;
    int right = is_right(&w->head[h], r, h);
    count(&w->head[h].chance, r->epoch > early && high && !right && !w->learned);
    if (w->head[h].chance > 1 && s->loss < w->stuck[h] - falls * chance)
        w->head[h].chance = 1;
    if (w->head[h].chance == 1)
        w->stuck[h] = s->loss;
    if (w->head[h].chance >= CHANCE_STREAK && !w->given)
        alarm_user(
            w, r, CK_ALARM_CHANCE,
            "the predictions of head %d are right as often as guesses (%.3f; the largest "
            "cluster has %.3f) and its loss is %.3f, guessing gives ln %lld = %.3f: "
            "nothing is learned",
            h, w->head[h].right, w->head[h].guess, s->loss, (long long)s->k, chance);
}

/* The margin is two standard errors of the difference. */
static void note_knn(struct ck_health *w, const struct ck_epoch_report *r)
{
    double p = r->knn20, n = fmax((double)r->asked, 1);
    if (r->epoch > 0)
        w->max_loss = fmax(w->max_loss, r->loss);
    if (!r->monitored)
        return;
    if (r->epoch == 0) {
        w->random = p;
        w->pixels = r->pixels;
    }
    w->learned = w->random > 0 && p >= w->random + 2 * sqrt(2 * p * (1 - p) / n);
}

/* In the second half of a training. One that starts from trained weights, such as a second stage,
 * may leave k-NN as it is. */
static void check_knn(struct ck_health *w, struct ck_epoch_report *r,
                      const struct ck_health_facts *f)
{
    double least = moved * log((double)r->health[0].k);
    if (!r->heads || !r->monitored || 2 * r->epoch < f->epochs || w->random <= 0 ||
        f->o->init || f->o->from)
        return;
    count(&w->still, !w->learned && r->loss < w->max_loss - least);
    if (w->still == 1)
        w->still_since = r->epoch;
    if (w->still >= 2 && r->epoch - w->still_since >= STREAK && !w->given)
        alarm_user(
            w, r, CK_ALARM_STILL,
            "the loss has fallen from %.3f to %.3f, but k-NN is %.3f and was %.3f before "
            "the training (pixels: %.3f): the clusters follow something other than the "
            "classes",
            w->max_loss, r->loss, r->knn20, w->random, w->pixels);
}

void ck_health_check(struct ck_health *w, struct ck_epoch_report *r,
                     const struct ck_health_facts *facts)
{
    w->facts = facts;
    r->warnings.n = 0;
    note_knn(w, r);
    check_features(w, r);
    for (int h = 0; h < r->heads; h++) {
        check_sizes(w, r, h);
        check_duals(w, r, h);
    }
    for (int h = 0; h < r->heads; h++)
        check_predictions(w, r, last_early(facts), h);
    check_knn(w, r, facts);
}

/* ---- after a resume ---- */

struct replay {
    struct ck_health *w;
    struct ck_epoch_report *r; /* scratch: too large for the stack */
    const struct ck_health_facts *facts;
};

static int replay_line(void *arg, struct ck_record line)
{
    struct replay *p = arg;
    if (!ck_record_has(line, "heads"))
        return COKE_OK;
    ck_journal_parse(line, p->r);
    ck_health_check(p->w, p->r, p->facts);
    return COKE_OK;
}

int ck_health_replay(struct ck_health *w, const char *metrics,
                     const struct ck_health_facts *facts)
{
    struct replay p = {w, ck_calloc_array(1, sizeof *p.r), facts};
    if (!p.r)
        return COKE_ENOMEM;
    int rc = ck_record_read_lines(metrics, replay_line, &p);
    ck_free(p.r);
    return rc;
}
