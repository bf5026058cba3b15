/* run_begin.c - how a training starts: the run folder, its lock, and from which checkpoint. */
#include "core/callbacks.h"
#include "core/error.h"
#include "io/folders.h"
#include "train/choices.h"
#include "train/run_files.h"
#include "train/start_weights.h"
#include "train/training.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A training that was killed a moment ago may hold its lock this long; seconds. */
enum { LOCK_PATIENCE = 5 };

static int has_file(const struct ck_training *t, const char *name)
{
    char path[CK_RUN_PATH];
    snprintf(path, sizeof path, "%s/%s", t->run, name);
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

static int add_file(const struct ck_training *t, const char *name, struct ck_names *out)
{
    return has_file(t, name) ? ck_names_add(out, name, strlen(name)) : COKE_OK;
}

/* The checkpoints that the run may resume from: last.safetensors, then the others from the
 * newest to the oldest. best.safetensors is one of these or older. */
static int list_checkpoints(const struct ck_training *t, const struct ck_run_names *names,
                            struct ck_names *out)
{
    struct ck_names all = {0};
    int rc = ck_run_names_checkpoints(names, t->run, &all);
    if (!rc)
        rc = add_file(t, "last.safetensors", out);
    for (int64_t i = all.n; i-- > 0 && !rc;) {
        const char *name = ck_names_get(&all, i);
        rc = ck_names_add(out, name, strlen(name));
    }
    if (!rc && out->n > 0)
        rc = add_file(t, "best.safetensors", out);
    ck_names_release(&all);
    return rc;
}

/* ---- the folder ---- */

/* A folder of an earlier version has checkpoints and no list of names. Its files are the run's
 * if one of these can be resumed, and otherwise nothing is written. */
int ck_training_check_folder(const struct ck_training *t, const struct ck_train_options *o)
{
    struct ck_run_names names = {0};
    struct ck_names checkpoints = {0};
    int rc = COKE_OK;
    if (strlen(t->run) > CK_RUN_PATH - 64)
        CK_FAIL(COKE_EUSAGE, "the name of the run folder is too long: %zu bytes",
                strlen(t->run));
    CK_TRY(ck_run_names_load(&names, t->run));
    CK_TRY(list_checkpoints(t, &names, &checkpoints));
    int unlisted = !names.found && checkpoints.n > 0;
    CK_TRY(ck_run_names_check(&names, t->run, o, t->control->force || unlisted));
    if (checkpoints.n == 0 && has_metrics(t) && !t->control->force)
        CK_FAIL(COKE_EUSAGE,
                "%s has the metrics of a run but no checkpoint to resume; choose another "
                "folder, or start over in this one with fresh and force",
                t->run);
done:
    ck_names_release(&checkpoints);
    ck_run_names_release(&names);
    return rc;
}

static int make_folder(const struct ck_training *t)
{
    int made;
    CK_RETURN_IF(ck_folders_make(t->run, &made));
    if (access(t->run, W_OK) != 0)
        return ck_fail(COKE_EIO, "%s: %s", t->run, strerror(errno));
    return COKE_OK;
}

/* ---- where to start ---- */

/* What the writer decides for all ranks. */
struct start {
    int32_t resumes;
    char name[CK_RUN_NAME]; /* of the checkpoint */
};

/* The first checkpoint that is whole. Warns if it is not the first of all. */
static int find_whole(const struct ck_training *t, const struct ck_names *checkpoints,
                      char name[CK_RUN_NAME])
{
    char path[CK_RUN_PATH], why[1024] = "";
    for (int64_t i = 0; i < checkpoints->n; i++) {
        snprintf(name, CK_RUN_NAME, "%s", ck_names_get(checkpoints, i));
        snprintf(path, sizeof path, "%s/%s", t->run, name);
        int rc = ck_checkpoint_verify(path);
        if (rc == COKE_OK && i > 0)
            ck_warn(t->messages, "%s; resuming from %s, the newest whole checkpoint", why,
                    name);
        if (rc != COKE_EFORMAT && rc != COKE_EIO)
            return rc;
        if (i == 0)
            snprintf(why, sizeof why, "%s", ck_last_error());
    }
    return ck_fail(COKE_EFORMAT,
                   "%s; %s holds no other whole checkpoint: put one back from a copy, or train "
                   "into another folder",
                   why, t->run);
}

static int decide(const struct ck_training *t, struct start *out)
{
    struct ck_names checkpoints = {0};
    int rc = COKE_OK;
    CK_TRY(list_checkpoints(t, &t->names, &checkpoints));
    out->resumes = checkpoints.n > 0 && !t->control->fresh;
    if (out->resumes)
        CK_TRY(find_whole(t, &checkpoints, out->name));
    else if (checkpoints.n > 0 && !t->control->force)
        CK_FAIL(COKE_EUSAGE,
                "%s holds a run; omit fresh to resume it, or add force to overwrite it",
                t->run);
done:
    ck_names_release(&checkpoints);
    return rc;
}

/* The writer decides whether there is a run to resume, and the other ranks follow. A writer
 * that fails ends the job, so the others do not wait. Collective. */
static int choose_start(struct ck_training *t, struct start *out)
{
    if (t->writer) {
        CK_RETURN_IF(make_folder(t));
        CK_RETURN_IF(ck_run_lock(t->run, LOCK_PATIENCE, &t->lock));
        CK_RETURN_IF(ck_run_names_load(&t->names, t->run));
        CK_RETURN_IF(decide(t, out));
    }
    return ck_group_broadcast(t->s.ranks.group, out, sizeof *out, 0);
}

/* Every rank reads the checkpoint itself, then they compare what they hold. */
static int resume(struct ck_training *t, const char *name)
{
    char path[CK_RUN_PATH];
    snprintf(path, sizeof path, "%s/%s", t->run, name);
    CK_RETURN_IF(
        ck_checkpoint_read(path, &t->s, &t->at, t->control->resume_anyway, t->messages));
    ck_say(t->messages, "resuming at epoch %lld, step %lld", (long long)t->at.epoch,
           (long long)t->at.step);
    t->out->resumed = 1;
    t->out->epochs = t->at.epoch;
    return ck_training_check_ranks(t, "after resuming");
}

/* ---- files ---- */

/* Adds what the run is going to write, and of a run of an earlier version what is known to be
 * its own. */
static int claim_names(struct ck_training *t)
{
    char name[CK_RUN_NAME];
    if (t->out->resumed && !t->names.found) {
        ck_run_names_checkpoint(name, t->at.epoch, t->at.step);
        CK_RETURN_IF(ck_run_names_add(&t->names, name));
        CK_RETURN_IF(ck_run_names_add_events(&t->names, t->run));
    }
    CK_RETURN_IF(ck_run_names_add_usual(&t->names, &t->s.o));
    return ck_run_names_write(&t->names, t->run);
}

/* Opens what the run writes. A new run gets its first checkpoint at once: from here on a killed
 * training can be resumed. */
static int open_files(struct ck_training *t)
{
    int overwrites = t->control->fresh && t->control->force;
    if (!t->out->resumed && overwrites)
        ck_run_names_remove_all(&t->names, t->run);
    ck_run_remove_unfinished(t->run);
    ck_run_names_remove_sums(t->run);
    CK_RETURN_IF(ck_session_read_content(&t->s));
    CK_RETURN_IF(claim_names(t));
    CK_RETURN_IF(ck_run_write_config(t->run, &t->s.o));
    CK_RETURN_IF(ck_run_write_json(t->run, t->s.data->set, t->s.o.init));
    CK_RETURN_IF(ck_run_names_sum(t->run, &t->s.o, 0));
    CK_RETURN_IF(ck_journal_open(&t->journal, t->run, t->at.metrics_bytes));
    CK_RETURN_IF(ck_events_open(&t->events, t->run, &t->names, ck_training_steps(t)));
    return t->out->resumed
               ? COKE_OK
               : ck_saver_write(&t->saver, &t->s, &t->at, &t->journal, &t->events, 0);
}

/* Chooses how to start, and loads the weights of option init unless the run resumes. Where there
 * is no folder yet, the weights come first: wrong ones then leave nothing behind. */
static int choose_weights(struct ck_training *t, struct start *start)
{
    const char *init = t->s.o.init;
    int early = init && access(t->run, F_OK) != 0;
    if (early)
        CK_RETURN_IF(ck_session_start_from(&t->s, init, t->messages));
    CK_RETURN_IF(choose_start(t, start));
    if (!init || start->resumes)
        return COKE_OK;
    if (!early)
        CK_RETURN_IF(ck_session_start_from(&t->s, init, t->messages));
    return ck_training_check_ranks(t, "with the weights of init");
}

int ck_training_begin(struct ck_training *t)
{
    struct start start = {0};
    CK_RETURN_IF(choose_weights(t, &start));
    if (!start.resumes && t->s.method->begin_run)
        CK_RETURN_IF(t->s.method->begin_run(&t->s, t->messages));
    ck_choices_say(&t->s, t->messages);
    if (t->monitor && !ck_monitor_has_classes(t->monitor))
        ck_say(t->messages, "the images have no classes: TensorBoard shows the clusters, k-NN "
                            "and ACC are not computed");
    t->at = (struct ck_position){.best = -HUGE_VAL};
    if (start.resumes)
        CK_RETURN_IF(resume(t, start.name));
    if (!t->writer)
        return COKE_OK;
    CK_RETURN_IF(open_files(t));
    return start.resumes && strcmp(start.name, "last.safetensors") != 0
               ? ck_run_link(t->run, start.name, "last.safetensors") /* missing or damaged */
               : COKE_OK;
}
