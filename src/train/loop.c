/* loop.c - a training from its first epoch, or its last checkpoint, to its end. */
#include "core/callbacks.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "data/loader.h"
#include "dist/agree.h"
#include "train/checkpoint.h"
#include "train/choices.h"
#include "train/events.h"
#include "train/health.h"
#include "train/journal.h"
#include "train/monitor.h"
#include "train/run_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096, STEP_LINES = 20 };

/* Seconds in which a training that was killed a moment ago may let go of the run. */
enum { LOCK_PATIENCE = 5 };

/* Checkpoints by epochs may cost this share of the time. */
static const double SAVING_SHARE = 0.035;

struct loop {
    struct ck_session s;
    struct ck_journal journal;
    struct ck_tfevents events;
    struct ck_monitor *watch;
    struct ck_health warnings;
    struct ck_position at;
    const char *run;
    const struct coke_train_control *control;
    const struct coke_callbacks *callbacks;
    const struct coke_callbacks *heard; /* the writer's callbacks; NULL in other processes */
    int lock;                           /* file descriptor; -1 = none */
    int writer;                         /* of several processes one writes the run and talks */
    struct coke_train_summary *out;
    double started, epoch_started, saved; /* seconds */
    double epoch_waited;
    struct ck_group_stats epoch_talk; /* when it began */
    int64_t epoch_first;              /* images that were done when it began in this process */
    int64_t steps_since_save;
    double saving; /* seconds spent on checkpoints in this epoch */
};

static void path_of(const struct loop *l, const char *name, char *path)
{
    snprintf(path, PATH, "%s/%s", l->run, name);
}

static int64_t steps_done(const struct loop *l)
{
    return l->at.epoch * l->s.steps + l->at.step;
}

/* ---- beginning ---- */

static int exists(const struct loop *l, const char *name)
{
    char path[PATH];
    path_of(l, name, path);
    return access(path, F_OK) == 0;
}

/* Lines without a checkpoint: it was taken away. */
static int has_metrics(const struct loop *l)
{
    char path[PATH];
    struct stat st;
    path_of(l, "metrics.jsonl", path);
    return stat(path, &st) == 0 && st.st_size > 0;
}

static int make_run(const struct loop *l)
{
    if (strlen(l->run) > PATH - 64)
        return ck_fail(COKE_EUSAGE, "the run directory has a name of %zu bytes, too many",
                       strlen(l->run));
    if (mkdir(l->run, 0755) != 0 && errno != EEXIST)
        return ck_fail(COKE_EIO, "%s: %s", l->run, strerror(errno));
    if (access(l->run, W_OK) != 0)
        return ck_fail(COKE_EIO, "%s: %s", l->run, strerror(errno));
    if (!exists(l, "last.safetensors") && has_metrics(l) && !l->control->force)
        return ck_fail(COKE_EUSAGE,
                       "%s has the metrics of a run but no checkpoint to continue; another "
                       "folder, or fresh and force to begin anew in this one",
                       l->run);
    return COKE_OK;
}

static int resume(struct loop *l)
{
    char path[PATH];
    path_of(l, "last.safetensors", path);
    CK_RETURN_IF(ck_checkpoint_read(path, &l->s, &l->at, l->control->resume_anyway, l->heard));
    ck_say(l->heard, "continuing at epoch %lld, step %lld", (long long)l->at.epoch,
           (long long)l->at.step);
    l->out->resumed = 1;
    l->out->epochs = l->at.epoch;
    return COKE_OK;
}

/* ---- checkpoints ---- */

/* The metrics are on the disk before the checkpoint that counts their bytes. */
static int save(struct loop *l)
{
    char name[64], path[PATH];
    double begun = ck_clock_seconds();
    if (!l->writer)
        return COKE_OK;
    CK_RETURN_IF(ck_journal_sync(&l->journal));
    CK_RETURN_IF(ck_tfevents_flush(&l->events));
    l->at.metrics_bytes = l->journal.metrics_bytes;
    snprintf(name, sizeof name, "checkpoint-%06lld-%08lld.safetensors", (long long)l->at.epoch,
             (long long)l->at.step);
    path_of(l, name, path);
    CK_RETURN_IF(ck_checkpoint_write(path, &l->s, &l->at));
    CK_RETURN_IF(ck_run_link(l->run, name, "last.safetensors"));
    ck_run_remove_old(l->run, l->s.o.keep);
    l->saved = ck_clock_seconds();
    l->steps_since_save = 0;
    l->saving += l->saved - begun;
    l->out->saving += l->saved - begun;
    return COKE_OK;
}

