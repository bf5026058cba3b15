/* cmd_assign.c - coke assign: labels of new vectors from a model. */
#include "command.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "talk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    const char *output, *scores;
    int64_t threads;
    int32_t constrained, bad, force, json, quiet;
};

#define OWN struct options
static const struct arg args[] = {
    ARG_TEXT(OWN, output, "output", 'o', "FILE", "labels, a .npy of int32 [n]"),
    ARG_TEXT(OWN, scores, "scores", 0, "FILE",
             "also the cosine to the label's center, a .npy of float32 [n][1]"),
    ARG_FLAG(OWN, constrained, "constrained", 0,
             "keep the model's size bounds, in proportion to the rows, exactly"),
    ARG_CHOICE(OWN, bad, "bad", "error|skip", 1,
               "rows with NaN, infinity or only zeros: stop, or label them -1"),
    ARG_FORCE(OWN),
    ARG_THREADS(OWN),
    ARG_JSON(OWN),
    ARG_QUIET(OWN),
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

static int check_options(const struct options *o, int n)
{
    if (n < 2)
        return talk_fail(COKE_EUSAGE,
                         "a model and an input file are needed; 'coke assign --help' has "
                         "examples");
    if (!o->output)
        return talk_fail(COKE_EUSAGE, "where to is missing, as in -o labels.npy");
    if (o->scores && strcmp(o->scores, o->output) == 0)
        return talk_fail(COKE_EUSAGE, "%s cannot take both labels and scores", o->output);
    int rc = outputs_check_file(o->output, o->force);
    return rc || !o->scores ? rc : outputs_check_file(o->scores, o->force);
}

static int open_input(struct work *w, const struct options *o, int n, const char *const *paths)
{
    int rc = coke_model_load(&w->model, paths[0]);
    if (!rc)
        rc = coke_rows_open(&w->rows, paths + 1, n - 1, NULL);
    if (rc)
        return talk_fail_library(rc);
    if (coke_rows_note(w->rows)[0] && !o->quiet)
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
    progress_init(&p, o->quiet);
    struct coke_callbacks callbacks = progress_callbacks(&p);
    int rc = coke_model_assign(w->model, w->rows, o->constrained, o->bad, &callbacks, w->labels,
                               w->scores, &w->summary);
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
    int rc = o->scores ? coke_npy_write_f32(o->scores, w->scores, n, 1, o->force) : COKE_OK;
    if (rc)
        return talk_fail_library(rc);
    rc = coke_npy_write_i32(o->output, w->labels, n, o->force);
    if (rc && o->scores)
        remove_file(o->scores);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

static void print_json(const struct work *w, FILE *to)
{
    struct emit e = {.to = to};
    emit_begin(&e, NULL, '{');
    emit_int(&e, "n", w->summary.n);
    emit_int(&e, "dim", w->summary.dim);
    emit_int(&e, "skipped", w->summary.skipped);
    emit_head(&e, &w->summary);
    emit_end(&e, '}');
}

static void print_result(const struct work *w, const struct options *o)
{
    const struct coke_head_summary *s = &w->summary;
    /* Labels on stdout leave no room there for anything else. */
    FILE *to = strcmp(o->output, "/dev/stdout") == 0 ? stderr : stdout;
    if (o->json) {
        print_json(w, to);
        return;
    }
    fprintf(to, "%-12s%lld x %lld", "rows", (long long)s->n, (long long)s->dim);
    if (s->skipped)
        fprintf(to, "; %lld left out (label -1)", (long long)s->skipped);
    fprintf(to, "\n%-12s%lld\n", "clusters", (long long)s->k);
    emit_head_text(to, s);
    fprintf(to, "%-12s%s\n", "written to", o->output);
}

static int run(const void *options, int n, const char *const *paths)
{
    const struct options *o = options;
    struct work w = {0};
    int rc = check_options(o, n);
    if (!rc && coke_set_threads((int)o->threads))
        rc = talk_fail_library(COKE_EUSAGE);
    if (!rc)
        rc = open_input(&w, o, n, paths);
    if (!rc)
        rc = assign(&w, o);
    if (!rc)
        rc = write_files(&w, o);
    if (!rc)
        print_result(&w, o);
    release(&w);
    return rc;
}

const struct command cmd_assign = {
    .name = "assign",
    .usage = "MODEL IN... -o labels.npy [options]",
    .summary = "label new vectors with a model of 'coke cluster'",
    .about = "Labels every row with its nearest center, or with --constrained so that the "
             "model's sizes are kept in proportion. MODEL is a model.safetensors or the folder "
             "it is in; IN as for 'coke cluster'.",
    .examples =
        "coke assign out new.npy -o labels.npy\tthe nearest center of each row\n"
        "coke assign out new.npy -o labels.npy --scores scores.npy\tand how near it is\n"
        "coke assign out new.npy -o labels.npy --constrained\tsizes as in the model\n"
        "coke assign out/model-h1-k100.safetensors new.npy -o labels.npy\tone of several "
        "clusterings",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .size = sizeof(struct options),
    .run = run,
};
