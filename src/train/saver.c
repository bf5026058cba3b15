/* saver.c - when and how a training writes its checkpoints. */
#include "train/saver.h"
#include "core/clock.h"
#include "core/error.h"
#include "train/run_files.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Checkpoints by epochs may cost this fraction of the time. */
static const double MAX_FRACTION = 0.035;

void ck_saver_init(struct ck_saver *v, const char *run, struct ck_run_names *names,
                   const struct ck_train_options *o, double now)
{
    *v = (struct ck_saver){.run = run, .names = names, .o = o, .started = now, .saved = now};
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

/* Is there room for a checkpoint as large as the last one, and an eighth more? */
static int has_room(const char *run)
{
    char path[CK_RUN_PATH];
    struct stat st;
    struct statvfs disk;
    snprintf(path, sizeof path, "%s/last.safetensors", run);
    if (stat(path, &st) != 0 || statvfs(run, &disk) != 0)
        return 1;
    return (double)disk.f_bavail * (double)disk.f_frsize > 1.125 * (double)st.st_size;
}

/* Writes the checkpoint and moves last.safetensors to it, best.safetensors before: killed between
 * them, the run resumes from the checkpoint before and finds the best epoch again. Where somebody
 * else's file has the checkpoint's name, it becomes last.safetensors alone. */
static int write_named(const struct ck_saver *v, const struct ck_session *s,
                       const struct ck_position *at, int best)
{
    char name[CK_RUN_NAME], path[CK_RUN_PATH];
    ck_run_names_checkpoint(name, at->epoch, at->step);
    int taken = ck_run_names_is_foreign(v->names, v->run, name);
    snprintf(path, sizeof path, "%s/%s", v->run, taken ? "last.safetensors" : name);
    if (!has_room(v->run))
        ck_run_names_remove_old(v->names, v->run, name, 1);
    if (taken) {
        CK_RETURN_IF(ck_checkpoint_write(path, s, at));
        return best ? ck_run_link(v->run, "last.safetensors", "best.safetensors") : COKE_OK;
    }
    CK_RETURN_IF(ck_run_names_add(v->names, name));
    CK_RETURN_IF(ck_run_names_write(v->names, v->run));
    CK_RETURN_IF(ck_checkpoint_write(path, s, at));
    if (best)
        CK_RETURN_IF(ck_run_link(v->run, name, "best.safetensors"));
    CK_RETURN_IF(ck_run_link(v->run, name, "last.safetensors"));
    ck_run_names_remove_old(v->names, v->run, name, v->o->keep);
    return COKE_OK;
}

int ck_saver_write(struct ck_saver *v, const struct ck_session *s, struct ck_position *at,
                   struct ck_journal *journal, struct ck_tfevents *events, int best)
{
    double begun = ck_clock_seconds();
    if (!v->run)
        return COKE_OK;
    CK_RETURN_IF(ck_journal_sync(journal));
    CK_RETURN_IF(ck_tfevents_flush(events));
    at->metrics_bytes = journal->metrics_bytes;
    CK_RETURN_IF(write_named(v, s, at, best));
    v->saved = ck_clock_seconds();
    v->steps = 0;
    v->epoch_seconds += v->saved - begun;
    v->seconds += v->saved - begun;
    return COKE_OK;
}