static int is_time_to_save(const struct loop *l)
{
    const struct ck_train_options *o = &l->s.o;
    return (o->save_steps > 0 && l->steps_since_save >= o->save_steps) ||
           (o->save_minutes > 0 && ck_clock_seconds() - l->saved > 60 * o->save_minutes);
}

/* Short epochs do without some of their checkpoints. */
static int is_affordable(const struct loop *l)
{
    return l->out->saving <= SAVING_SHARE * (ck_clock_seconds() - l->started);
}

/* Do all processes hold the same weights, centers and labels? */
static int check_same(struct loop *l, const char *when)
{
    struct ck_ranks *r = &l->s.ranks;
    return r->size > 1 ? ck_agree_hash(r->group, ck_session_hash(&l->s), when,
                                       "weights, centers or labels")
                       : COKE_OK;
}

static void say_monitor(struct loop *l)
{
    if (l->watch && !ck_monitor_has_classes(l->watch))
        ck_say(
            l->heard,
            "the images have no classes: clusters are shown to TensorBoard, k-NN and ACC are "
            "not known");
}

/* Is there a run to go on with? The writer looks, and the others do as it does. */
static int choose_start(struct loop *l, int32_t *resumes)
{
    if (!l->writer)
        return ck_group_broadcast(l->s.ranks.group, resumes, sizeof *resumes, 0);
    CK_RETURN_IF(make_run(l));
    CK_RETURN_IF(ck_run_lock(l->run, LOCK_PATIENCE, &l->lock));
    int found = exists(l, "last.safetensors");
    *resumes = found && !l->control->fresh;
    if (found && !*resumes && !l->control->force)
        return ck_fail(COKE_EUSAGE,
                       "%s holds a run; without fresh it is continued, with force it is "
                       "overwritten",
                       l->run);
    return ck_group_broadcast(l->s.ranks.group, resumes, sizeof *resumes, 0);
}

static int begin(struct loop *l)
{
    int32_t resumes = 0;
    CK_RETURN_IF(choose_start(l, &resumes));
    ck_choices_say(&l->s, l->heard);
    say_monitor(l);
    l->at = (struct ck_position){.best = -HUGE_VAL};
    if (resumes) {
        CK_RETURN_IF(resume(l));
        CK_RETURN_IF(check_same(l, "after resuming"));
    }
    if (!l->writer)
        return COKE_OK;
    if (!resumes && l->control->fresh && l->control->force)
        ck_run_remove_all(l->run);
    ck_run_remove_unfinished(l->run);
    CK_RETURN_IF(ck_run_write_config(l->run, &l->s.o));
    CK_RETURN_IF(ck_run_write_json(l->run, l->s.data->set));
    CK_RETURN_IF(ck_journal_open(&l->journal, l->run, l->at.metrics_bytes));
    CK_RETURN_IF(ck_events_open(&l->events, l->run, steps_done(l)));
    if (!l->out->resumed)
        CK_RETURN_IF(save(l)); /* from now on there is something to continue */
    return COKE_OK;
}

/* ---- epochs ---- */

static int ask(struct loop *l, const struct ck_step *step)
{
    char detail[128];
    double spent = ck_clock_seconds() - l->epoch_started;
    double waited = ck_loader_waited(l->s.loader) - l->epoch_waited;
    snprintf(detail, sizeof detail, "loss %.4f, rate %.4g, %.0f %% waiting for data",
             l->at.loss_sum / fmax((double)l->at.images, 1), step->rate,
             100 * waited / fmax(spent, 1e-9));
    struct coke_progress p = {.phase = "epoch",
                              .epoch = l->at.epoch,
                              .epochs = l->s.o.epochs,
                              .done = l->at.images,
                              .total = l->s.data->set->n,
                              .unit = "images",
                              .detail = detail};
    return ck_progress_ask(l->callbacks, &p);
}

