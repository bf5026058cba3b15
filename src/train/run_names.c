/* run_names.c - which files of a run folder the run wrote itself: the list RUN/.run-files. */
#include "train/run_names.h"
#include "core/error.h"
#include "io/sums.h"
#include "io/tfevents_dir.h"
#include "train/run_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char LIST[] = ".run-files";

/* ---- names of checkpoints ---- */

void ck_run_names_checkpoint(char name[CK_RUN_NAME], int64_t epoch, int64_t step)
{
    snprintf(name, CK_RUN_NAME, "checkpoint-%06lld-%08lld.safetensors", (long long)epoch,
             (long long)step);
}

/* Is it a name of ck_run_names_checkpoint, character by character? */
static int is_checkpoint(const char *name)
{
    char same[CK_RUN_NAME];
    long long epoch, step;
    if (sscanf(name, "checkpoint-%12lld-%12lld.safetensors", &epoch, &step) != 2)
        return 0;
    ck_run_names_checkpoint(same, epoch, step);
    return strcmp(name, same) == 0;
}

static int is_file(const char *run, const char *name)
{
    char path[CK_RUN_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", run, name);
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- the list ---- */

static int take(struct ck_run_names *m, const char *run, const struct ck_names *lines)
{
    for (int64_t i = 0; i < lines->n; i++) {
        const char *name = ck_names_get(lines, i);
        if (!is_checkpoint(name) || is_file(run, name))
            CK_RETURN_IF(ck_run_names_add(m, name));
    }
    return COKE_OK;
}

int ck_run_names_load(struct ck_run_names *m, const char *run)
{
    char path[CK_RUN_PATH];
    struct ck_names lines = {0};
    int rc = COKE_OK;
    *m = (struct ck_run_names){0};
    snprintf(path, sizeof path, "%s/%s", run, LIST);
    m->found = access(path, F_OK) == 0;
    if (m->found)
        rc = ck_names_load(&lines, path);
    if (!rc)
        rc = take(m, run, &lines);
    ck_names_release(&lines);
    return rc;
}

void ck_run_names_release(struct ck_run_names *m)
{
    ck_names_release(&m->list);
}

int ck_run_names_has(const struct ck_run_names *m, const char *name)
{
    for (int64_t i = 0; i < m->list.n; i++)
        if (strcmp(ck_names_get(&m->list, i), name) == 0)
            return 1;
    return 0;
}

int ck_run_names_add(struct ck_run_names *m, const char *name)
{
    return ck_run_names_has(m, name) ? COKE_OK : ck_names_add(&m->list, name, strlen(name));
}

int ck_run_names_write(struct ck_run_names *m, const char *run)
{
    char path[CK_RUN_PATH];
    struct ck_writer w = {0};
    int rc = COKE_OK;
    snprintf(path, sizeof path, "%s/%s", run, LIST);
    CK_TRY(ck_writer_open(&w, path, CK_FORCE_INSIDE));
    for (int64_t i = 0; i < m->list.n; i++) {
        const char *name = ck_names_get(&m->list, i);
        CK_TRY(ck_writer_write(&w, name, strlen(name)));
        CK_TRY(ck_writer_write(&w, "\n", 1));
    }
    CK_TRY(ck_sums_commit(&w));
    m->found = 1;
done:
    ck_writer_abort(&w);
    return rc;
}

/* ---- the usual names ---- */

static const char *const fixed[] = {"config.json",       "run.json",         "metrics.jsonl",
                                    "timing.jsonl",      "last.safetensors", "best.safetensors",
                                    "final.safetensors", CK_SUMS_LIST};
/* STEADY: of these the first do not grow during a training. */
enum { FIXED = sizeof fixed / sizeof fixed[0], STEADY = 2 };

/* Name i of those that every training writes; 0 = there are no more. */
static int usual_name(const struct ck_train_options *o, int i, char name[CK_RUN_NAME])
{
    int head = (i - FIXED) / 2;
    if (i >= FIXED + 2 * o->k.n)
        return 0;
    if (i < FIXED)
        snprintf(name, CK_RUN_NAME, "%s", fixed[i]);
    else
        snprintf(name, CK_RUN_NAME, "%s-h%d-k%d.npy", (i - FIXED) % 2 ? "centers" : "labels",
                 head, o->k.v[head]);
    return 1;
}

int ck_run_names_add_usual(struct ck_run_names *m, const struct ck_train_options *o)
{
    char name[CK_RUN_NAME];
    for (int i = 0; usual_name(o, i, name); i++)
        CK_RETURN_IF(ck_run_names_add(m, name));
    return COKE_OK;
}

/* Weights have checksums of their own, and the list has none. */
static int is_summed(const char *name)
{
    return !strstr(name, ".safetensors") && strcmp(name, CK_SUMS_LIST) != 0;
}

int ck_run_names_sum(const char *run, const struct ck_train_options *o, int ended)
{
    char path[CK_RUN_PATH], name[CK_RUN_NAME];
    struct ck_writer w = {0};
    int rc = COKE_OK;
    snprintf(path, sizeof path, "%s/" CK_SUMS_LIST, run);
    CK_TRY(ck_writer_open(&w, path, CK_FORCE_INSIDE));
    for (int i = 0; (ended || i < STEADY) && usual_name(o, i, name); i++)
        if (is_summed(name))
            CK_TRY(ck_sums_add_file(&w, run, name));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}

static int add_event_file(const char *run, const char *name, void *arg)
{
    (void)run;
    return ck_run_names_add(arg, name);
}

int ck_run_names_add_events(struct ck_run_names *m, const char *run)
{
    return ck_tfevents_each(run, add_event_file, m);
}

/* ---- files of others ---- */

int ck_run_names_is_foreign(const struct ck_run_names *m, const char *run, const char *name)
{
    char path[CK_RUN_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", run, name);
    return lstat(path, &st) == 0 && !ck_run_names_has(m, name);
}

static int check_name(const struct ck_run_names *m, const char *run, const char *name,
                      int force)
{
    char path[CK_RUN_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", run, name);
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return ck_file_check_target(path, CK_FORCE_INSIDE);
    if (force || !ck_run_names_is_foreign(m, run, name))
        return COKE_OK;
    return ck_fail(COKE_EUSAGE,
                   "%s exists, and this run did not write it; choose another folder, or "
                   "overwrite it with force",
                   path);
}

int ck_run_names_check(const struct ck_run_names *m, const char *run,
                       const struct ck_train_options *o, int force)
{
    char name[CK_RUN_NAME];
    CK_RETURN_IF(check_name(m, run, LIST, 1));
    CK_RETURN_IF(check_name(m, run, ".lock", 1));
    for (int i = 0; usual_name(o, i, name); i++)
        CK_RETURN_IF(check_name(m, run, name, force));
    return COKE_OK;
}

/* ---- checkpoints ---- */

static int is_checkpoint_entry(const struct dirent *e)
{
    return is_checkpoint(e->d_name);
}

/* A folder of an earlier version: by their names. */
static int find_checkpoints(const char *run, struct ck_names *out)
{
    struct dirent **found;
    int rc = COKE_OK, n = scandir(run, &found, is_checkpoint_entry, alphasort);
    for (int i = 0; i < n; i++) {
        if (!rc && is_file(run, found[i]->d_name))
            rc = ck_names_add(out, found[i]->d_name, strlen(found[i]->d_name));
        free(found[i]);
    }
    if (n >= 0)
        free(found);
    return rc;
}

int ck_run_names_checkpoints(const struct ck_run_names *m, const char *run,
                             struct ck_names *out)
{
    if (!m->found)
        return find_checkpoints(run, out);
    for (int64_t i = 0; i < m->list.n; i++) {
        const char *name = ck_names_get(&m->list, i);
        if (is_checkpoint(name) && is_file(run, name))
            CK_RETURN_IF(ck_names_add(out, name, strlen(name)));
    }
    return ck_names_sort(out); /* by age */
}

static void remove_file(const char *run, const char *name)
{
    char path[CK_RUN_PATH];
    snprintf(path, sizeof path, "%s/%s", run, name);
    unlink(path);
}

/* Forgets checkpoints that are gone, so that the list of a long training stays short. */
static void forget(struct ck_run_names *m, const char *run)
{
    struct ck_run_names left = {.found = m->found}, old = *m;
    if (take(&left, run, &m->list)) {
        ck_run_names_release(&left);
        return;
    }
    *m = left;
    ck_run_names_release(&old);
}

void ck_run_names_remove_old(struct ck_run_names *m, const char *run, const char *newest,
                             int64_t keep)
{
    struct ck_names all = {0};
    int64_t n = 0;
    if (m->found && ck_run_names_checkpoints(m, run, &all) == COKE_OK)
        while (n < all.n && strcmp(ck_names_get(&all, n), newest) <= 0)
            n++;
    for (int64_t i = 0; i < n - keep; i++)
        remove_file(run, ck_names_get(&all, i));
    if (n > keep)
        forget(m, run);
    ck_names_release(&all);
}

void ck_run_names_remove_sums(const char *run)
{
    remove_file(run, CK_SUMS_LIST);
}

void ck_run_names_remove_all(struct ck_run_names *m, const char *run)
{
    ck_run_names_remove_old(m, run, "d", 0); /* behind "checkpoint-..." */
    remove_file(run, "last.safetensors");
    remove_file(run, "best.safetensors");
    remove_file(run, "final.safetensors");
}
