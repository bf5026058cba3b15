/* loop.c - a training from its first epoch, or its last checkpoint, to its end. */
#include "train/from_run.h"
#include "train/loop.h"
#include "core/callbacks.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "data/loader.h"
#include "dist/agree.h"
#include "train/batch_choice.h"
#include "train/best.h"
#include "train/first_choice.h"
#include "train/run_files.h"
#include "train/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Steps per epoch in the journal, about: all of a short epoch. */
enum { STEP_LINES = 20 };

/* ---- shared with run_begin.c and run_end.c ---- */

int64_t ck_training_steps(const struct ck_training *t)
{
    return t->at.epoch * t->s.steps + t->at.step;
}

int ck_training_check_ranks(struct ck_training *t, const char *when)
{
    struct ck_ranks *r = &t->s.ranks;
    uint64_t hash;
    if (r->size == 1)
        return COKE_OK;
    CK_RETURN_IF(ck_session_hash(&t->s, &hash));
    return ck_agree_hash(r->group, hash, when, "weights, centers or labels");
}

/* ---- steps ---- */

/* Calls the progress callback and returns its answer: 0, COKE_ANSWER_SAVE, or stop. */
static int report_progress(struct ck_training *t, const struct ck_step *step)
{
    char detail[128];
    double spent = ck_clock_seconds() - t->epoch_started;
    double waited = ck_loader_waited(t->s.loader) - t->epoch_waited;
    ck_format(detail, sizeof detail, "loss %.4f, rate %.4g, %.0f %% waiting for data",
              t->at.loss_sum / fmax((double)t->at.images, 1), step->rate,
              100 * waited / fmax(spent, 1e-9));
    struct coke_progress p = {.phase = "epoch",
                              .epoch = t->at.epoch,
                              .epochs = t->s.o.epochs,
                              .done = t->at.images,
                              .total = t->s.data->set->n,
                              .unit = "images",
                              .detail = detail};
    return ck_progress_ask(t->callbacks, &p);
}

/* Nothing on ranks that do not write. */
static int save(struct ck_training *t, int best)
{
    return ck_saver_write(&t->saver, &t->s, &t->at, &t->journal, &t->events, best);
}

/* Does what the user asked for after a step: stop with a checkpoint, or save. All ranks agree
 * on it first; which of them save by their clock does not matter, since one writes. */
static int obey(struct ck_training *t, int request)
{
    CK_RETURN_IF(ck_ranks_agree(&t->s.ranks, &request));
    if (request && request != COKE_ANSWER_SAVE) {
        CK_RETURN_IF(save(t, 0));
        return ck_fail(COKE_ESTOPPED,
                       "stopped after step %lld of epoch %lld; run the same command to resume",
                       (long long)t->at.step, (long long)t->at.epoch);
    }
    int due = request == COKE_ANSWER_SAVE || ck_saver_due_step(&t->saver, ck_clock_seconds());
    return due ? save(t, 0) : COKE_OK;
}

/* Every step of a short epoch, about STEP_LINES of a long one. */
static int record_step(struct ck_training *t, const struct ck_step *step)
{
    if (!t->writer || step->step % (1 + t->s.steps / STEP_LINES) != 0)
        return COKE_OK;
    CK_RETURN_IF(ck_journal_step(&t->journal, step));
    return ck_events_step(&t->events, step, ck_training_steps(t));
}

/* One batch: load, step, count, record, and do what the user asked for. */
static int run_step(struct ck_training *t)
{
    struct coke_batch b;
    struct ck_step step;
    CK_RETURN_IF(ck_loader_next(t->s.loader, &b));
    int rc = ck_session_step(&t->s, &b, &step);
    if (rc == COKE_ENUMERIC || (!rc && !isfinite(step.loss)))
        return ck_fail(COKE_ENUMERIC,
                       "epoch %lld, step %lld: the loss is not finite; the last checkpoint is "
                       "good; try a lower rate",
                       (long long)b.epoch, (long long)b.step);
    if (rc)
        return rc;
    t->at.loss_sum += step.loss * (double)step.images;
    t->at.images += step.images;
    t->at.step++;
    t->saver.steps++;
    CK_RETURN_IF(record_step(t, &step));
    return obey(t, report_progress(t, &step));
}

/* ---- the end of an epoch ---- */

