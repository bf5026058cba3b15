/* choices.c - the first lines of a training: its settings, and what each default follows from.
 */
#include "train/choices.h"
#include "core/callbacks.h"
#include "core/workers.h"
#include "data/loader.h"

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

void ck_choices_say(const struct ck_session *s, const struct coke_callbacks *cb)
{
    const struct ck_recipe *r = ck_loader_recipe(s->loader);
    say_processes(s, cb);
    ck_say(cb, "%lld images, recipe %s: %d view%s of %d pixels, %lld steps per epoch",
           (long long)s->data->set->n, r->name, r->views, r->views == 1 ? "" : "s",
           r->view[0].width, (long long)s->steps);
    say_rate(s, cb);
    say_heads(s, cb);
}
