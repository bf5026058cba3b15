/* cmd_cluster.c - coke cluster: vectors in, labels with guaranteed sizes out. */
#include "command.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "talk.h"

#include <string.h>

struct options {
    struct coke_cluster_options o;
    const char *output, *min_sizes, *max_sizes, *weights, *config;
    int64_t threads;
    int32_t force, print_config, json, quiet;
};

#define OWN struct options
static const struct arg args[] = {
    ARG_TEXT(OWN, output, "output", 'o', "DIR",
             "folder for labels.npy, centers.npy, model.safetensors and summary.json; without "
             "it nothing is written"),
    ARG_TEXT(OWN, min_sizes, "min-sizes", 0, "FILE",
             "least size of each cluster instead of --ratio: k numbers, one a line or .npy"),
    ARG_TEXT(OWN, max_sizes, "max-sizes", 0, "FILE", "largest size of each cluster, the same"),
    ARG_TEXT(OWN, weights, "weights", 0, "FILE",
             "weight of each row in objective and centers: n numbers; sizes count rows"),
    ARG_TEXT(OWN, config, "config", 0, "FILE",
             "options from a JSON file; those of the command line win"),
    ARG_FLAG(OWN, print_config, "print-config", 0, "print all options as JSON and end"),
    ARG_FORCE(OWN),
    ARG_THREADS(OWN),
    ARG_JSON(OWN),
    ARG_QUIET(OWN),
};

/* Everything a run owns. */
struct work {
    struct coke_rows *rows;
    double *min_sizes, *max_sizes, *weights;
    struct coke_cluster *result;
};

static void release(struct work *w)
{
    coke_cluster_free(w->result);
    coke_rows_free(w->rows);
    coke_numbers_free(w->min_sizes);
    coke_numbers_free(w->max_sizes);
    coke_numbers_free(w->weights);
}

/* ---- input ---- */

/* What can be known to be wrong before a file is opened. */
static int check_options(const struct options *o, int n)
{
    if (n == 0)
        return talk_fail(COKE_EUSAGE, "no input file; 'coke cluster --help' has examples");
    if (o->o.k.n < 1)
        return talk_fail(COKE_EUSAGE, "the number of clusters is missing, as in -k 100");
    if (o->o.k.n > 1 && (o->min_sizes || o->max_sizes))
        return talk_fail(COKE_EUSAGE, "sizes from a file go with one k, not with %d", o->o.k.n);
    return o->output ? outputs_check_dir(o->output, &o->o.k, o->force) : COKE_OK;
}

static int load_numbers(const char *path, int64_t wanted, const char *what, double **out)
{
    int64_t n;
    if (!path)
        return COKE_OK;
    int rc = coke_numbers_load(path, out, &n);
    if (rc)
        return talk_fail_library(rc);
    if (n != wanted)
        return talk_fail(COKE_EFORMAT, "%s: %lld numbers for %lld %s", path, (long long)n,
                         (long long)wanted, what);
    return COKE_OK;
}

static int open_input(struct work *w, const struct options *o, int n, const char *const *paths)
{
    for (int i = 0; i < n && coke_group_size() > 1; i++)
        if (strcmp(paths[i], "-") == 0)
            return talk_fail(COKE_EUSAGE,
                             "standard input cannot be shared by %d processes; write a file",
                             coke_group_size());
    /* Rows to be left out are found in a pass of their own. */
    struct coke_rows_options how = {.one_pass = o->o.epochs == 1 && !o->o.repair && !o->o.bad};
    int rc = coke_rows_open(&w->rows, paths, n, &how);
    if (rc)
        return talk_fail_library(rc);
    if (coke_rows_note(w->rows)[0] && !o->quiet)
        talk_line("", coke_rows_note(w->rows));
    rc = load_numbers(o->min_sizes, o->o.k.v[0], "clusters", &w->min_sizes);
    if (!rc)
        rc = load_numbers(o->max_sizes, o->o.k.v[0], "clusters", &w->max_sizes);
    if (!rc)
        rc = load_numbers(o->weights, coke_rows_count(w->rows), "rows", &w->weights);
    return rc;
}

/* ---- output ---- */

