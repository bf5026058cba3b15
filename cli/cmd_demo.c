/* cmd_demo.c - coke demo: an encoder learns the classes of built-in images, without labels.
 *
 * Three steps that users would run separately: k-means on the pixels as a baseline, a training
 * with the preset demo, and a report. Also an example of the public functions in one place. */
#include "args.h"
#include "emit.h"
#include "progress.h"
#include "talk.h"

#include <stdlib.h>
#include <string.h>

static const struct arg args[] = {
    ARG_TEXT("output", 'o', "RUN", "folder of the run [default coke-demo]"),
    ARG_INT("n", 3000, 200, 1000000, NULL, "number of images"),
    ARG_INT("epochs", 0, 0, 100000, "auto", "number of epochs; auto: as in the preset demo"),
    ARG_INT("seed", 0, 0, 9007199254740992.0, NULL, "seed of the training"),
    ARG_THREADS_AS("number of threads; auto = all cores; must not change when a run resumes"),
    ARG_JSON,
    ARG_QUIET,
};

enum { CLASSES = 10 }; /* patterns of synthetic: */

struct result {
    struct coke_agreement_scores pixels; /* baseline: k-means on the pixels */
    struct coke_train_summary train;     /* the encoder's clusters */
    struct coke_report_summary report;
    char page[4096];
};

/* ---- k-means on pixels ---- */

/* All images as rows of *x [n][*dim], which the caller frees, and their classes truth [n]. A
 * loader without augmentation and shuffling gives them in order; the size is known after the
 * first batch. */
static int load_pixels(struct coke_dataset *d, int64_t n, float **x, int32_t *dim,
                       int32_t *truth)
{
    struct coke_options *o = NULL;
    struct coke_loader *l = NULL;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    int rc = coke_options_new(&o, "loader");
    if (!rc)
        rc = coke_options_set(o, "recipe", "none");
    if (!rc)
        rc = coke_options_set(o, "shuffle", "off");
    if (!rc)
        rc = coke_options_set_int(o, "batch", n < 100 ? n : 100);
    if (!rc)
        rc = coke_loader_new(&l, d, o);
    coke_options_free(o);
    for (int64_t done = 0; done < n && !rc; done += b.n) {
        rc = coke_loader_next(l, &b);
        if (rc)
            break;
        *dim = b.channels * b.width[0] * b.height[0];
        if (!*x)
            *x = calloc((size_t)n * (size_t)*dim, sizeof **x);
        if (!*x) {
            rc = COKE_ENOMEM;
            break;
        }
        memcpy(*x + done * *dim, b.x[0], (size_t)(b.n * *dim) * sizeof **x);
        memcpy(truth + done, b.label, (size_t)b.n * sizeof *truth);
    }
    coke_loader_free(l);
    return rc;
}

/* Constrained k-means with the default options: the same algorithm, on raw pixels. */
static int cluster_pixels(const float *x, int64_t n, int32_t dim, int64_t seed, int32_t *label)
{
    struct coke_options *o = NULL;
    struct coke_rows *rows = NULL;
    struct coke_cluster *c = NULL;
    int rc = coke_rows_from_array(&rows, x, n, dim);
    struct coke_cluster_input input = {.size = sizeof input, .rows = rows};
    if (!rc)
        rc = coke_options_new(&o, "cluster");
    if (!rc)
        rc = coke_options_set_int(o, "k", CLASSES);
    if (!rc)
        rc = coke_options_set_int(o, "seed", seed);
    if (!rc)
        rc = coke_cluster_run(&c, &input, o, NULL);
    coke_options_free(o);
    if (!rc)
        rc = coke_cluster_labels(c, 0, label);
    coke_cluster_free(c);
    coke_rows_free(rows);
    return rc;
}

/* Labels and classes are compared by the best matching, as for the encoder. */
static int judge_pixels(struct coke_dataset *d, const struct args *a, struct result *r)
{
    int64_t n = args_number(a, "n");
    float *x = NULL;
    int32_t dim = 0, *truth = calloc((size_t)n, sizeof *truth);
    int32_t *label = calloc((size_t)n, sizeof *label);
    int rc = truth && label ? COKE_OK : COKE_ENOMEM;
    if (!rc)
        rc = load_pixels(d, n, &x, &dim, truth);
    if (!rc)
        rc = cluster_pixels(x, n, dim, args_number(a, "seed"), label);
    if (!rc)
        rc = coke_agreement(truth, label, n, CLASSES, CLASSES, &r->pixels);
    free(x);
    free(truth);
    free(label);
    return rc;
}

/* ---- the encoder ---- */

/* The preset, with --epochs and --seed of this command. */
static int set_training(struct coke_options *o, const struct args *a)
{
    int64_t epochs = args_number(a, "epochs");
    int rc = coke_train_preset(o, "demo");
    if (!rc && epochs)
        rc = coke_options_set_int(o, "epochs", epochs);
    return rc ? rc : coke_options_set_int(o, "seed", args_number(a, "seed"));
}

