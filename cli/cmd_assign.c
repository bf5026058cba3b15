/* cmd_assign.c - coke assign: labels of new vectors from a model, or of images from a run.
 *
 * The first operand decides which: assign_images.c handles runs, this file models. The options
 * of both are accepted by the parser, and those of the other kind refused here. */
#include "assign_files.h"
#include "assign_images.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "sorting.h"
#include "talk.h"

static const struct arg args[] = {
    ARG_TEXT("output", 'o', "FILE",
             "vectors: labels, a .npy of int32 [n]; images: the table, instead of stdout"),
    ARGS_ASSIGN_FILES,
    ARG_FLAG("constrained", 0,
             "vectors: satisfy the model's size bounds exactly, in proportion to the rows"),
    ARG_CHOICE("repair", "near|exact", 1,
               "--constrained: labels near the best possible ones, within 1e-4 of the total "
               "similarity, or exactly the best, which may take longer"),
    ARG_INT("head", -1, -1, COKE_MAX_HEADS - 1, "auto",
            "images: which clustering; auto: the one with as many clusters as classes, or 0"),
    ARG_TEXT("copy-to", 0, "DIR",
             "also copy the images into DIR/cluster-0, DIR/cluster-1, ...; of vectors, those "
             "that 'coke embed' made them of"),
    ARG_TEXT("symlink", 0, "DIR", "the same with links to the files"),
    ARG_FLAG("force", 0, "overwrite existing files, but never those in DIR"),
    ARG_THREADS_AS("number of threads; auto = all cores"),
    ARG_FLAG("json", 0, "vectors: print the result as JSON; images: JSON lines instead of CSV"),
    ARG_QUIET,
    ARG_CHANNELS,
};

/* State of one run with a model; owns all pointers. */
struct work {
    struct coke_model *model;
    struct coke_rows *rows;
    struct coke_dataset *images; /* that the rows are of; NULL = nothing is sorted */
    struct assign_files out;
    struct coke_head_summary summary;
};

static void release(struct work *w)
{
    coke_model_free(w->model);
    coke_rows_free(w->rows);
    coke_dataset_free(w->images);
    assign_files_release(&w->out);
}