static int print_json(const struct work *w)
{
    const struct coke_cluster_timing *t = coke_cluster_timing(w->result);
    struct coke_json *j = coke_json_open(stdout, COKE_JSON_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_int(j, "n", coke_rows_count(w->rows));
    coke_json_put_int(j, "dim", coke_rows_dim(w->rows));
    coke_json_put_int(j, "skipped", coke_cluster_summary(w->result, 0)->skipped);
    coke_json_begin_array(j, "heads");
    for (int h = 0; h < coke_cluster_heads(w->result); h++) {
        coke_json_begin_object(j, NULL);
        emit_head(j, coke_cluster_summary(w->result, h));
        coke_json_end(j);
    }
    coke_json_end(j);
    coke_json_begin_object(j, "timing");
    coke_json_put_int(j, "threads", coke_threads());
    coke_json_put_text(j, "isa", coke_isa());
    coke_json_put_real(j, "init_seconds", t->init);
    coke_json_put_real(j, "epochs_seconds", t->epochs);
    coke_json_put_real(j, "final_seconds", t->final);
    coke_json_put_real(j, "total_seconds", t->total);
    coke_json_put_real(j, "vectors_per_second", t->vectors_per_second);
    return emit_close(j);
}

static void print_epochs(const struct coke_head_summary *s)
{
    printf("%-12s%lld%s; %.4g passes over the data\n", "epochs", (long long)s->epochs,
           s->converged ? ", then it stood still" : "", s->passes);
}

static void print_table(const struct work *w, const struct options *o)
{
    const struct coke_cluster_timing *t = coke_cluster_timing(w->result);
    const struct coke_head_summary *s = coke_cluster_summary(w->result, 0);
    char rate[24];
    printf("%-12s%lld x %lld", "rows", (long long)s->n, (long long)s->dim);
    if (s->skipped)
        printf("; %lld left out", (long long)s->skipped);
    printf("\n");
    for (int h = 0; h < coke_cluster_heads(w->result); h++) {
        s = coke_cluster_summary(w->result, h);
        printf("%-12s%lld\n", "clusters", (long long)s->k);
        emit_head_text(stdout, s);
        print_epochs(s);
    }
    printf("%-12s%s vectors/s in the epochs; %.*f s in all\n", "speed",
           talk_count(t->vectors_per_second, rate, sizeof rate), t->total < 1 ? 3 : 2,
           t->total);
    if (o->output)
        printf("%-12s%s\n", "written to", o->output);
}

static int finish(const struct work *w, const struct options *o)
{
    int rc = o->output ? coke_cluster_write(w->result, o->output, o->force) : COKE_OK;
    if (rc)
        return talk_fail_library(rc);
    if (o->json)
        rc = print_json(w);
    else
        print_table(w, o);
    if (!o->output && !o->quiet && talk_is_heard())
        fputs("nothing was written; -o DIR keeps labels, centers and model\n", stderr);
    return rc;
}

/* ---- the command ---- */

static int cluster(struct work *w, const struct options *o)
{
    struct progress p;
    progress_init(&p, o->quiet);
    struct coke_callbacks callbacks = progress_callbacks(&p);
    struct coke_cluster_input input = {w->rows, w->min_sizes, w->max_sizes, w->weights};
    int rc = coke_cluster_run(&w->result, &input, &o->o, &callbacks);
    progress_end(&p);
    if (rc == COKE_ESTOPPED) /* 75 would promise that a second run goes on from here */
        return talk_fail(COKE_EFAIL, "stopped; nothing was written");
    return rc ? talk_fail_library(rc) : COKE_OK;
}

static int run(const void *options, int n, const char *const *paths)
{
    const struct options *o = options;
    struct work w = {0};
    if (o->print_config) {
        int rc = coke_table_print_json(coke_cluster_option_table(), &o->o, stdout);
        return rc ? talk_fail_library(rc) : COKE_OK;
    }
    int rc = check_options(o, n);
    if (!rc && coke_set_threads((int)o->threads))
        rc = talk_fail_library(COKE_EUSAGE);
    if (!rc)
        rc = open_input(&w, o, n, paths);
    if (!rc)
        rc = cluster(&w, o);
    if (!rc)
        rc = finish(&w, o);
    release(&w);
    return rc;
}

const struct command cmd_cluster = {
    .name = "cluster",
    .usage = "IN... -k N [-o DIR] [options]",
    .summary = "cluster vectors; every cluster gets its least size",
    .about = "Clusters the rows of .npy (f4 f2 f8 u1 i1), .fvecs or .bvecs files by cosine. "
             "Several files are one list of rows; '-' is a .npy on standard input. Every "
             "cluster ends with at least ratio * n/k rows, and a certificate says how far the "
             "labels can be from the best ones. Prints a short table.",
    .examples =
        "coke cluster x.npy -k 1000 -o out\tclusters of at least .4 n/k rows; files in out/\n"
        "coke cluster x.npy -k 100 --ratio 1 -o out\tbalanced: each at least n/k rows, rounded "
        "down\n"
        "coke cluster a.npy b.npy -k 10,100,1000 -o out\tthree clusterings of two files\n"
        "coke cluster x.npy -k 50 --min-sizes sizes.txt -o out\ta bound for each cluster\n"
        "make-vectors | coke cluster - -k 1000 --epochs 1 --no-repair -o out\tone pass over a "
        "stream, nothing spooled\n"
        "mpirun -n 4 coke cluster x.npy -k 1000 -o out\tfour processes, the same bytes\n"
        "coke cluster x.npy -k 1000 --print-config > c.json\tthe options, for --config c.json",
    .group = {{coke_cluster_option_table, offsetof(struct options, o)}},
    .arg = args,
    .nargs = ARG_COUNT(args),
    .size = sizeof(struct options),
    .joins = 1,
    .run = run,
};