static int add_step(struct loop *l, const struct ck_step *step)
{
    int rc = ck_journal_step(&l->journal, step);
    return rc ? rc : ck_events_step(&l->events, step, steps_done(l));
}

static int run_step(struct loop *l)
{
    struct coke_batch b;
    struct ck_step step;
    int rc = COKE_OK;
    CK_TRY(ck_loader_next(l->s.loader, &b));
    rc = ck_session_step(&l->s, &b, &step);
    if (rc == COKE_ENUMERIC || (!rc && !isfinite(step.loss)))
        CK_FAIL(COKE_ENUMERIC,
                "epoch %lld, step %lld: the loss is not finite; the last "
                "checkpoint is good; try a lower rate",
                (long long)b.epoch, (long long)b.step);
    if (rc)
        goto done;
    l->at.loss_sum += step.loss * (double)step.images;
    l->at.images += step.images;
    l->at.step++;
    l->steps_since_save++;
    if (l->writer && b.step % (1 + l->s.steps / STEP_LINES) == 0)
        CK_TRY(add_step(l, &step));
    int wish = ask(l, &step);
    CK_TRY(ck_ranks_agree(&l->s.ranks, &wish));
    if (wish && wish != COKE_ANSWER_SAVE) {
        CK_TRY(save(l));
        CK_FAIL(COKE_ESTOPPED,
                "stopped after step %lld of epoch %lld; the same command goes on",
                (long long)l->at.step, (long long)l->at.epoch);
    }
    if (wish == COKE_ANSWER_SAVE || is_time_to_save(l))
        CK_TRY(save(l));
done:
    return rc;
}

static double feature_mean(const struct ck_session *s, int64_t images)
{
    double sum = 0;
    for (int j = 0; j < s->dim; j++) {
        double m = s->feature_sum[j] / fmax((double)images, 1);
        sum += m * m;
    }
    return sqrt(sum);
}

static int report(struct loop *l, struct ck_epoch_report *r)
{
    const struct ck_session *s = &l->s;
    int64_t e = l->at.epoch;
    *r = (struct ck_epoch_report){.epoch = e,
                                  .images = l->at.images,
                                  .loss = l->at.loss_sum / fmax((double)l->at.images, 1),
                                  .rate = ck_schedule_rate(&s->sched, e, s->steps - 1),
                                  .alpha = ck_train_alpha(&s->o, e),
                                  .feature_mean = feature_mean(s, l->at.images),
                                  .heads = s->heads.n,
                                  .matched = -1,
                                  .seconds = ck_clock_seconds() - l->epoch_started,
                                  .saving = l->saving,
                                  .processes = s->ranks.size,
                                  .talk = ck_group_stats_since(s->ranks.group, l->epoch_talk),
                                  .timed = l->at.images - l->epoch_first,
                                  .waited = ck_loader_waited(s->loader) - l->epoch_waited};
    for (int h = 0; h < s->heads.n; h++)
        CK_RETURN_IF(ck_heads_health(&s->heads, h, &r->health[h]));
    return COKE_OK;
}

/* Higher is better: k-NN where it was looked at, otherwise the loss. */
static int update_best(struct loop *l, const struct ck_epoch_report *r)
{
    int judged = ck_monitor_has_classes(l->watch);
    double score = judged ? r->knn20 : -r->loss;
    if (r->epoch == 0 || (judged && !r->monitored) || score <= l->at.best)
        return 0;
    l->at.best = score;
    return 1;
}

static void copy_monitored(struct coke_train_summary *o, const struct ck_epoch_report *r)
{
    o->monitored = r->monitored;
    o->knn20 = r->knn20;
    o->knn200 = r->knn200;
    o->matched_head = r->matched;
    o->accuracy = r->accuracy;
    o->nmi = r->nmi;
    o->ari = r->ari;
}

