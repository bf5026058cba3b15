/* cmd_assign.c - coke assign: labels of new vectors from a model, or of images from a run. */
#include "assign_images.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "talk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    struct assign_images i;
    const char *scores;
    int32_t constrained;
};

#define OWN struct options
static const struct arg args[] = {
    ARG_TEXT(OWN, i.output, "output", 'o', "FILE",
             "vectors: labels, a .npy of int32 [n]; images: the table, instead of stdout"),
    ARG_TEXT(OWN, scores, "scores", 0, "FILE",
             "vectors: also the cosine to the label's center, a .npy of float32 [n][1]"),
    ARG_FLAG(OWN, constrained, "constrained", 0,
             "vectors: keep the model's size bounds, in proportion to the rows, exactly"),
    ARG_INT(OWN, i.head, "head", 0, -1, -1, COKE_MAX_HEADS - 1, "auto",
            "images: which clustering; auto: with as many clusters as classes, or the first"),
    ARG_TEXT(OWN, i.copy, "copy-to", 0, "DIR",
             "images: also copy them into DIR/cluster-0, DIR/cluster-1, ..."),
    ARG_TEXT(OWN, i.link, "symlink", 0, "DIR", "images: the same with links to the files"),
    ARG_FLAG(OWN, i.force, "force", 0, "overwrite files that exist; never those in DIR"),
    ARG_TEXT(OWN, i.t.cache, "cache", 0, "DIR",
             "folder for indexes of tar files, otherwise written beside them"),
    ARG_INT(OWN, i.t.threads, "threads", 0, 0, 0, 1024, "auto", "threads; auto = all cores"),
    ARG_FLAG(OWN, i.t.json, "json", 0,
             "vectors: print the result as JSON; images: JSON lines instead of CSV"),
    ARG_FLAG(OWN, i.t.quiet, "quiet", 'q', "no progress and no remarks; warnings stay"),
};

struct work {
    struct coke_model *model;
    struct coke_rows *rows;
    int32_t *labels;
    float *scores;
    struct coke_head_summary summary;
};

static void release(struct work *w)
{
    coke_model_free(w->model);
    coke_rows_free(w->rows);
    free(w->labels);
    free(w->scores);
}