/* Length of the mean projection: near 1 if all images look the same to the encoder. */
static double feature_mean(const struct ck_session *s, int64_t images)
{
    double sum = 0;
    for (int j = 0; j < s->dim; j++) {
        double m = s->feature_sum[j] / fmax((double)images, 1);
        sum += m * m;
    }
    return sqrt(sum);
}

/* Call before the method's end of an epoch, which resets the sums of the heads. */
static int fill_report(struct ck_training *t, struct ck_epoch_report *r)
{
    const struct ck_session *s = &t->s;
    int64_t e = t->at.epoch;
    *r = (struct ck_epoch_report){.epoch = e,
                                  .images = t->at.images,
                                  .loss = t->at.loss_sum / fmax((double)t->at.images, 1),
                                  .rate = ck_schedule_rate(&s->schedule, e, s->steps - 1),
                                  .alpha = ck_train_alpha(&s->o, e),
                                  .feature_mean = feature_mean(s, t->at.images),
                                  .heads = s->heads.n,
                                  .matched = -1,
                                  .seconds = ck_clock_seconds() - t->epoch_started,
                                  .cpu = ck_clock_cpu_seconds() - t->epoch_cpu,
                                  .saving = t->saver.epoch_seconds,
                                  .processes = s->ranks.size,
                                  .talk = ck_group_stats_since(s->ranks.group, t->epoch_talk),
                                  .timed = t->at.images - t->epoch_first,
                                  .waited = ck_loader_waited(s->loader) - t->epoch_waited};
    for (int h = 0; h < s->heads.n; h++)
        CK_RETURN_IF(ck_heads_health(&s->heads, h, &r->health[h]));
    return COKE_OK;
}

/* Evaluates the features and sends a sheet of clusters to TensorBoard. */
static int evaluate(struct ck_training *t, struct ck_epoch_report *r)
{
    struct ck_image sheet = {0};
    int head, rc = COKE_OK;
    CK_TRY(ck_monitor_evaluate(t->monitor, r));
    if (!t->s.heads.n)
        goto done;
    CK_TRY(ck_monitor_show(t->monitor, &sheet, &head));
    CK_TRY(ck_events_exemplars(&t->events, &sheet, head, ck_kmeans_k(t->s.heads.head[head]),
                               ck_training_steps(t)));
done:
    ck_image_release(&sheet);
    return rc;
}

/* The evaluation of the last epoch that had one stays in the summary. */
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

/* ", k-NN 0.713, ACC 0.520, ..."; in epoch 0 with what k-NN has to exceed. */
static void describe_monitored(const struct ck_epoch_report *r, int trained, char *out,
                               size_t size)
{
    size_t n = (size_t)ck_format(out, size, ", k-NN %.3f", r->knn20);
    if (r->epoch == 0)
        n += (size_t)ck_format(out + n, size - n, " (%s; pixels %.3f)",
                               trained ? "before the training" : "random network", r->pixels);
    if (r->matched >= 0)
        ck_format(out + n, size - n, ", ACC %.3f, NMI %.3f, ARI %.3f", r->accuracy, r->nmi,
                  r->ari);
}

/* The caller's summary, and one line to the user. */
static void summarise(struct ck_training *t, const struct ck_epoch_report *r)
{
    struct coke_train_summary *o = t->out;
    const struct ck_head_health *h = &r->health[0];
    char more[160] = "", talk[48] = "", sizes[96] = "";
    o->epochs = r->epoch + 1;
    o->images = r->images;
    o->loss = r->loss;
    if (r->monitored) {
        copy_monitored(o, r);
        describe_monitored(r, t->s.o.init || t->s.o.from, more, sizeof more);
    }
    if (r->processes > 1)
        ck_format(talk, sizeof talk, ", %.0f %% waiting for processes",
                  100 * r->talk.seconds / fmax(r->seconds, 1e-9));
    if (r->heads)
        ck_format(sizes, sizeof sizes, ", sizes %lld..%lld of %lld, %.0f %% of labels new",
                  (long long)h->size_min, (long long)h->size_max, (long long)h->k,
                  100 * h->changed);
    ck_say(t->messages, "epoch %lld: loss %.4f%s%s, %.0f images/s%s", (long long)r->epoch,
           r->loss, sizes, more, (double)r->timed / fmax(r->seconds, 1e-9), talk);
}

