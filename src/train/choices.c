/* choices.c - the first lines of a training: what was chosen for the user, and from what. */
#include "train/choices.h"
#include "core/workers.h"
#include "data/loader.h"

#include <stdio.h>

enum { LINE = 256 };

static void say_processes(const struct ck_session *s, ck_say *say, void *user)
{
    char line[LINE];
    if (s->ranks.size == 1)
        return;
    snprintf(line, sizeof line,
             "%d processes, %d thread%s each, share batches of %lld; gradients in %d buckets",
             s->ranks.size, ck_threads(), ck_threads() == 1 ? "" : "s",
             (long long)s->o.loader.batch, ck_buckets_count(s->ranks.buckets));
    say(user, line);
}

static void say_rate(const struct ck_session *s, ck_say *say, void *user)
{
    char line[LINE];
    snprintf(line, sizeof line, "rate %.4g%s, %lld epochs of warm-up%s", s->sched.rate,
             s->o.rate > 0 ? "" : " (chosen from optimizer and batch)",
             (long long)s->sched.warmup,
             s->o.warmup >= 0 ? "" : " (chosen: a tenth of the epochs, at most 10)");
    say(user, line);
}

static void say_heads(const struct ck_session *s, ck_say *say, void *user)
{
    char line[LINE];
    for (int h = 0; h < s->heads.n; h++) {
        const struct coke_kmeans *km = s->heads.head[h];
        snprintf(line, sizeof line, "head %d: k %lld, at least %lld images each, eta %.4g%s", h,
                 (long long)km->k, (long long)km->min_size[0],
                 ck_train_eta(&s->o, s->data->set->n, h),
                 s->o.eta > 0 ? "" : " (chosen from images, k, batch and ratio)");
        say(user, line);
    }
}

void ck_choices_say(const struct ck_session *s, ck_say *say, void *user)
{
    const struct ck_recipe *r = ck_loader_recipe(s->loader);
    char line[LINE];
    say_processes(s, say, user);
    snprintf(line, sizeof line,
             "%lld images, recipe %s: %d view%s of %d pixels, %lld steps an epoch",
             (long long)s->data->set->n, r->name, r->views, r->views == 1 ? "" : "s",
             r->view[0].width, (long long)s->steps);
    say(user, line);
    say_rate(s, say, user);
    say_heads(s, say, user);
}
