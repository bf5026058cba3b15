/* cmd_demo_vectors.c - coke demo vectors: the effect of minimum sizes on generated vectors.
 *
 * Clusters the same vectors three times, with ratio 0, 0.4 and 1, and prints a table and a
 * histogram of the cluster sizes. */
#include "args.h"
#include "emit.h"
#include "progress.h"
#include "talk.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct arg args[] = {
    ARG_INT("n", 100000, 100, 100000000, NULL, "number of vectors"),
    ARG_INT("dim", 64, 2, 4096, NULL, "dimension of the vectors"),
    ARG_INT("k", 500, 2, 100000, NULL, "clusters in the data and in the result"),
    ARG_INT("seed", 1, 0, 9007199254740992.0, NULL, "seed of the data"),
    ARG_THREADS,
    ARG_JSON,
    ARG_QUIET,
};

/* Values of the options, once parsed. */
struct options {
    int64_t n, dim, k, seed;
    int quiet;
};

enum { RUNS = 3, BINS = 7, BAR = 14 };
static const double ratios[RUNS] = {0, 0.4, 1};

/* Upper ends of the bins of the histogram, as multiples of n/k. The first bin is for empty
 * clusters. */
static const double bin_end[BINS] = {0, 0.1, 0.4, 1, 2, 4, INFINITY};

struct result {
    struct coke_head_summary s;
    double seconds;
    int64_t empty, below; /* clusters without rows; below 0.4 n/k */
    int64_t bin[BINS];
};

/* ---- running ---- */

static void count_sizes(const struct options *o, const int64_t *size, struct result *r)
{
    double even = (double)o->n / (double)o->k;
    for (int64_t i = 0; i < o->k; i++) {
        double relative = (double)size[i] / even;
        int b = 0;
        r->empty += size[i] == 0;
        r->below += size[i] < (int64_t)floor(0.4 * even);
        /* bins include their lower end; the first holds only empty clusters */
        while (b < BINS - 1 && (b == 0 ? size[i] > 0 : relative >= bin_end[b]))
            b++;
        r->bin[b]++;
    }
}

/* Copies the summary: the result is freed before printing. */
static int measure(const struct options *o, const struct coke_cluster *c, struct result *r)
{
    int32_t *label = calloc((size_t)o->n, sizeof *label);
    int64_t *size = calloc((size_t)o->k, sizeof *size);
    int rc = label && size ? coke_cluster_labels(c, 0, label) : COKE_ENOMEM;
    r->s = *coke_cluster_summary(c, 0);
    r->seconds = coke_cluster_timing(c)->total;
    for (int64_t i = 0; i < o->n && !rc; i++)
        size[label[i]]++;
    if (!rc)
        count_sizes(o, size, r);
    free(label);
    free(size);
    return rc ? talk_fail(rc, "out of memory for %lld labels", (long long)o->n) : COKE_OK;
}

static int set_clustering(struct coke_options *c, const struct options *o, double ratio)
{
    int rc = coke_options_set_int(c, "k", o->k);
    if (!rc)
        rc = coke_options_set_float(c, "ratio", ratio);
    return rc ? rc : coke_options_set_int(c, "seed", o->seed);
}

/* One clustering. Messages about automatic options would interrupt the table: say is NULL. */
static int run_one(const struct options *o, struct coke_rows *rows, double ratio,
                   struct result *r)
{
    struct progress p;
    struct coke_options *options = NULL;
    struct coke_cluster_input input = {.size = sizeof input, .rows = rows};
    struct coke_cluster *c = NULL;
    progress_init(&p, o->quiet);
    p.quiet |= !p.terminal; /* takes a few seconds: a bar, but no log lines */
    struct coke_callbacks callbacks = progress_callbacks(&p);
    callbacks.say = NULL;
    int rc = coke_options_new(&options, "cluster");
    if (!rc)
        rc = set_clustering(options, o, ratio);
    if (!rc)
        rc = coke_cluster_run(&c, &input, options, &callbacks);
    coke_options_free(options);
    progress_end(&p);
    if (rc)
        return talk_fail(rc == COKE_ESTOPPED ? COKE_EFAIL : rc, "%s", coke_last_error());
    rc = measure(o, c, r);
    coke_cluster_free(c);
    return rc;
}

/* ---- printing ---- */

