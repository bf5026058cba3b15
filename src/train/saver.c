/* saver.c - when and how a training writes its checkpoints. */
#include "train/saver.h"
#include "core/clock.h"
#include "core/error.h"
#include "train/run_files.h"

#include <stdio.h>
#include <string.h>

/* Checkpoints by epochs may cost this fraction of the time. */
static const double MAX_FRACTION = 0.035;

void ck_saver_init(struct ck_saver *v, const char *run, const struct ck_train_options *o,
                   double now)
{
    *v = (struct ck_saver){.run = run, .o = o, .started = now, .saved = now};
}

int ck_saver_due_step(const struct ck_saver *v, double now)
{
    int by_steps = v->o->save_steps > 0 && v->steps >= v->o->save_steps;
    int by_time = v->o->save_minutes > 0 && now - v->saved > 60 * v->o->save_minutes;
    return v->run && (by_steps || by_time);
}

int ck_saver_due_epoch(const struct ck_saver *v, int64_t epochs, double now)
{
    int by_epochs = v->o->save_epochs > 0 && epochs % v->o->save_epochs == 0;
    return v->run && by_epochs && v->seconds <= MAX_FRACTION * (now - v->started);
}

int ck_saver_write(struct ck_saver *v, const struct ck_session *s, struct ck_position *at,
                   struct ck_journal *journal, struct ck_tfevents *events)
{
    char name[64], path[CK_RUN_PATH];
    double begun = ck_clock_seconds();
    if (!v->run)
        return COKE_OK;
    CK_RETURN_IF(ck_journal_sync(journal));
    CK_RETURN_IF(ck_tfevents_flush(events));
    at->metrics_bytes = journal->metrics_bytes;
    snprintf(name, sizeof name, "checkpoint-%06lld-%08lld.safetensors", (long long)at->epoch,
             (long long)at->step);
    snprintf(path, sizeof path, "%s/%s", v->run, name);
    CK_RETURN_IF(ck_checkpoint_write(path, s, at));
    CK_RETURN_IF(ck_run_link(v->run, name, "last.safetensors"));
    ck_run_remove_old(v->run, v->o->keep);
    v->saved = ck_clock_seconds();
    v->steps = 0;
    v->epoch_seconds += v->saved - begun;
    v->seconds += v->saved - begun;
    return COKE_OK;
}
