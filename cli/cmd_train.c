/* cmd_train.c - coke train: images in, an encoder and its clusters out. */
#include "command.h"
#include "emit.h"
#include "progress.h"
#include "talk.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    struct coke_train_options o;
    const char *output, *preset, *config, *cache;
    int64_t threads, trials;
    struct coke_train_control control;
    int32_t print_config, tune, json, quiet;
};

#define OWN struct options
static const struct arg args[] = {
    ARG_TEXT(OWN, output, "output", 'o', "RUN",
             "folder of the run; one that holds a checkpoint is continued"),
    ARG_TEXT(OWN, preset, "preset", 0, "NAME", "a set of options; --preset list names them"),
    ARG_TEXT(OWN, config, "config", 0, "FILE",
             "options from a JSON file; those of the command line win"),
    ARG_TEXT(OWN, cache, "cache", 0, "DIR",
             "folder for indexes of tar files, otherwise written beside them"),
    ARG_FLAG(OWN, print_config, "print-config", 0, "print all options as JSON and end"),
    ARG_FLAG(OWN, control.fresh, "fresh", 0, "do not continue what is in the folder"),
    ARG_FLAG(OWN, control.resume_anyway, "resume-anyway", 0,
             "continue although options, threads or versions have changed"),
    ARG_FLAG(OWN, control.force, "force", 0, "with --fresh: overwrite an earlier run"),
    ARG_INT(OWN, trials, "trials", 0, 1, 1, 1000, NULL,
            "runs with seeds one after the other, RUN/trial-0 and so on; prints mean and "
            "deviation"),
    ARG_FLAG(OWN, tune, "tune", 0,
             "measure which convolutions are fastest here; kept in RUN/tuning.txt"),
    ARG_INT(OWN, threads, "threads", 0, 0, 0, 1024, "auto",
            "threads; auto = all cores; a run continues with as many as it began with"),
    ARG_JSON(OWN),
    ARG_QUIET(OWN),
};

static int list_presets(void)
{
    for (int i = 0; coke_train_preset_name(i); i++)
        printf("%-20s %s\n", coke_train_preset_name(i), coke_train_preset_about(i));
    return COKE_OK;
}

/* The rows of the library's table come first in the command's struct. */
static int apply_preset(void *options, const char *name)
{
    struct options *o = options;
    return strcmp(name, "list") == 0 ? COKE_OK : coke_train_preset(&o->o, name);
}

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

static void print_text(const char *run, const struct coke_train_summary *s)
{
    if (s->images == 0)
        printf("%s was complete: %lld epochs\n", run, (long long)s->epochs);
    else
        printf("%lld epochs, loss %.4f, %.0f s of which %.1f waiting for data and %.1f for "
               "checkpoints\n",
               (long long)s->epochs, s->loss, s->seconds, s->waited, s->saving);
    if (s->monitored)
        printf("k-NN %.3f (20 neighbours), %.3f (200)\n", s->knn20, s->knn200);
    if (s->monitored && s->matched_head >= 0)
        printf("head %d: ACC %.3f, NMI %.3f, ARI %.3f\n", s->matched_head, s->accuracy, s->nmi,
               s->ari);
    printf("%s/final.safetensors, labels and centers beside it\n", run);
}

static int train_once(struct coke_dataset *d, const struct options *o, const char *run,
                      struct coke_json *j, struct coke_train_summary *s)
{
    struct progress bar;
    progress_init(&bar, o->quiet);
    progress_save_on_signal();
    struct coke_callbacks callbacks = progress_callbacks(&bar);
    int rc = coke_train_run(d, &o->o, run, &o->control, &callbacks, s);
    progress_end(&bar);
    if (rc)
        return talk_fail_library(rc);
    if (o->json)
        put_summary(j, s);
    else
        print_text(run, s);
    return COKE_OK;
}

/* ---- several trials ---- */

/* Sums of a figure over the trials that have it. */
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

static void print_figure(const struct figure *f, const struct options *o, struct coke_json *j)
{
    double mean = f->sum / f->n;
    double variance = f->n > 1 ? (f->squares - f->n * mean * mean) / (f->n - 1) : 0;
    double deviation = sqrt(fmax(variance, 0));
    if (!o->json) {
        printf("%-6s %.4f +- %.4f over %d trials\n", f->name, mean, deviation, f->n);
        return;
    }
    coke_json_begin_object(j, f->name);
    coke_json_put_real(j, "mean", mean);
    coke_json_put_real(j, "deviation", deviation);
    coke_json_put_int(j, "n", f->n);
    coke_json_end(j);
}