/* First: where it is no model, there is nothing to say about the rest. */
static int open_model(struct work *w, int n, const char *const *paths)
{
    if (n < 2)
        return talk_fail(COKE_EUSAGE,
                         "a model and an input file are needed; 'coke assign --help' has "
                         "examples");
    int rc = coke_model_load(&w->model, paths[0]);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

static int check_options(const struct options *o)
{
    if (!o->i.output)
        return talk_fail(COKE_EUSAGE, "where to is missing, as in -o labels.npy");
    if (o->scores && strcmp(o->scores, o->i.output) == 0)
        return talk_fail(COKE_EUSAGE, "%s cannot take both labels and scores", o->i.output);
    int rc = outputs_check_file(o->i.output, o->i.force);
    return rc || !o->scores ? rc : outputs_check_file(o->scores, o->i.force);
}

static int open_input(struct work *w, const struct options *o, int n, const char *const *paths)
{
    int rc = coke_rows_open(&w->rows, paths + 1, n - 1, NULL);
    if (rc)
        return talk_fail_library(rc);
    if (coke_rows_note(w->rows)[0] && !o->i.t.quiet)
        talk_line("", coke_rows_note(w->rows));
    size_t rows = (size_t)coke_rows_count(w->rows);
    w->labels = calloc(rows, sizeof *w->labels);
    w->scores = o->scores ? calloc(rows, sizeof *w->scores) : NULL;
    if (!w->labels || (o->scores && !w->scores))
        return talk_fail(COKE_ENOMEM, "out of memory for the labels of %zu rows", rows);
    return COKE_OK;
}

static int assign(struct work *w, const struct options *o)
{
    struct progress p;
    progress_init(&p, o->i.t.quiet);
    struct coke_callbacks callbacks = progress_callbacks(&p);
    int rc = coke_model_assign(w->model, w->rows, o->constrained, o->i.t.use.bad, &callbacks,
                               w->labels, w->scores, &w->summary);
    progress_end(&p);
    if (rc == COKE_ESTOPPED)
        return talk_fail(COKE_EFAIL, "stopped; nothing was written");
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* Takes back what was written; a device stays. */
static void remove_file(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path);
}

/* Scores first: with the labels in place all is there. */
static int write_files(const struct work *w, const struct options *o)
{
    int64_t n = coke_rows_count(w->rows);
    int rc = o->scores ? coke_npy_write_f32(o->scores, w->scores, n, 1, o->i.force) : COKE_OK;
    if (rc)
        return talk_fail_library(rc);
    rc = coke_npy_write_i32(o->i.output, w->labels, n, o->i.force);
    if (rc && o->scores)
        remove_file(o->scores);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

static int print_json(const struct work *w, FILE *to)
{
    struct coke_json *j = coke_json_open(to, COKE_JSON_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_int(j, "n", w->summary.n);
    coke_json_put_int(j, "dim", w->summary.dim);
    coke_json_put_int(j, "skipped", w->summary.skipped);
    emit_head(j, &w->summary);
    return emit_close(j);
}

static int print_result(const struct work *w, const struct options *o)
{
    const struct coke_head_summary *s = &w->summary;
    FILE *to = outputs_words(o->i.output);
    if (o->i.t.json)
        return print_json(w, to);
    fprintf(to, "%-12s%lld x %lld", "rows", (long long)s->n, (long long)s->dim);
    if (s->skipped)
        fprintf(to, "; %lld left out (label -1)", (long long)s->skipped);
    fprintf(to, "\n%-12s%lld\n", "clusters", (long long)s->k);
    emit_head_text(to, s);
    fprintf(to, "%-12s%s\n", "written to", o->i.output);
    return COKE_OK;
}

static int label_vectors(const struct options *o, int n, const char *const *paths)
{
    struct work w = {0};
    int rc = open_model(&w, n, paths);
    if (!rc)
        rc = check_options(o);
    if (!rc && coke_set_threads((int)o->i.t.threads))
        rc = talk_fail_library(COKE_EUSAGE);
    if (!rc)
        rc = open_input(&w, o, n, paths);
    if (!rc)
        rc = assign(&w, o);
    if (!rc)
        rc = write_files(&w, o);
    if (!rc)
        rc = print_result(&w, o);
    release(&w);
    return rc;
}

/* An option that would do nothing is a mistake. */
static int refuse_for_images(const struct options *o, const char *run)
{
    const char *name = o->scores ? "scores" : o->constrained ? "constrained" : NULL;
    if (!name)
        return COKE_OK;
    return talk_fail(COKE_EUSAGE, "--%s goes with a model of 'coke cluster'; %s is a training",
                     name, run);
}

static int refuse_for_vectors(const struct options *o, const char *model)
{
    const struct assign_images *i = &o->i;
    const char *name = i->copy ? "copy-to" : i->link ? "symlink" : i->head >= 0 ? "head" : NULL;
    if (!name)
        return COKE_OK;
    return talk_fail(COKE_EUSAGE, "--%s goes with the run of a training; %s is none", name,
                     model);
}

/* What the first operand is decides. */
static int run(const void *options, int n, const char *const *paths)
{
    const struct options *o = options;
    if (n > 0 && coke_run_is(paths[0])) {
        int rc = refuse_for_images(o, paths[0]);
        return rc ? rc : assign_images(&o->i, n, paths);
    }
    int rc = n > 0 ? refuse_for_vectors(o, paths[0]) : COKE_OK;
    return rc ? rc : label_vectors(o, n, paths);
}

const struct command cmd_assign = {
    .name = "assign",
    .usage = "MODEL IN... -o labels.npy | RUN DATA [-o table.csv] [options]",
    .summary = "cluster new vectors with a model, or images with a training",
    .about =
        "With a model of 'coke cluster' (a model.safetensors or the folder it is in): labels "
        "every row of IN with its nearest center, or with --constrained so that the model's "
        "sizes are kept in proportion. With the run of a training (its folder or a "
        "checkpoint): a line for each image of DATA with its name, cluster, the cosine to "
        "that center and the margin, which is that cosine minus the one to the second nearest "
        "center: 0 = undecided. --copy-to and --symlink also sort the images into a folder "
        "for each cluster.",
    .examples =
        "coke assign out new.npy -o labels.npy\tthe nearest center of each row\n"
        "coke assign out new.npy -o labels.npy --scores scores.npy\tand how near it is\n"
        "coke assign out new.npy -o labels.npy --constrained\tsizes as in the model\n"
        "coke assign out/model-h1-k100.safetensors new.npy -o labels.npy\tone of several "
        "clusterings\n"
        "coke assign run photos > clusters.csv\tcluster and margin of each image\n"
        "coke assign run photos --head 1 --symlink sorted -o t.csv\tand folders of links",
    .group = {{coke_use_option_table, offsetof(OWN, i.t.use)},
              {trained_data_table, offsetof(OWN, i.d)}},
    .arg = args,
    .nargs = ARG_COUNT(args),
    .size = sizeof(OWN),
    .run = run,
};
