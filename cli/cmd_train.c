/* cmd_train.c - coke train: images in, an encoder and its clusters out.
 *
 * The library does the training and owns the run folder; this file adds presets, several
 * trials, and the summary as text or JSON lines. A stop by signal returns COKE_ESTOPPED: exit
 * code 75, which tells schedulers to start the same command again. */
#include "args.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "talk.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const struct arg args[] = {
    ARG_TEXT("output", 'o', "RUN", "folder of the run; resumes if it holds a checkpoint"),
    ARG_TEXT("preset", 0, "NAME", "a named set of options; --preset list shows all"),
    ARG_CONFIG,
    ARG_PRINT_CONFIG,
    ARG_FLAG("fresh", 0, "start anew instead of resuming from the folder"),
    ARG_FLAG("resume-anyway", 0, "resume although options, threads or versions have changed"),
    ARG_FLAG("force", 0, "overwrite files of others in RUN; with --fresh also an earlier run"),
    ARG_INT("trials", 1, 1, 1000, NULL,
            "runs with consecutive seeds, RUN/trial-0 and so on; prints mean and deviation"),
    ARG_FLAG(
        "tune", 0,
        "measure which convolutions are fastest on this machine; stored in RUN/tuning.txt"),
    ARG_THREADS_AS("number of threads; auto = all cores; must not change when a run resumes"),
    ARG_JSON,
    ARG_QUIET,
};

/* Name and one line of description each; no data set is needed. */
static int list_presets(void)
{
    for (int i = 0; coke_train_preset_name(i); i++)
        printf("%-20s %s\n", coke_train_preset_name(i), coke_train_preset_about(i));
    return COKE_OK;
}

/* One JSON object per training. Figures of the monitor are there only if it ran, those of
 * clusters only if a head has as many clusters as classes. */
static void put_summary(struct coke_json *j, const struct coke_train_summary *s)
{
    coke_json_begin_object(j, NULL);
    coke_json_put_int(j, "epochs", s->epochs);
    coke_json_put_int(j, "images", s->images);
    coke_json_put_real(j, "loss", s->loss);
    coke_json_put_fixed(j, "seconds", s->seconds, 3);
    coke_json_put_fixed(j, "waited", s->waited, 3);
    coke_json_put_fixed(j, "saving", s->saving, 3);
    coke_json_put_flag(j, "resumed", s->resumed);
    if (s->monitored) {
        coke_json_put_real(j, "knn20", s->knn20);
        coke_json_put_real(j, "knn200", s->knn200);
    }
    if (s->monitored && s->matched_head >= 0) {
        coke_json_put_int(j, "head", s->matched_head);
        coke_json_put_real(j, "acc", s->accuracy);
        coke_json_put_real(j, "nmi", s->nmi);
        coke_json_put_real(j, "ari", s->ari);
    }
    coke_json_end(j);
}

/* images == 0: nothing was trained, because the run was complete already. Without k the method has
 * no clusters. */
static void print_text(const char *run, const struct coke_options *options,
                       const struct coke_train_summary *s)
{
    char k[1024] = "";
    if (s->images == 0)
        printf("%s is already complete: %lld epochs\n", run, (long long)s->epochs);
    else
        printf("%lld epochs, loss %.4f, %.0f s of which %.1f waiting for data and %.1f for "
               "checkpoints\n",
               (long long)s->epochs, s->loss, s->seconds, s->waited, s->saving);
    if (s->monitored)
        printf("k-NN %.3f (20 neighbours), %.3f (200)\n", s->knn20, s->knn200);
    if (s->monitored && s->matched_head >= 0)
        printf("head %d: ACC %.3f, NMI %.3f, ARI %.3f\n", s->matched_head, s->accuracy, s->nmi,
               s->ari);
    int clusters = coke_options_get(options, "k", k, sizeof k) == COKE_OK && k[0];
    if (!clusters) /* method coke has chosen them */
        clusters = coke_options_get(options, "method", k, sizeof k) == COKE_OK &&
                   strcmp(k, "coke") == 0;
    printf("%s/final.safetensors%s\n", run, clusters ? ", labels and centers beside it" : "");
}

/* One training in folder `run`; *s receives the summary. j NULL: print it as text, else append
 * it to j. */