static void summarise(struct loop *l, const struct ck_epoch_report *r)
{
    struct coke_train_summary *o = l->out;
    char more[96] = "", talk[48] = "";
    o->epochs = r->epoch + 1;
    o->images = r->images;
    o->loss = r->loss;
    if (r->monitored) {
        copy_monitored(o, r);
        snprintf(more, sizeof more, ", k-NN %.3f", r->knn20);
        if (r->matched >= 0)
            snprintf(more, sizeof more, ", k-NN %.3f, ACC %.3f, NMI %.3f, ARI %.3f", r->knn20,
                     r->accuracy, r->nmi, r->ari);
    }
    if (r->processes > 1)
        snprintf(talk, sizeof talk, ", %.0f %% waiting for processes",
                 100 * r->talk.seconds / fmax(r->seconds, 1e-9));
    const struct ck_head_health *h = &r->health[0];
    ck_say(l->heard,
           "epoch %lld: loss %.4f, sizes %lld..%lld of %lld, %.0f %% of labels new%s, %.0f "
           "images/s%s",
           (long long)r->epoch, r->loss, (long long)h->size_min, (long long)h->size_max,
           (long long)h->k, 100 * h->changed, more, (double)r->timed / fmax(r->seconds, 1e-9),
           talk);
}

static int look(struct loop *l, struct ck_epoch_report *r)
{
    struct ck_image sheet = {0};
    int head, rc = COKE_OK;
    CK_TRY(ck_monitor_evaluate(l->watch, r));
    CK_TRY(ck_monitor_show(l->watch, &sheet, &head));
    CK_TRY(
        ck_events_exemplars(&l->events, &sheet, head, l->s.heads.head[head]->k, steps_done(l)));
done:
    ck_image_release(&sheet);
    return rc;
}

/* What the processes that do not write do at the end of an epoch. */
static int follow_epoch(struct loop *l)
{
    int rc = ck_heads_epoch_end(&l->s.heads);
    l->at = (struct ck_position){.epoch = l->at.epoch + 1, .best = l->at.best};
    memset(l->s.feature_sum, 0, (size_t)l->s.dim * sizeof(double));
    return rc;
}

static int end_epoch(struct loop *l)
{
    struct ck_epoch_report *r = ck_calloc_array(1, sizeof *r);
    int rc = COKE_OK;
    if (!r)
        return COKE_ENOMEM;
    CK_TRY(report(l, r));
    CK_TRY(ck_events_epoch(&l->events, r, &l->s.heads, steps_done(l)));
    CK_TRY(ck_heads_epoch_end(&l->s.heads));
    int last = l->at.epoch + 1 == l->s.o.epochs;
    if (l->watch && (last || l->at.epoch % l->s.o.monitor == 0))
        CK_TRY(look(l, r));
    CK_TRY(ck_journal_epoch(&l->journal, r));
    CK_TRY(ck_events_monitor(&l->events, r, steps_done(l)));
    CK_TRY(ck_tfevents_flush(&l->events));
    ck_health_check(&l->warnings, r, l->s.sched.warmup, l->heard);
    summarise(l, r);
    int best = update_best(l, r);
    l->at = (struct ck_position){
        .epoch = l->at.epoch + 1, .best = l->at.best, .last_loss = r->loss};
    memset(l->s.feature_sum, 0, (size_t)l->s.dim * sizeof(double));
    int due = l->s.o.save_epochs > 0 && l->at.epoch % l->s.o.save_epochs == 0;
    if (best || last || (due && is_affordable(l)))
        CK_TRY(save(l));
    if (best)
        CK_TRY(ck_run_link(l->run, "last.safetensors", "best.safetensors"));
done:
    ck_free(r);
    return rc;
}

static int run_epoch(struct loop *l)
{
    char what[32];
    l->epoch_started = ck_clock_seconds();
    l->epoch_waited = ck_loader_waited(l->s.loader);
    l->epoch_talk = ck_group_stats(l->s.ranks.group);
    l->saving = 0;
    l->epoch_first = l->at.images;
    ck_loss_set_alpha(l->s.loss, ck_train_alpha(&l->s.o, l->at.epoch));
    while (l->at.step < l->s.steps)
        CK_RETURN_IF(run_step(l));
    snprintf(what, sizeof what, "epoch %lld", (long long)l->at.epoch);
    CK_RETURN_IF(check_same(l, what));
    return l->writer ? end_epoch(l) : follow_epoch(l);
}

