/* run_begin.c - how a training starts: the run folder, its lock, and whether to resume. */
#include "core/callbacks.h"
#include "core/error.h"
#include "train/choices.h"
#include "train/run_files.h"
#include "train/training.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A training that was killed a moment ago may hold its lock this long; seconds. */
enum { LOCK_PATIENCE = 5 };

static int has_checkpoint(const struct ck_training *t)
{
    char path[CK_RUN_PATH];
    snprintf(path, sizeof path, "%s/last.safetensors", t->run);
    return access(path, F_OK) == 0;
}

/* Metrics without a checkpoint: somebody removed it, and a new run would truncate them. */
static int has_metrics(const struct ck_training *t)
{
    char path[CK_RUN_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/metrics.jsonl", t->run);
    return stat(path, &st) == 0 && st.st_size > 0;
}

static int make_folder(const struct ck_training *t)
{
    if (strlen(t->run) > CK_RUN_PATH - 64)
        return ck_fail(COKE_EUSAGE, "the name of the run folder is too long: %zu bytes",
                       strlen(t->run));
    if (mkdir(t->run, 0755) != 0 && errno != EEXIST)
        return ck_fail(COKE_EIO, "%s: %s", t->run, strerror(errno));
    if (access(t->run, W_OK) != 0)
        return ck_fail(COKE_EIO, "%s: %s", t->run, strerror(errno));
    if (!has_checkpoint(t) && has_metrics(t) && !t->control->force)
        return ck_fail(
            COKE_EUSAGE,
            "%s has the metrics of a run but no checkpoint to resume; choose another "
            "folder, or start over in this one with fresh and force",
            t->run);
    return COKE_OK;
}

/* The writer decides whether there is a run to resume, and the other ranks follow. A writer
 * that fails ends the job, so the others do not wait. Collective. */
static int choose_start(struct ck_training *t, int32_t *resumes)
{
    if (!t->writer)
        return ck_group_broadcast(t->s.ranks.group, resumes, sizeof *resumes, 0);
    CK_RETURN_IF(make_folder(t));
    CK_RETURN_IF(ck_run_lock(t->run, LOCK_PATIENCE, &t->lock));
    int found = has_checkpoint(t);
    *resumes = found && !t->control->fresh;
    if (found && !*resumes && !t->control->force)
        return ck_fail(COKE_EUSAGE,
                       "%s holds a run; omit fresh to resume it, or add force to overwrite it",
                       t->run);
    return ck_group_broadcast(t->s.ranks.group, resumes, sizeof *resumes, 0);
}

/* Every rank reads the checkpoint itself, then they compare what they hold. */
static int resume(struct ck_training *t)
{
    char path[CK_RUN_PATH];
    snprintf(path, sizeof path, "%s/last.safetensors", t->run);
    CK_RETURN_IF(
        ck_checkpoint_read(path, &t->s, &t->at, t->control->resume_anyway, t->messages));
    ck_say(t->messages, "resuming at epoch %lld, step %lld", (long long)t->at.epoch,
           (long long)t->at.step);
    t->out->resumed = 1;
    t->out->epochs = t->at.epoch;
    return ck_training_check_ranks(t, "after resuming");
}

/* Opens what the run writes. A new run gets its first checkpoint at once: from here on a killed
 * training can be resumed. */
static int open_files(struct ck_training *t)
{
    int overwrites = t->control->fresh && t->control->force;
    if (!t->out->resumed && overwrites)
        ck_run_remove_all(t->run);
    ck_run_remove_unfinished(t->run);
    CK_RETURN_IF(ck_run_write_config(t->run, &t->s.o));
    CK_RETURN_IF(ck_run_write_json(t->run, t->s.data->set));
    CK_RETURN_IF(ck_journal_open(&t->journal, t->run, t->at.metrics_bytes));
    CK_RETURN_IF(ck_events_open(&t->events, t->run, ck_training_steps(t)));
    return t->out->resumed ? COKE_OK
                           : ck_saver_write(&t->saver, &t->s, &t->at, &t->journal, &t->events);
}

int ck_training_begin(struct ck_training *t)
{
    int32_t resumes = 0;
    CK_RETURN_IF(choose_start(t, &resumes));
    ck_choices_say(&t->s, t->messages);
    if (t->monitor && !ck_monitor_has_classes(t->monitor))
        ck_say(t->messages, "the images have no classes: TensorBoard shows the clusters, k-NN "
                            "and ACC are not computed");
    t->at = (struct ck_position){.best = -HUGE_VAL};
    if (resumes)
        CK_RETURN_IF(resume(t));
    return t->writer ? open_files(t) : COKE_OK;
}