/* Comes first: messages about other options make no sense without a model. */
static int open_model(struct work *w, int n, const char *const *paths)
{
    if (n < 2)
        return talk_fail(COKE_EUSAGE,
                         "a model and an input file are needed; 'coke assign --help' has "
                         "examples");
    int rc = coke_model_load(&w->model, paths[0]);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

static int open_input(struct work *w, struct args *a, int n, const char *const *paths)
{
    int rc = coke_rows_open(&w->rows, paths + 1, n - 1, args_options(a, "rows"));
    if (rc)
        return talk_fail_library(rc);
    if (coke_rows_note(w->rows)[0] && !args_flag(a, "quiet"))
        talk_line("", coke_rows_note(w->rows));
    return assign_files_reserve(&w->out, a, coke_rows_count(w->rows), coke_model_k(w->model));
}

/* The images of the rows, if they are to be sorted. */
static int open_images(struct work *w, struct args *a, int n, const char *const *paths)
{
    if (!sorting_wanted(a))
        return COKE_OK;
    if (n != 2)
        return talk_fail(COKE_EUSAGE, "--copy-to and --symlink go with the rows of one file");
    int rc = coke_dataset_open_embedded(&w->images, paths[1]);
    if (rc)
        return talk_fail_library(rc);
    if (coke_dataset_count(w->images) != coke_rows_count(w->rows))
        return talk_fail(COKE_EUSAGE, "%s has %lld rows, its images are %lld", paths[1],
                         (long long)coke_rows_count(w->rows),
                         (long long)coke_dataset_count(w->images));
    return sorting_check(a, w->images);
}

static int sort_images(struct work *w, struct args *a)
{
    struct progress bar;
    progress_init(&bar, args_flag(a, "quiet"));
    int rc = sorting_run(a, w->images, w->out.labels, w->summary.k, &bar);
    progress_end(&bar);
    return rc;
}

/* The bounds of --constrained come from the model; without it every row gets its nearest
 * center. */
static int assign(struct work *w, const struct args *a)
{
    struct progress p;
    progress_init(&p, args_flag(a, "quiet"));
    struct coke_callbacks callbacks = progress_callbacks(&p);
    struct coke_assign_job job = {.size = sizeof job,
                                  .rows = w->rows,
                                  .labels = w->out.labels,
                                  .scores = w->out.scores,
                                  .constrained = args_flag(a, "constrained"),
                                  .gap = args_number(a, "repair") > 0 ? 0 : 1e-4,
                                  .bad = (enum coke_bad)args_number(a, "bad"),
                                  .callbacks = &callbacks,
                                  .second = w->out.second,
                                  .margins = w->out.margins,
                                  .sorted = w->out.sorted,
                                  .offsets = w->out.offsets};
    w->summary.size = sizeof w->summary;
    int rc = coke_model_assign(w->model, &job, &w->summary);
    progress_end(&p);
    if (rc == COKE_ESTOPPED)
        return talk_fail(COKE_EFAIL, "stopped; nothing was written");
    return rc ? talk_fail_library(rc) : COKE_OK;
}

static int print_json(const struct work *w, FILE *to)
{
    struct coke_json *j = coke_json_open(to, COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_int(j, "n", w->summary.n);
    coke_json_put_int(j, "dim", w->summary.dim);
    coke_json_put_int(j, "skipped", w->summary.skipped);
    emit_head(j, &w->summary);
    return emit_close(j);
}

/* Text goes to stderr if the labels go to standard output. */
static int print_result(const struct work *w, struct args *a)
{
    const struct coke_head_summary *s = &w->summary;
    const char *output = args_text(a, "output");
    FILE *to = outputs_words(output);
    if (args_flag(a, "json"))
        return print_json(w, to);
    fprintf(to, "%-12s%lld x %lld", "rows", (long long)s->n, (long long)s->dim);
    if (s->skipped)
        fprintf(to, "; %lld skipped (label -1)", (long long)s->skipped);
    fprintf(to, "\n%-12s%lld\n", "clusters", (long long)s->k);
    emit_head_text(to, s);
    fprintf(to, "%-12s%s\n", "written to", output);
    return COKE_OK;
}

/* The steps in order; each runs only if all before it succeeded. */
static int label_vectors(struct args *a, int n, const char *const *paths)
{
    struct work w = {0};
    int rc = open_model(&w, n, paths);
    if (!rc)
        rc = assign_files_check(a);
    if (!rc)
        rc = args_use_threads(a);
    if (!rc)
        rc = open_input(&w, a, n, paths);
    if (!rc)
        rc = open_images(&w, a, n, paths);
    if (!rc)
        rc = assign(&w, a);
    if (!rc)
        rc = assign_files_write(&w.out, a);
    if (!rc && w.images)
        rc = sort_images(&w, a);
    if (!rc)
        rc = print_result(&w, a);
    release(&w);
    return rc;
}

/* An option that would have no effect is a mistake of the user: refuse it. */
static int refuse_for_images(struct args *a, const char *run)
{
    const char *name = args_flag(a, "constrained") ? "constrained"
                       : args_given(a, "repair")   ? "repair"
                                                   : assign_files_given(a);
    if (!name)
        return COKE_OK;
    return talk_fail(COKE_EUSAGE, "--%s needs a model of 'coke cluster'; %s is a training",
                     name, run);
}

static int refuse_for_vectors(struct args *a, const char *model)
{
    if (args_given(a, "repair") && !args_flag(a, "constrained"))
        return talk_fail(COKE_EUSAGE, "--repair needs --constrained: without it every row gets "
                                      "its nearest center");
    if (args_number(a, "head") < 0)
        return COKE_OK;
    return talk_fail(COKE_EUSAGE, "--head needs the run of a training; %s is not one", model);
}

/* The first operand decides: a run of a training, or a model. */
static int run(struct args *a, int n, const char *const *paths)
{
    if (n > 0 && coke_run_is(paths[0])) {
        int rc = refuse_for_images(a, paths[0]);
        return rc ? rc : assign_images(a, n, paths);
    }
    int rc = n > 0 ? refuse_for_vectors(a, paths[0]) : COKE_OK;
    return rc ? rc : label_vectors(a, n, paths);
}

const struct command cmd_assign = {
    .name = "assign",
    .usage = "MODEL IN... -o labels.npy | RUN DATA [-o table.csv] [options]",
    .summary = "cluster new vectors with a model, or images with a training",
    .about =
        "With a model of 'coke cluster' (a model.safetensors or the folder it is in): labels "
        "every row of IN with its nearest center, or with --constrained so that the model's "
        "sizes are kept in proportion. With the run of a training (its folder or a "
        "checkpoint): prints one line per image of DATA with its name, cluster, the cosine to "
        "that center and the margin, which is that cosine minus the one to the second nearest "
        "center: 0 = undecided. --copy-to and --symlink also sort the images into one folder "
        "per cluster; the images of vectors are known if 'coke embed' wrote them.",
    .examples =
        "coke assign out new.npy -o labels.npy\tthe nearest center of each row\n"
        "coke assign out new.npy -o labels.npy --scores scores.npy\tand the cosine to it\n"
        "coke assign out new.npy -o labels.npy --second second.npy --margins margins.npy\tand "
        "how sure each label is\n"
        "coke assign out new.npy -o labels.npy --sorted rows.npy --medoids medoids.npy\tand "
        "the typical rows of each cluster\n"
        "coke assign out new.npy -o labels.npy --constrained\tsizes as in the model\n"
        "coke assign out new.npy -o labels.npy --constrained --repair exact\tand the best "
        "such labels\n"
        "coke assign out/model-h1-k100.safetensors new.npy -o labels.npy\tone of several "
        "clusterings\n"
        "coke assign out x.npy -o labels.npy --symlink sorted\tthe images of 'coke embed -o "
        "x.npy'\n"
        "coke assign run photos > clusters.csv\tcluster and margin of each image\n"
        "coke assign run photos --head 1 --symlink sorted -o t.csv\tand folders of links",
    .kind = {"use", "dataset", "rows"},
    .hidden = "one-pass",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