/* A run that was complete tells what it came to. */
static int look_again(struct loop *l)
{
    int rc = COKE_OK;
    struct ck_epoch_report *r = ck_calloc_array(1, sizeof *r);
    if (!r)
        return COKE_ENOMEM;
    l->out->loss = l->at.last_loss;
    if (l->watch) {
        CK_TRY(ck_monitor_evaluate(l->watch, r));
        copy_monitored(l->out, r);
    }
done:
    ck_free(r);
    return rc;
}

/* ---- the end ---- */

static int write_labels(const struct loop *l, int h)
{
    const struct coke_kmeans *km = l->s.heads.head[h];
    char name[64], path[PATH];
    int64_t n = l->s.data->set->n, shape[2] = {km->k, l->s.dim};
    int rc = COKE_OK;
    int32_t *labels = ck_alloc_array((size_t)n, sizeof *labels);
    if (!labels)
        return COKE_ENOMEM;
    CK_TRY(ck_kmeans_copy(km, COKE_ARRAY_LABELS, labels, n));
    snprintf(name, sizeof name, "labels-h%d-k%lld.npy", h, (long long)km->k);
    path_of(l, name, path);
    CK_TRY(ck_npy_write(path, CK_I32, 1, &n, labels, 1));
    snprintf(name, sizeof name, "centers-h%d-k%lld.npy", h, (long long)km->k);
    path_of(l, name, path);
    CK_TRY(ck_npy_write(path, CK_F32, 2, shape, l->s.heads.center[h], 1));
done:
    ck_free(labels);
    return rc;
}

static int finish(struct loop *l)
{
    struct ck_state state = {0};
    char path[PATH];
    int rc = COKE_OK;
    for (int h = 0; h < l->s.heads.n; h++)
        CK_TRY(write_labels(l, h));
    CK_TRY(ck_encoder_save(&l->s.encoder, &state));
    CK_TRY(ck_checkpoint_add_images(&state, &l->s));
    path_of(l, "final.safetensors", path);
    CK_TRY(ck_safetensors_write(path, &state, 1));
done:
    ck_state_release(&state);
    return rc;
}

int ck_train_run(struct coke_dataset *data, const struct ck_train_options *options,
                 const char *run, const struct coke_train_control *control,
                 const struct coke_callbacks *callbacks, struct coke_train_summary *out)
{
    struct loop *l = ck_calloc_array(1, sizeof *l);
    int rc = COKE_OK;
    if (!l)
        return COKE_ENOMEM;
    memset(out, 0, sizeof *out);
    out->matched_head = -1;
    l->journal.metrics = l->journal.timing = l->lock = -1;
    l->run = run;
    l->control = control;
    l->callbacks = callbacks;
    l->out = out;
    l->started = l->saved = ck_clock_seconds();
    l->writer = ck_group_rank(ck_group()) == 0;
    l->heard = l->writer ? callbacks : NULL;
    CK_TRY(ck_session_init(&l->s, data, options));
    if (l->writer)
        CK_TRY(ck_monitor_new(&l->watch, &l->s));
    CK_TRY(begin(l));
    if (l->at.epoch == l->s.o.epochs && l->writer)
        CK_TRY(look_again(l));
    while (l->at.epoch < l->s.o.epochs)
        CK_TRY(run_epoch(l));
    if (l->writer)
        CK_TRY(finish(l));
done:
    out->seconds = ck_clock_seconds() - l->started;
    if (l->s.loader)
        out->waited = ck_loader_waited(l->s.loader);
    ck_monitor_free(l->watch);
    ck_journal_close(&l->journal);
    if (ck_tfevents_close(&l->events) && !rc)
        rc = COKE_EIO;
    ck_session_release(&l->s);
    if (l->lock >= 0)
        close(l->lock);
    ck_free(l);
    return rc;
}
