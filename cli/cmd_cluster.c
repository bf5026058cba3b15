/* cmd_cluster.c - coke cluster: vectors in, labels with guaranteed sizes out.
 *
 * Order: usage and output folder, threads, rows and sizes, the clustering, files, the result
 * on stdout. Under mpirun all ranks run this code with the same operands; rank 0 writes the
 * files and prints. */
#include "args.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "start_from.h"
#include "talk.h"

#include <string.h>

static const struct arg args[] = {
    ARG_TEXT("output", 'o', "DIR",
             "folder for labels.npy, centers.npy, model.safetensors and summary.json; default: "
             "write nothing"),
    ARG_TEXT(
        "min-sizes", 0, "FILE",
        "minimum size of each cluster instead of --ratio: k numbers, one per line or .npy"),
    ARG_TEXT("max-sizes", 0, "FILE", "maximum size of each cluster, in the same form"),
    ARG_TEXT("weights", 0, "FILE",
             "weight of each row in objective and centers: n numbers; sizes count rows"),
    ARG_OR_FILE("init",
                "initial centers: random rows, k-means++, by cost (auto), or a file of k rows or a "
                "model (then -k may be left out); cluster i starts from row i of the file"),
    ARG_TEXT(
        "continue", 0, "MODEL",
        "start from a model, or the folder of one: from its centers, duals and sizes, with "
        "its bounds unless others are given; the result is a new model"),
    ARG_CONFIG,
    ARG_PRINT_CONFIG,
    ARG_FORCE,
    ARG_THREADS,
    ARG_JSON,
    ARG_QUIET,
};

/* What one call of the command owns; the members not needed stay NULL. */
struct work {
    struct coke_rows *rows;
    int64_t *min_sizes, *max_sizes;
    double *weights;
    struct start_from start;
    struct coke_cluster *result;
};

static void release(struct work *w)
{
    coke_cluster_free(w->result);
    coke_rows_free(w->rows);
    coke_counts_free(w->min_sizes);
    coke_counts_free(w->max_sizes);
    coke_numbers_free(w->weights);
    start_from_release(&w->start);
}

/* ---- input ---- */

/* Checks the operands and the output before a file is opened. */
static int check_usage(struct args *a, int n)
{
    int32_t k[COKE_MAX_HEADS];
    const char *output = args_text(a, "output");
    if (n == 0)
        return talk_fail(COKE_EUSAGE, "missing input file; 'coke cluster --help' has examples");
    int heads = args_ints(a, "k", k);
    if (heads < 1 && start_from_is_given(a)) /* which has its k */
        k[heads++] = 0;
    if (heads < 1)
        return talk_fail(COKE_EUSAGE, "missing number of clusters: use -k 100");
    return output ? outputs_check_dir(output, k, heads, args_flag(a, "force")) : COKE_OK;
}

/* A file of sizes or weights must have exactly one number per cluster or row. */
static int check_count(const char *path, int64_t n, int64_t wanted, const char *what)
{
    if (n == wanted)
        return COKE_OK;
    return talk_fail(COKE_EFORMAT, "%s: %lld numbers for %lld %s", path, (long long)n,
                     (long long)wanted, what);
}

/* path NULL: *out stays NULL and nothing is checked (n = k). */
static int load_sizes(const char *path, int64_t k, int64_t **out)
{
    int64_t n = k;
    int rc = path ? coke_counts_load(path, out, &n) : COKE_OK;
    return rc ? talk_fail_library(rc) : check_count(path, n, k, "clusters");
}

static int load_weights(const char *path, int64_t rows, double **out)
{
    int64_t n = rows;
    int rc = path ? coke_numbers_load(path, out, &n) : COKE_OK;
    return rc ? talk_fail_library(rc) : check_count(path, n, rows, "rows");
}

/* One read of standard input suffices if there is one epoch, no repair and no search for bad
 * rows; otherwise the library spools it to a temporary file. */