static struct ck_health_facts health_facts(const struct ck_training *t)
{
    return (struct ck_health_facts){.warmup = t->s.schedule.warmup,
                                    .epochs = t->s.o.epochs,
                                    .views = t->s.views,
                                    .steps = t->s.steps,
                                    .o = &t->s.o};
}

/* Writes the epoch to the journal and TensorBoard, warns and summarises. */
static int publish(struct ck_training *t, struct ck_epoch_report *r)
{
    struct ck_health_facts facts = health_facts(t);
    ck_health_check(&t->health, r, &facts);
    CK_RETURN_IF(ck_journal_epoch(&t->journal, r));
    CK_RETURN_IF(ck_events_monitor(&t->events, r, ck_training_steps(t)));
    CK_RETURN_IF(ck_tfevents_flush(&t->events));
    for (int i = 0; i < r->warnings.n; i++)
        ck_warn(t->messages, "%s", r->warnings.item[i].text);
    summarise(t, r);
    return COKE_OK;
}

static void advise(const struct ck_training *t)
{
    char text[400] = "";
    if (t->s.method->advise)
        t->s.method->advise(&t->s, t->at.epoch, text, sizeof text);
    if (text[0])
        ck_warn(t->messages, "%s", text);
}

/* The method's end of an epoch, which all ranks reach. */
static int end_method_epoch(struct ck_training *t)
{
    return t->s.method->end_epoch ? t->s.method->end_epoch(&t->s) : COKE_OK;
}

/* Position and sums of a new epoch; the method has reset those of the heads. */
static void enter_next_epoch(struct ck_training *t, double last_loss)
{
    t->at = (struct ck_position){
        .epoch = t->at.epoch + 1, .best = t->at.best, .last_loss = last_loss};
    memset(t->s.feature_sum, 0, (size_t)t->s.dim * sizeof(double));
}

/* The writer's end of an epoch. The best epoch and the last are always saved. */
static int end_epoch(struct ck_training *t)
{
    struct ck_epoch_report *r = ck_calloc_array(1, sizeof *r);
    int last = t->at.epoch + 1 == t->s.o.epochs, rc = COKE_OK;
    if (!r)
        return COKE_ENOMEM;
    CK_TRY(fill_report(t, r));
    CK_TRY(ck_events_epoch(&t->events, r, &t->s.heads, ck_training_steps(t)));
    CK_TRY(end_method_epoch(t));
    if (t->monitor && (last || t->at.epoch % t->s.o.monitor == 0))
        CK_TRY(evaluate(t, r));
    CK_TRY(publish(t, r));
    advise(t);
    int best = ck_best_update(&t->at.best, r, ck_monitor_has_classes(t->monitor));
    enter_next_epoch(t, r->loss);
    if (best || last || ck_saver_due_epoch(&t->saver, t->at.epoch, ck_clock_seconds()))
        CK_TRY(save(t, best));
done:
    ck_free(r);
    return rc;
}

/* What the other ranks do at the end of an epoch. */
static int follow_epoch(struct ck_training *t)
{
    CK_RETURN_IF(end_method_epoch(t));
    enter_next_epoch(t, 0);
    return COKE_OK;
}

/* ---- epochs ---- */

/* Runs what is left of the current epoch: after a resume not all of it. */
static int run_epoch(struct ck_training *t)
{
    char when[32];
    t->epoch_started = ck_clock_seconds();
    t->epoch_cpu = ck_clock_cpu_seconds();
    t->epoch_waited = ck_loader_waited(t->s.loader);
    t->epoch_talk = ck_group_stats(t->s.ranks.group);
    t->epoch_first = t->at.images;
    t->saver.epoch_seconds = 0;
    if (t->s.method->begin_epoch)
        t->s.method->begin_epoch(&t->s, t->at.epoch);
    while (t->at.step < t->s.steps)
        CK_RETURN_IF(run_step(t));
    snprintf(when, sizeof when, "epoch %lld", (long long)t->at.epoch);
    CK_RETURN_IF(ck_training_check_ranks(t, when));
    return t->writer ? end_epoch(t) : follow_epoch(t);
}

/* Resumed after its last epoch, a run only fills the summary again. */
static int summarise_again(struct ck_training *t)
{
    int rc = COKE_OK;
    struct ck_epoch_report *r = ck_calloc_array(1, sizeof *r);
    if (!r)
        return COKE_ENOMEM;
    t->out->loss = t->at.last_loss;
    if (t->monitor) {
        CK_TRY(ck_monitor_evaluate(t->monitor, r));
        copy_monitored(t->out, r);
    }
done:
    ck_free(r);
    return rc;
}