static int train_once(struct coke_dataset *d, const struct args *a,
                      const struct coke_options *options, const char *run, struct coke_json *j,
                      struct coke_train_summary *s)
{
    struct progress bar;
    struct coke_train_control control = {.size = sizeof control,
                                         .fresh = args_flag(a, "fresh"),
                                         .resume_anyway = args_flag(a, "resume-anyway"),
                                         .force = args_flag(a, "force")};
    progress_init(&bar, args_flag(a, "quiet"));
    progress_train(&bar);
    struct coke_callbacks callbacks = progress_callbacks(&bar);
    int rc = coke_train_run(d, options, run, &control, &callbacks, s);
    progress_end(&bar);
    if (rc)
        return talk_fail_library(rc);
    if (j)
        put_summary(j, s);
    else
        print_text(run, options, s);
    return COKE_OK;
}

/* ---- several trials ---- */

/* Sums of one figure over the trials that have it, for mean and deviation. */
struct figure {
    const char *name;
    int n;
    double sum, squares;
};

static void count(struct figure *f, int known, double x)
{
    if (!known)
        return;
    f->n++;
    f->sum += x;
    f->squares += x * x;
}

/* Sample deviation (n - 1); rounding may make the variance slightly negative. */
static void print_figure(const struct figure *f, struct coke_json *j)
{
    double mean = f->sum / f->n;
    double variance = f->n > 1 ? (f->squares - f->n * mean * mean) / (f->n - 1) : 0;
    double deviation = sqrt(fmax(variance, 0));
    if (!j) {
        printf("%-6s %.4f +- %.4f over %d trials\n", f->name, mean, deviation, f->n);
        return;
    }
    coke_json_begin_object(j, f->name);
    coke_json_put_real(j, "mean", mean);
    coke_json_put_real(j, "deviation", deviation);
    coke_json_put_int(j, "n", f->n);
    coke_json_end(j);
}

enum { LOSS, KNN20, KNN200, ACC, NMI, ARI, FIGURES };

/* A trial without monitor or matching head has fewer figures. */
static void count_trial(struct figure *f, const struct coke_train_summary *s)
{
    int known = s->monitored, head = known && s->matched_head >= 0;
    count(&f[LOSS], 1, s->loss);
    count(&f[KNN20], known, s->knn20);
    count(&f[KNN200], known, s->knn200);
    count(&f[ACC], head, s->accuracy);
    count(&f[NMI], head, s->nmi);
    count(&f[ARI], head, s->ari);
}

/* Trial t, in RUN/trial-t, with seed + t. Trials that are complete return at once, so the same
 * command resumes at the interrupted one. */
static int train_trial(struct coke_dataset *d, struct args *a, int64_t t, struct coke_json *j,
                       struct coke_train_summary *s)
{
    char run[4096];
    struct coke_options *o = NULL;
    int n = snprintf(run, sizeof run, "%s/trial-%lld", args_text(a, "output"), (long long)t);
    if (n >= (int)sizeof run)
        return talk_fail(COKE_EUSAGE, "path too long (%d bytes)", n);
    int rc = coke_options_copy(&o, args_options(a, "train"));
    if (!rc)
        rc = coke_options_set_int(o, "seed", args_number(a, "seed") + t);
    if (rc)
        talk_fail_library(rc);
    else
        rc = train_once(d, a, o, run, j, s);
    coke_options_free(o);
    return rc;
}

/* Stops at the first failure; j then is closed by the caller, so that the JSON is complete. */
static int train_trials(struct coke_dataset *d, struct args *a, struct coke_json *j)
{
    struct figure figure[FIGURES] = {{.name = "loss"}, {.name = "knn20"}, {.name = "knn200"},
                                     {.name = "acc"},  {.name = "nmi"},   {.name = "ari"}};
    int rc = outputs_make_dir(args_text(a, "output"));
    coke_json_begin_object(j, NULL);
    coke_json_begin_array(j, "trials");
    for (int64_t t = 0; t < args_number(a, "trials") && !rc; t++) {
        struct coke_train_summary s = COKE_INIT(struct coke_train_summary);
        rc = train_trial(d, a, t, j, &s);
        if (!rc)
            count_trial(figure, &s);
    }
    if (rc)
        return rc;
    coke_json_end(j);
    for (int i = 0; i < FIGURES; i++)
        if (figure[i].n)
            print_figure(&figure[i], j);
    return COKE_OK;
}

