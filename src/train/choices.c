/* choices.c - the first lines of a training: its settings, and what each default follows from.
 */
#include "train/choices.h"
#include "core/callbacks.h"
#include "core/text.h"
#include "core/workers.h"
#include "data/loader.h"

#include <math.h>

static void say_processes(const struct ck_session *s, const struct coke_callbacks *cb)
{
    if (s->ranks.size == 1)
        return;
    ck_say(cb, "%d processes, %d thread%s each, share batches of %lld; gradients in %d buckets",
           s->ranks.size, ck_threads(), ck_threads() == 1 ? "" : "s",
           (long long)s->o.loader.batch, ck_buckets_count(s->ranks.buckets));
    if (!ck_group_is_watched(s->ranks.group))
        ck_say(cb, "the processes have no TCP connections to each other: only the launcher "
                   "notices a lost one");
}

/* Rate and warm-up; says from what they follow where the user left them open. */
static void say_rate(const struct ck_session *s, const struct coke_callbacks *cb)
{
    ck_say(cb, "rate %.4g%s, %lld epochs of warm-up%s", s->schedule.rate,
           s->o.rate > 0 ? "" : " (chosen from optimizer and batch)",
           (long long)s->schedule.warmup,
           s->o.warmup >= 0 ? "" : " (chosen: a tenth of the epochs, at most 10)");
}

/* One line per head; min_size[0] because a training bounds all clusters of a head alike. */
static void say_heads(const struct ck_session *s, const struct coke_callbacks *cb)
{
    for (int h = 0; h < s->heads.n; h++) {
        const struct coke_kmeans *km = s->heads.head[h];
        ck_say(cb, "head %d: k %lld, at least %lld images each, eta %.4g%s", h,
               (long long)ck_kmeans_k(km), (long long)ck_kmeans_min_sizes(km)[0],
               ck_train_eta(&s->o, s->data->set->n, h),
               s->o.kmeans.eta > 0 ? "" : " (chosen from images, k, batch and ratio)");
    }
}

/* "16 pixels from epoch 0, 24 from epoch 11, ..." */
static void say_sizes(const struct ck_course *c, const struct coke_callbacks *cb)
{
    char text[64 * 32] = ""; /* as many as a list can have */
    size_t n = 0;
    int32_t last = 0;
    for (int64_t e = 0; e < c->epochs; e++) {
        int32_t size = ck_course_size(c, e);
        if (size != last)
            n += (size_t)ck_format(text + n, sizeof text - n, "%s%d%s from epoch %lld",
                                   n ? ", " : "", size, n ? "" : " pixels", (long long)e);
        last = size;
    }
    ck_say(cb, "views: %s", text);
}

static void say_schedules(const struct ck_session *s, const struct coke_callbacks *cb)
{
    const struct ck_course *c = &s->o.loader.course;
    double alpha = ck_train_alpha(&s->o, 0);
    if (c->size.n)
        say_sizes(c, cb);
    if (c->ramp > 0)
        ck_say(cb, "augmentation grows to its full strength in epoch %.0f",
               ceil(c->ramp * (double)(c->epochs - 1)));
    if (s->heads.n && alpha > s->o.loss.alpha && s->large > 1)
        ck_say(cb, "alpha falls from %.3g to %.3g until epoch %.0f", alpha, s->o.loss.alpha,
               ceil(s->o.alpha_until * (double)(s->o.epochs - 1)));
    if (s->o.round)
        ck_say(cb, "round: the centers of the loss are renewed every %lld images",
               (long long)s->o.round);
    if (s->o.ema > 0)
        ck_say(cb, "averaged weights (ema %g) are evaluated and saved as the encoder",
               s->o.ema);
}

void ck_choices_say(const struct ck_session *s, const struct coke_callbacks *cb)
{
    const struct ck_recipe *r = ck_loader_recipe(s->loader);
    say_processes(s, cb);
    ck_say(cb, "%lld images, recipe %s: %d view%s of %d pixels, %lld steps per epoch",
           (long long)s->data->set->n, r->name, r->views, r->views == 1 ? "" : "s",
           r->view[0].width, (long long)s->steps);
    say_rate(s, cb);
    say_schedules(s, cb);
    say_heads(s, cb);
}