/* Warnings depend on earlier epochs, which another process may have run. */
static int restore_health(struct ck_training *t)
{
    struct ck_health_facts facts = health_facts(t);
    return t->writer && t->out->resumed
               ? ck_health_replay(&t->health, t->journal.metrics_path, &facts)
               : COKE_OK;
}

/* The session is built; begin, run the epochs that are left, end. */
static int run_all(struct ck_training *t)
{
    if (t->writer)
        CK_RETURN_IF(ck_monitor_new(&t->monitor, &t->s));
    CK_RETURN_IF(ck_training_begin(t));
    CK_RETURN_IF(restore_health(t));
    if (t->writer && t->at.epoch == t->s.o.epochs)
        CK_RETURN_IF(summarise_again(t));
    while (t->at.epoch < t->s.o.epochs)
        CK_RETURN_IF(run_epoch(t));
    return t->writer ? ck_training_end(t) : COKE_OK;
}

/* Releases *t; rc: of the training, which a failure to close its files replaces. */
static int close_all(struct ck_training *t, int rc)
{
    int began = t->journal.metrics >= 0;
    ck_monitor_free(t->monitor);
    ck_journal_close(&t->journal);
    int summed = began ? ck_run_names_sum(t->run, &t->s.o, 1) : COKE_OK;
    rc = rc ? rc : summed;
    if (ck_tfevents_close(&t->events) && !rc)
        rc = COKE_EIO;
    ck_session_release(&t->s);
    ck_run_names_release(&t->names);
    if (t->lock >= 0)
        close(t->lock);
    ck_free(t);
    return rc;
}

/* Chooses what is open, then checks the folder and builds. The texts in the options stay the
 * caller's. */
static int build_session(struct ck_training *t, struct coke_dataset *data,
                         const struct ck_train_options *options)
{
    struct ck_train_options o = *options;
    CK_RETURN_IF(ck_from_run_adopt(&o));
    CK_RETURN_IF(ck_first_choose(&o, data, t->messages));
    if (t->writer)
        CK_RETURN_IF(ck_training_check_folder(t, &o));
    CK_RETURN_IF(ck_batch_resolve(&o, data, t->control->fresh ? NULL : t->run, t->messages));
    t->batch = o.loader.batch;
    t->accumulate = o.accumulate;
    return ck_session_init(&t->s, data, &o);
}

/* Adds to the sentence which options make a training smaller. */
static int advise_memory(const struct ck_training *t)
{
    char sentence[CK_SENTENCE];
    if (!t->batch)
        return COKE_ENOMEM;
    snprintf(sentence, sizeof sentence, "%s", ck_last_error());
    return ck_fail(COKE_ENOMEM,
                   "%.512s; set a smaller batch (now %lld) or a larger accumulate (now %lld)",
                   sentence, (long long)t->batch, (long long)t->accumulate);
}

int ck_train_run(struct coke_dataset *data, const struct ck_train_options *options,
                 const char *run, const struct coke_train_control *control,
                 const struct coke_callbacks *callbacks, struct coke_train_summary *out)
{
    int writer = ck_group_rank(ck_group()) == 0;
    struct ck_training *t = ck_calloc_array(1, sizeof *t);
    if (!t)
        return COKE_ENOMEM;
    *out = (struct coke_train_summary){.matched_head = -1};
    *t = (struct ck_training){.run = run,
                              .control = control,
                              .callbacks = callbacks,
                              .messages = writer ? callbacks : NULL,
                              .out = out,
                              .writer = writer,
                              .lock = -1,
                              .journal = {.metrics = -1, .timing = -1},
                              .started = ck_clock_seconds()};
    ck_saver_init(&t->saver, writer ? run : NULL, &t->names, &t->s.o, t->started);
    int rc = build_session(t, data, options);
    if (!rc)
        rc = run_all(t);
    if (rc == COKE_ENOMEM)
        rc = advise_memory(t);
    out->seconds = ck_clock_seconds() - t->started;
    out->saving = t->saver.seconds;
    if (t->s.loader)
        out->waited = ck_loader_waited(t->s.loader);
    return close_all(t, rc);
}