/* emit_close also after a failure: it ends open arrays and frees j. */
static int train(struct coke_dataset *d, struct args *a)
{
    struct coke_train_summary s = COKE_INIT(struct coke_train_summary);
    struct coke_json *j =
        args_flag(a, "json") ? coke_json_open(stdout, COKE_JSON_STYLE_LINE) : NULL;
    int rc = args_number(a, "trials") > 1
                 ? train_trials(d, a, j)
                 : train_once(d, a, args_options(a, "train"), args_text(a, "output"), j, &s);
    int written = j ? emit_close(j) : COKE_OK;
    return rc ? rc : written;
}

/* ---- the command ---- */

/* Before the data set is opened, which may take a while. */
static int check_usage(struct args *a, int n)
{
    if (n != 1)
        return talk_fail(COKE_EUSAGE, "%s; 'coke train --help' has examples",
                         n ? "more than one data set" : "missing data set");
    if (!args_text(a, "output"))
        return talk_fail(COKE_EUSAGE, "missing output folder: use -o RUN");
    return args_use_threads(a);
}

/* A tuned run resumes with the same convolutions, because others round differently: an existing
 * tuning file is used even without --tune. */
static int use_tuning(struct args *a)
{
    char path[4096];
    int tune = args_flag(a, "tune");
    int n = snprintf(path, sizeof path, "%s/tuning.txt", args_text(a, "output"));
    if (n >= (int)sizeof path)
        return talk_fail(COKE_EUSAGE, "path too long (%d bytes)", n);
    if (!tune && access(path, F_OK) != 0)
        return COKE_OK;
    if (tune && coke_group_size() > 1)
        return talk_fail(COKE_EUSAGE,
                         "--tune needs a single process: %d would choose differently",
                         coke_group_size());
    int rc = outputs_make_dir(args_text(a, "output"));
    if (rc)
        return rc;
    rc = coke_tune(path);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* The options of kind train include those of the data set, so they open it too. */
static int run(struct args *a, int n, const char *const *source)
{
    struct coke_dataset *d = NULL;
    const char *preset = args_text(a, "preset");
    if (preset && strcmp(preset, "list") == 0)
        return list_presets();
    if (args_flag(a, "print-config"))
        return args_print_config(a);
    int rc = check_usage(a, n);
    if (!rc)
        rc = use_tuning(a);
    if (rc)
        return rc;
    rc = coke_dataset_open(&d, source[0], args_options(a, "train"));
    if (rc)
        return talk_fail_library(rc);
    if (!args_flag(a, "quiet") && coke_dataset_note(d)[0])
        talk_line("coke: ", coke_dataset_note(d));
    rc = train(d, a);
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_train = {
    .name = "train",
    .usage = "DATA -o RUN [-k N,...] [options]",
    .summary = "learn an image encoder from clusters, without labels",
    .about = "Alternates between clustering the images online, with a minimum size for every "
             "cluster, and training the encoder to predict the clusters. Writes config.json, "
             "metrics.jsonl, timing.jsonl, TensorBoard files and checkpoints to the folder "
             "and, at the end, final.safetensors and the labels and centers of each head. "
             "After an interruption the same command resumes at the interrupted step, with the "
             "same bytes. SIGINT, SIGTERM and SIGUSR1 save and stop (exit code 75), SIGUSR2 "
             "saves and continues. Without -k, options with their default values are chosen "
             "from the "
             "number and size of the images; each choice is printed. Options can also come "
             "from the environment: COKE_BATCH=64.",
    .examples =
        "coke train photos -o run\tfrom a folder of images; all options are chosen\n"
        "coke train photos -k 100,200 -o run\ttwo clusterings, other options as published\n"
        "coke train synthetic:n=3000 --preset demo -o run\ta few minutes on two cores\n"
        "coke train data/cifar10 --preset cifar10 -o run\tthe CIFAR-10 training of the paper\n"
        "coke train photos -k 100 --trials 3 -o runs\tthree seeds: mean and deviation\n"
        "coke train photos -k 100 --arch resnet50 --init resnet50.pth -o run\tfrom other "
        "weights\n"
        "mpirun -n 4 coke train photos -k 100 -o run\tfour processes, on one machine or more\n"
        "coke train --preset cifar10 --print-config > c.json\tits options, for --config c.json",
    .kind = {"train"},
    .arg = args,
    .nargs = ARG_COUNT(args),
    .joins = 1,
    .preset = 1,
    .run = run,
};