/* Resumes in the folder if an earlier demo was interrupted. Signals save and stop. */
static int train(const char *source, const struct args *a, const char *run, struct result *r)
{
    struct coke_options *o = NULL;
    struct coke_dataset *d = NULL;
    struct progress bar;
    int rc = coke_options_new(&o, "train");
    if (!rc)
        rc = set_training(o, a);
    if (!rc)
        rc = coke_dataset_open(&d, source, o);
    if (!rc) {
        progress_init(&bar, args_flag(a, "quiet"));
        progress_train(&bar);
        struct coke_callbacks callbacks = progress_callbacks(&bar);
        rc = coke_train_run(d, o, run, NULL, &callbacks, &r->train);
        progress_end(&bar);
    }
    coke_dataset_free(d);
    coke_options_free(o);
    return rc;
}

/* Overwrites the page of an earlier demo: it belongs to the folder. */
static int write_report(const struct args *a, const char *run, struct result *r)
{
    struct coke_report_input input = {.size = sizeof input, .source = run};
    struct progress bar;
    snprintf(r->page, sizeof r->page, "%s/report.html", run);
    progress_init(&bar, args_flag(a, "quiet"));
    struct coke_callbacks callbacks = progress_callbacks(&bar);
    input.callbacks = &callbacks;
    int rc = coke_report_write(&input, NULL, r->page, NULL, 1, &r->report);
    progress_end(&bar);
    return rc;
}

/* ---- printing ---- */

static int print_json(const struct result *r)
{
    struct coke_json *j = coke_json_open(stdout, COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_begin_object(j, "pixels");
    coke_json_put_real(j, "acc", r->pixels.accuracy);
    coke_json_put_real(j, "nmi", r->pixels.nmi);
    coke_json_put_real(j, "ari", r->pixels.ari);
    coke_json_end(j);
    coke_json_begin_object(j, "coke");
    coke_json_put_real(j, "acc", r->train.accuracy);
    coke_json_put_real(j, "nmi", r->train.nmi);
    coke_json_put_real(j, "ari", r->train.ari);
    coke_json_put_real(j, "knn20", r->train.knn20);
    coke_json_put_real(j, "seconds", r->train.seconds);
    coke_json_end(j);
    coke_json_put_text(j, "report", r->page);
    return emit_close(j);
}

static void print_text(int64_t n, const struct result *r)
{
    printf("\n%lld images of ten patterns; labels were used for evaluation only\n\n"
           "                        ACC    NMI    ARI   k-NN\n"
           "k-means on pixels     %5.3f  %5.3f  %5.3f      -\n"
           "CoKe, %3lld epochs      %5.3f  %5.3f  %5.3f  %5.3f\n\n"
           "open %s in a browser: curves, clusters, and their images\n",
           (long long)n, r->pixels.accuracy, r->pixels.nmi, r->pixels.ari,
           (long long)r->train.epochs, r->train.accuracy, r->train.nmi, r->train.ari,
           r->train.knn20, r->page);
}

/* ---- the command ---- */

/* The pixels come first: they take seconds, and their memory is freed before the training. */
static int run(struct args *a, int n, const char *const *operands)
{
    const char *output = args_text(a, "output"), *folder = output ? output : "coke-demo";
    struct coke_dataset *d = NULL;
    struct result r = {.pixels.size = sizeof r.pixels,
                       .train.size = sizeof r.train,
                       .report.size = sizeof r.report};
    char source[64];
    if (n)
        return talk_fail(COKE_EUSAGE,
                         "unexpected operand '%s': the demo generates its own data",
                         operands[0]);
    int rc = args_use_threads(a);
    if (rc)
        return rc;
    snprintf(source, sizeof source, "synthetic:n=%lld", (long long)args_number(a, "n"));
    rc = coke_dataset_open(&d, source, NULL);
    if (!rc)
        rc = judge_pixels(d, a, &r);
    coke_dataset_free(d);
    if (!rc)
        rc = train(source, a, folder, &r);
    if (!rc)
        rc = write_report(a, folder, &r);
    if (rc)
        return talk_fail_library(rc);
    if (args_flag(a, "json"))
        return print_json(&r);
    print_text(args_number(a, "n"), &r);
    return COKE_OK;
}

const struct command cmd_demo = {
    .name = "demo",
    .usage = "[options]",
    .summary = "learn the classes of built-in images without labels, with a report",
    .about =
        "Generates pictures of ten patterns in random colours and places, trains an encoder "
        "on them with the preset demo, compares its clusters with k-means on the pixels, "
        "and writes report.html. The same command resumes after an interruption. 'coke "
        "demo vectors' shows what minimum sizes do to clusters of vectors.",
    .examples = "coke demo\tthree minutes on two cores\n"
                "coke demo --epochs 90 -o longer\tanother folder, more epochs",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