static int print_json(const struct options *o, const struct result *r)
{
    struct coke_json *j = coke_json_open(stdout, COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_int(j, "n", o->n);
    coke_json_put_int(j, "dim", o->dim);
    coke_json_begin_array(j, "runs");
    for (int i = 0; i < RUNS; i++) {
        coke_json_begin_object(j, NULL);
        coke_json_put_real(j, "ratio", ratios[i]);
        coke_json_put_real(j, "seconds", r[i].seconds);
        coke_json_put_int(j, "empty", r[i].empty);
        coke_json_put_int(j, "below_0.4", r[i].below);
        emit_head(j, &r[i].s);
        coke_json_end(j);
    }
    return emit_close(j);
}

/* One line per ratio. The gap is known only after a repair. */
static void print_rows(const struct options *o, const struct result *r)
{
    printf("%5s  %9s  %9s  %8s  %8s  %8s  %6s  %9s  %8s  %8s\n", "ratio", "objective",
           "of labels", "smallest", "median", "largest", "empty", "below .4*", "gap",
           "seconds");
    for (int i = 0; i < RUNS; i++) {
        char gap[16] = "-";
        if (r[i].s.repaired)
            snprintf(gap, sizeof gap, "%.2g", r[i].s.gap);
        printf("%5g  %9.4f  %9.4f  %8lld  %8lld  %8lld  %6lld  %9lld  %8s  %8.2f\n", ratios[i],
               r[i].s.objective, r[i].s.labels_objective, (long long)r[i].s.size_min,
               (long long)r[i].s.size_median, (long long)r[i].s.size_max, (long long)r[i].empty,
               (long long)r[i].below, gap, r[i].seconds);
    }
    printf("* clusters with fewer than .4 n/k = %.0f rows\n",
           floor(0.4 * (double)o->n / (double)o->k));
}

/* A bar of up to BAR cells, in eighths of a cell if the terminal can show UTF-8. pad: fill up
 * to the next column. */
static void print_bar(int64_t count, int64_t most, int utf8, int pad)
{
    static const char *const part[] = {"",       "\u258f", "\u258e", "\u258d",
                                       "\u258c", "\u258b", "\u258a", "\u2589"};
    int eighths = (int)ceil((double)(count * BAR * 8) / (double)most);
    int cells = eighths / 8 + (eighths % 8 > 0);
    for (int i = 0; i < cells; i++)
        fputs(!utf8 ? "#" : i < eighths / 8 ? "\u2588" : part[eighths % 8], stdout);
    printf(" %-*lld", pad ? BAR - cells + 6 : 0, (long long)count);
}

/* "12 to 47": the bounds of bin b in rows. */
static void name_bin(int b, double even, char *out, size_t size)
{
    if (b == 0)
        snprintf(out, size, "empty");
    else if (b == BINS - 1)
        snprintf(out, size, "%.0f and more", ceil(bin_end[b - 1] * even));
    else
        snprintf(out, size, "%.0f to %.0f", fmax(1, ceil(bin_end[b - 1] * even)),
                 ceil(bin_end[b] * even) - 1);
}

/* All bars have the same scale, so that the three columns can be compared. */
static void print_histogram(const struct options *o, const struct result *r)
{
    int utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    int64_t most = 1;
    char name[48];
    for (int i = 0; i < RUNS * BINS; i++)
        most = r[i / BINS].bin[i % BINS] > most ? r[i / BINS].bin[i % BINS] : most;
    printf("\n%-16s", "rows in cluster");
    for (int i = 0; i < RUNS; i++)
        printf("ratio %-*g", i + 1 < RUNS ? BAR + 1 : 0, ratios[i]);
    printf("\n");
    for (int b = 0; b < BINS; b++) {
        name_bin(b, (double)o->n / (double)o->k, name, sizeof name);
        printf("%-16s", name);
        for (int i = 0; i < RUNS; i++)
            print_bar(r[i].bin[b], most, utf8, i + 1 < RUNS);
        printf("\n");
    }
}

static void print_table(const struct options *o, const struct result *r)
{
    printf("%lld vectors of %lld columns around %lld directions of very unequal size, in %lld "
           "clusters\n\n",
           (long long)o->n, (long long)o->dim, (long long)o->k, (long long)o->k);
    print_rows(o, r);
    print_histogram(o, r);
    printf(
        "\nratio 0 is k-means without bounds: %lld of %lld clusters stay below .4 n/k, and "
        "the largest "
        "takes %.1f %% of the rows.\n"
        "With a bound every cluster has its minimum size; the mean cosine changes by %+.2f %% "
        "(ratio .4) and %+.2f %% (ratio 1).\n",
        (long long)r[0].below, (long long)o->k, 100 * (double)r[0].s.size_max / (double)o->n,
        100 * (r[1].s.labels_objective / r[0].s.labels_objective - 1),
        100 * (r[2].s.labels_objective / r[0].s.labels_objective - 1));
}

/* ---- the command ---- */

/* x [n][dim] is filled here and borrowed by the rows. */
static int demonstrate(const struct options *o, int json, float *x)
{
    struct result result[RUNS] = {0};
    struct coke_rows *rows = NULL;
    int rc = coke_synthetic_fill(x, o->n, (int32_t)o->dim, (int32_t)o->k, (uint64_t)o->seed);
    if (!rc)
        rc = coke_rows_from_array(&rows, x, o->n, (int32_t)o->dim);
    if (rc)
        return talk_fail_library(rc);
    for (int i = 0; i < RUNS && !rc; i++)
        rc = run_one(o, rows, ratios[i], &result[i]);
    coke_rows_free(rows);
    if (rc)
        return rc;
    if (json)
        return print_json(o, result);
    print_table(o, result);
    return COKE_OK;
}

static int run(struct args *a, int n, const char *const *operands)
{
    const struct options o = {.n = args_number(a, "n"),
                              .dim = args_number(a, "dim"),
                              .k = args_number(a, "k"),
                              .seed = args_number(a, "seed"),
                              .quiet = args_flag(a, "quiet")};
    if (n)
        return talk_fail(COKE_EUSAGE,
                         "unexpected operand '%s': the demo generates its own data",
                         operands[0]);
    int rc = args_use_threads(a);
    if (rc)
        return rc;
    /* for nl_langinfo, which tells whether the terminal takes UTF-8 */
    setlocale(LC_CTYPE, "");
    float *x = calloc((size_t)o.n, (size_t)o.dim * sizeof *x);
    if (!x)
        return talk_fail(COKE_ENOMEM, "out of memory for %lld x %lld vectors", (long long)o.n,
                         (long long)o.dim);
    rc = demonstrate(&o, args_flag(a, "json"), x);
    free(x);
    return rc;
}

const struct command cmd_demo_vectors = {
    .name = "demo vectors",
    .usage = "[options]",
    .summary = "cluster generated vectors with ratio 0, 0.4 and 1, and compare",
    .about =
        "Generates vectors around directions of very unequal frequency, clusters them with "
        "minimum sizes 0, 0.4 n/k and n/k, and compares objectives and sizes.",
    .examples = "coke demo vectors\ta few seconds\n"
                "coke demo vectors -n 1000000 -k 1000\ta larger one",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