/* RUN/trial-0 and so on, with seeds one after the other. */
static int train_trials(struct coke_dataset *d, const struct options *o, struct coke_json *j)
{
    struct figure figure[] = {{.name = "loss"}, {.name = "knn20"}, {.name = "knn200"},
                              {.name = "acc"},  {.name = "nmi"},   {.name = "ari"}};
    struct options one = *o;
    char run[4096];
    if (mkdir(o->output, 0755) != 0 && errno != EEXIST)
        return talk_fail(COKE_EIO, "%s: %s", o->output, strerror(errno));
    coke_json_begin_object(j, NULL);
    coke_json_begin_array(j, "trials");
    for (int64_t t = 0; t < o->trials; t++) {
        struct coke_train_summary s;
        int n = snprintf(run, sizeof run, "%s/trial-%lld", o->output, (long long)t);
        if (n >= (int)sizeof run)
            return talk_fail(COKE_EUSAGE, "a path of %d bytes is too long", n);
        one.o.loader.view.seed = o->o.loader.view.seed + t;
        int rc = train_once(d, &one, run, j, &s);
        if (rc)
            return rc;
        int known = s.monitored, head = known && s.matched_head >= 0;
        count(&figure[0], 1, s.loss);
        count(&figure[1], known, s.knn20);
        count(&figure[2], known, s.knn200);
        count(&figure[3], head, s.accuracy);
        count(&figure[4], head, s.nmi);
        count(&figure[5], head, s.ari);
    }
    coke_json_end(j);
    for (int i = 0; i < (int)(sizeof figure / sizeof figure[0]); i++)
        if (figure[i].n)
            print_figure(&figure[i], o, j);
    return COKE_OK;
}

static int train(struct coke_dataset *d, const struct options *o)
{
    struct coke_train_summary s;
    struct coke_json *j = o->json ? coke_json_open(stdout, COKE_JSON_LINE) : NULL;
    int rc = o->trials > 1 ? train_trials(d, o, j) : train_once(d, o, o->output, j, &s);
    int written = o->json ? emit_close(j) : COKE_OK;
    return rc ? rc : written;
}

static int check_usage(const struct options *o, int n)
{
    if (n != 1)
        return talk_fail(COKE_EUSAGE, "%s; 'coke train --help' has examples",
                         n ? "one data set at a time" : "no data set");
    if (!o->output)
        return talk_fail(COKE_EUSAGE, "where to is missing, as in -o run");
    if (o->control.force && !o->control.fresh)
        return talk_fail(COKE_EUSAGE, "--force goes with --fresh: it overwrites a run");
    return coke_set_threads((int)o->threads) ? talk_fail_library(COKE_EUSAGE) : COKE_OK;
}

/* A run that was tuned goes on with the same convolutions: others round differently. */
static int use_tuning(const struct options *o)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/tuning.txt", o->output);
    if (n >= (int)sizeof path)
        return talk_fail(COKE_EUSAGE, "a path of %d bytes is too long", n);
    if (!o->tune && access(path, F_OK) != 0)
        return COKE_OK;
    if (o->tune && coke_group_size() > 1)
        return talk_fail(COKE_EUSAGE, "--tune is for one process: %d would choose differently",
                         coke_group_size());
    if (mkdir(o->output, 0755) != 0 && errno != EEXIST)
        return talk_fail(COKE_EIO, "%s: %s", o->output, strerror(errno));
    int rc = coke_tune(path);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

static int run(const void *options, int n, const char *const *source)
{
    const struct options *o = options;
    struct coke_dataset *d = NULL;
    if (o->preset && strcmp(o->preset, "list") == 0)
        return list_presets();
    if (o->print_config) {
        int rc = coke_table_print_json(coke_train_option_table(), &o->o, stdout);
        return rc ? talk_fail_library(rc) : COKE_OK;
    }
    int rc = check_usage(o, n);
    if (!rc)
        rc = use_tuning(o);
    if (rc)
        return rc;
    struct coke_dataset_options data = o->o.data;
    data.cache_dir = o->cache;
    rc = coke_dataset_open(&d, source[0], &data);
    if (rc)
        return talk_fail_library(rc);
    if (!o->quiet && coke_dataset_note(d)[0])
        talk_line("coke: ", coke_dataset_note(d));
    rc = train(d, o);
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_train = {
    .name = "train",
    .usage = "DATA -o RUN -k N,... [options]",
    .summary = "learn an image encoder from clusters, without labels",
    .about = "Alternates between clustering the images online, every cluster above its least "
             "size, and training the encoder to predict the clusters. The folder gets "
             "config.json, metrics.jsonl, timing.jsonl, TensorBoard files, checkpoints, and at "
             "the end "
             "final.safetensors and the labels and centers of each head. The same command goes "
             "on after an interruption, at the step where it was, with the same bytes. SIGINT, "
             "SIGTERM and SIGUSR1 save and stop (exit code 75), SIGUSR2 saves and goes on. "
             "Options can also come from the environment: COKE_BATCH=64.",
    .examples =
        "coke train photos -k 100,200 -o run\tfrom a folder of images\n"
        "coke train synthetic:n=3000 --preset demo -o run\ta few minutes on two cores\n"
        "coke train data/cifar10 --preset cifar10 -o run\tthe paper's CIFAR-10\n"
        "coke train photos -k 100 --trials 3 -o runs\tthree seeds: mean and deviation\n"
        "mpirun -n 4 coke train photos -k 100 -o run\tfour processes, on one machine or more\n"
        "coke train --preset cifar10 --print-config > c.json\tits options, for --config c.json",
    .group = {{coke_train_option_table, offsetof(struct options, o)}},
    .arg = args,
    .nargs = ARG_COUNT(args),
    .size = sizeof(struct options),
    .joins = 1,
    .preset = apply_preset,
    .run = run,
};