static int is_one_pass(const struct args *a)
{
    return args_number(a, "epochs") == 1 && !args_number(a, "repair") &&
           !args_number(a, "bad") && !args_number(a, "fit-rows");
}

static int open_rows(struct work *w, const struct args *a, int n, const char *const *paths)
{
    struct coke_options *how = args_options(a, "rows");
    int rc = coke_options_set_int(how, "one-pass", is_one_pass(a));
    if (!rc)
        rc = coke_rows_open(&w->rows, paths, n, how);
    if (rc)
        return talk_fail_library(rc);
    if (coke_rows_note(w->rows)[0] && !args_flag(a, "quiet"))
        talk_line("", coke_rows_note(w->rows));
    return COKE_OK;
}

/* Standard input reaches only one rank. Sizes apply to the first k; the library refuses them
 * for several heads. */
static int open_input(struct work *w, struct args *a, int n, const char *const *paths)
{
    int32_t k[COKE_MAX_HEADS];
    for (int i = 0; i < n && coke_group_size() > 1; i++)
        if (strcmp(paths[i], "-") == 0)
            return talk_fail(COKE_EUSAGE,
                             "standard input cannot be shared by %d processes; write a file",
                             coke_group_size());
    int rc = open_rows(w, a, n, paths);
    if (!rc)
        rc = start_from_open(&w->start, a, w->rows);
    args_ints(a, "k", k);
    if (!rc)
        rc = load_sizes(args_text(a, "min-sizes"), k[0], &w->min_sizes);
    if (!rc)
        rc = load_sizes(args_text(a, "max-sizes"), k[0], &w->max_sizes);
    if (!rc)
        rc = load_weights(args_text(a, "weights"), coke_rows_count(w->rows), &w->weights);
    return rc;
}

/* ---- output ---- */

/* The keys of summary.json, without the options. */
static int print_json(const struct work *w)
{
    const struct coke_timing *t = coke_cluster_timing(w->result);
    struct coke_json *j = coke_json_open(stdout, COKE_JSON_STYLE_PRETTY);
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

/* reads counts the final scan and the repair too, samples as fractions. */
static void print_epochs(const struct coke_head_summary *s)
{
    printf("%-12s%lld%s; the data was read %.4g time%s", "epochs", (long long)s->epochs,
           s->converged ? ", converged" : "", s->reads, s->reads > 1 ? "s" : "");
    if (s->fit_rows < s->n)
        printf("; fitted on %lld rows", (long long)s->fit_rows);
    printf("\n");
}

/* Rows and speed once, the rest per head. */
static void print_table(const struct work *w, const char *output)
{
    const struct coke_timing *t = coke_cluster_timing(w->result);
    const struct coke_head_summary *s = coke_cluster_summary(w->result, 0);
    char rate[24];
    printf("%-12s%lld x %lld", "rows", (long long)s->n, (long long)s->dim);
    if (s->skipped)
        printf("; %lld skipped", (long long)s->skipped);
    printf("\n");
    for (int h = 0; h < coke_cluster_heads(w->result); h++) {
        s = coke_cluster_summary(w->result, h);
        printf("%-12s%lld\n", "clusters", (long long)s->k);
        emit_head_text(stdout, s);
        print_epochs(s);
    }
    printf("%-12s%s vectors/s in the epochs; %.*f s in total\n", "speed",
           talk_count(t->vectors_per_second, rate, sizeof rate), t->total < 1 ? 3 : 2,
           t->total);
    if (output)
        printf("%-12s%s\n", "written to", output);
}

/* Files first: the table says "written to" only if they exist. */
static int finish(const struct work *w, struct args *a)
{
    const char *output = args_text(a, "output");
    int rc = output ? coke_cluster_write(w->result, output, args_flag(a, "force")) : COKE_OK;
    if (rc)
        return talk_fail_library(rc);
    if (args_flag(a, "json"))
        rc = print_json(w);
    else
        print_table(w, output);
    if (!output && !args_flag(a, "quiet") && talk_is_heard())
        fputs("nothing was written; -o DIR keeps labels, centers and model\n", stderr);
    return rc;
}

/* ---- the command ---- */

/* The clustering itself. input borrows what w owns. */
static int cluster(struct work *w, const struct args *a)
{
    struct progress p;
    progress_init(&p, args_flag(a, "quiet"));
    struct coke_callbacks callbacks = progress_callbacks(&p);
    struct coke_cluster_input input = {.size = sizeof input,
                                       .rows = w->rows,
                                       .min_sizes = w->min_sizes,
                                       .max_sizes = w->max_sizes,
                                       .weights = w->weights,
                                       .centers = w->start.centers,
                                       .model = w->start.model,
                                       .keep_bounds = w->start.keep_bounds};
    int rc = coke_cluster_run(&w->result, &input, args_options(a, "cluster"), &callbacks);
    progress_end(&p);
    if (rc == COKE_ESTOPPED) /* exit code 75 would promise that a second run resumes */
        return talk_fail(COKE_EFAIL, "stopped; nothing was written");
    return rc ? talk_fail_library(rc) : COKE_OK;
}

static int run(struct args *a, int n, const char *const *paths)
{
    struct work w = {0};
    if (args_flag(a, "print-config"))
        return args_print_config(a);
    int rc = check_usage(a, n);
    if (!rc)
        rc = args_use_threads(a);
    if (!rc)
        rc = open_input(&w, a, n, paths);
    if (!rc)
        rc = cluster(&w, a);
    if (!rc)
        rc = finish(&w, a);
    release(&w);
    return rc;
}

const struct command cmd_cluster = {
    .name = "cluster",
    .usage = "IN... -k N [-o DIR] [options]",
    .summary = "cluster vectors; every cluster gets its minimum size",
    .about =
        "Clusters the rows of .npy, .npz, .fvecs, .bvecs, .fbin, .f16bin, .u8bin, .i8bin, "
        ".safetensors, .h5 or headerless files by cosine or, with --metric euclidean, by "
        "distance. Several files, a folder or a quoted "
        "pattern ('shards/*.npy') are one list of rows; 'x.npz:train' and 'x.h5:/train' are "
        "one "
        "array of a file, '-' is a .npy on standard input. Every "
        "cluster gets at least ratio * n/k rows, and a certificate states how far the labels "
        "can be from the optimum. Prints a short table.",
    .examples =
        "coke cluster x.npy -k 1000 -o out\tclusters of at least 0.4 n/k rows; files in out/\n"
        "coke cluster x.npy -k 100 --balanced -o out\tall sizes n/k, rounded down or up\n"
        "coke cluster a.npy b.npy -k 10,100,1000 -o out\tthree clusterings of two files\n"
        "coke cluster 'shards/*.fbin' -k 1000 -o out\tmany files, in the order of their names\n"
        "coke cluster glove.h5:/train -k 1000 -o out\ta data set of an HDF5 file\n"
        "coke cluster x.dat --raw f16:768 -k 1000 -o out\trows of 768 half floats, no header\n"
        "coke cluster x.npy -k 50 --min-sizes sizes.txt -o out\ta minimum size per cluster\n"
        "coke cluster x.npy --init centers.npy --min-sizes sizes.txt -o out\tthe same, cluster "
        "i "
        "grown from center i\n"
        "coke cluster new.npy --continue out -o out2\tgo on from a model with new rows\n"
        "coke cluster x.npy -k 1000 --fit-rows 1000000 -o out\tfit on a sample, label all "
        "rows\n"
        "make-vectors | coke cluster - -k 1000 --epochs 1 --no-repair -o out\tone pass over a "
        "stream, nothing spooled\n"
        "mpirun -n 4 coke cluster x.npy -k 1000 -o out\tfour processes, the same bytes\n"
        "coke cluster x.npy -k 1000 --print-config > c.json\tthe options, for --config c.json",
    .kind = {"cluster", "rows"},
    .hidden = "one-pass",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .joins = 1,
    .run = run,
};
