/* cmd_eval.c - coke eval knn, cluster: an encoder without further training, against known
 * classes.
 *
 * Both are deterministic: the same files give the same figures. Fractions are printed in
 * percent as text and as 0..1 in JSON. */
#include "eval_vectors.h"
#include "exam.h"
#include "talk.h"

#include <math.h>
#include <stdlib.h>

/* ---- knn ---- */

static const struct arg knn_args[] = {
    ARG_TEST,
    ARGS_TRAINED,
};

/* One accuracy per number of neighbours, keyed by that number. */
static void emit_accuracy(struct coke_json *j, const char *name,
                          const struct coke_knn_result *r, const double *accuracy)
{
    coke_json_begin_object(j, name);
    for (int i = 0; i < r->n; i++) {
        char key[24];
        snprintf(key, sizeof key, "%lld", (long long)r->k[i]);
        coke_json_put_real(j, key, accuracy[i]);
    }
    coke_json_end(j);
}

static int print_knn_json(const struct exam *x, const struct coke_knn_result *r)
{
    struct coke_json *j = coke_json_open(stdout, COKE_JSON_STYLE_PRETTY);
    exam_begin_json(j, x, args_text(x->a, "test"),
                    r->leave_one_out ? "knn, leave one out" : "knn");
    coke_json_put_real(j, "temperature", args_real(x->a, "temperature"));
    coke_json_put_int(j, "bank_images", r->bank);
    coke_json_put_int(j, "test_images", r->asked);
    coke_json_put_int(j, "bad", r->bad);
    coke_json_put_int(j, "classes", r->classes);
    emit_accuracy(j, "accuracy", r, r->accuracy);
    if (r->views > 1) {
        coke_json_put_int(j, "views", r->views);
        emit_accuracy(j, "views_accuracy", r, r->views_accuracy);
    }
    return emit_close(j);
}

/* Leave-one-out has one voter less; larger k then use all of them. */
static void print_knn(const struct exam *x, const struct coke_knn_result *r)
{
    const char *test = args_text(x->a, "test");
    exam_print_about(x);
    printf(": %lld images vote on %lld", (long long)r->bank, (long long)r->asked);
    if (r->leave_one_out)
        printf(" of them, each without its own vote");
    else
        printf(" of %s", test ? test : "its test split");
    printf("; %d classes\n", r->classes);
    printf("%-10scosine, temperature %g; deterministic\n", "protocol",
           args_real(x->a, "temperature"));
    exam_print_bad(r->bad);
    int64_t most = r->bank - (r->leave_one_out != 0);
    for (int i = 0; i < r->n; i++) {
        printf("k-NN %-6lld %6.2f", (long long)r->k[i], 100 * r->accuracy[i]);
        if (r->views > 1)
            printf("  %lld views %6.2f", (long long)r->views, 100 * r->views_accuracy[i]);
        puts(r->k[i] > most ? "  (fewer exist: all vote)" : "");
    }
}

static int run_knn(struct args *a, int n, const char *const *operands)
{
    struct exam x = {0};
    struct coke_knn_result result = COKE_INIT(struct coke_knn_result);
    int rc = exam_open(&x, a, n, operands);
    if (!rc) {
        rc = coke_eval_knn(&x.in, args_options(a, "knn"), &result);
        progress_end(&x.bar);
        if (rc)
            rc = trained_fail(rc);
        else if (args_flag(a, "json"))
            rc = print_knn_json(&x, &result);
        else
            print_knn(&x, &result);
    }
    exam_close(&x);
    return rc;
}

const struct command cmd_eval_knn = {
    .name = "eval knn",
    .usage = "RUN DATA [--test DATA2] [options]",
    .summary = "evaluate an encoder by nearest neighbours",
    .about =
        "Every test image gets the class that its nearest train images vote for, weighted "
        "by cosine. Without test images every train image is classified by the others. " SPLITS
            RUN_IS DATA_IS,
    .examples = "coke eval knn run data/cifar10\t20 and 200 neighbours\n"
                "coke eval knn run photos/train --test photos/val --json\tfor programs\n"
                "coke eval knn --weights resnet18.safetensors photos\ta torchvision ResNet",
    .kind = {"knn", "use", "dataset"},
    .hidden = EXAM_HIDDEN,
    .arg = knn_args,
    .nargs = ARG_COUNT(knn_args),
    .run = run_knn,
};

/* ---- cluster ---- */

enum { SPLIT_AUTO, SPLIT_TRAIN, SPLIT_TEST };

static const struct arg cluster_args[] = {
    ARG_CHOICE("split", "auto|train|test", 2,
               "which part of DATA; auto: the test split if it has one"),
    ARGS_EVAL_VECTORS,
    ARGS_TRAINED,
};

/* Results of several runs, which are trials of one training: head h of one run corresponds to
 * head h of the others. */
struct trials {
    int runs;
    struct coke_clusters_result *result; /* [runs] */
};

enum { ACC, MANY, NMI, ARI, MEASURES };
static const char *const measure_key[] = {"acc", "many_to_one", "nmi", "ari"};

/* Value m of a head, in the order of measure_key. */
static double measure(const struct coke_head_scores *h, int m)
{
    const double value[] = {h->accuracy, h->many_to_one, h->nmi, h->ari};
    return value[m];
}

/* Mean and sample deviation of measure m of one head over the runs. Two scans over the runs: no
 * cancellation. */
static void sum_up(const struct trials *t, int head, int m, double *mean, double *deviation)
{
    double sum = 0, square = 0;
    for (int r = 0; r < t->runs; r++)
        sum += measure(&t->result[r].head[head], m);
    *mean = sum / t->runs;
    for (int r = 0; r < t->runs; r++) {
        double d = measure(&t->result[r].head[head], m) - *mean;
        square += d * d;
    }
    *deviation = t->runs > 1 ? sqrt(square / (t->runs - 1)) : 0;
}

/* Means make sense only if all runs have the same number of heads and clusters. */
static int same_heads(const struct trials *t)
{
    for (int r = 1; r < t->runs; r++) {
        if (t->result[r].heads != t->result[0].heads)
            return 0;
        for (int h = 0; h < t->result[0].heads; h++)
            if (t->result[r].head[h].k != t->result[0].head[h].k)
                return 0;
    }
    return 1;
}

static void print_heads(const struct coke_clusters_result *r,
                        const struct coke_head_scores *head)
{
    printf("head      K      ACC  many-to-one    NMI    ARI\n");
    for (int h = 0; h < r->heads; h++)
        printf("%4d %6lld   %6.2f       %6.2f %6.2f %6.2f%s\n", h, (long long)head[h].k,
               100 * head[h].accuracy, 100 * head[h].many_to_one, 100 * head[h].nmi,
               100 * head[h].ari, h == r->matched ? "  <- K = classes" : "");
}

static void print_cluster(const struct exam *x, const char *split,
                          const struct coke_clusters_result *r)
{
    exam_print_about(x);
    printf("%s%s: %lld images, %d classes\n", *split ? ", " : "", split, (long long)r->images,
           r->classes);
    printf("%-10scluster: nearest center of the last epoch; deterministic\n", "protocol");
    exam_print_bad(r->bad);
    print_heads(r, r->head);
    if (r->views > 1) {
        printf("means of %lld views\n", (long long)r->views);
        print_heads(r, r->views_head);
    }
}

static void print_trials(const struct trials *t)
{
    printf("mean and deviation of %d runs\n", t->runs);
    for (int h = 0; h < t->result[0].heads; h++) {
        printf("%4d %6lld ", h, (long long)t->result[0].head[h].k);
        for (int m = 0; m < MEASURES; m++) {
            double mean, deviation;
            sum_up(t, h, m, &mean, &deviation);
            printf("  %s %.2f +- %.2f", measure_key[m], 100 * mean, 100 * deviation);
        }
        printf("%s\n", h == t->result[0].matched ? "  <- K = classes" : "");
    }
}

static void emit_heads(struct coke_json *j, const char *key,
                       const struct coke_head_scores *head, int n)
{
    coke_json_begin_array(j, key);
    for (int h = 0; h < n; h++) {
        coke_json_begin_object(j, NULL);
        coke_json_put_int(j, "k", head[h].k);
        for (int m = 0; m < MEASURES; m++)
            coke_json_put_real(j, measure_key[m], measure(&head[h], m));
        coke_json_end(j);
    }
    coke_json_end(j);
}

/* One object per run; fractions as 0..1. */
static void emit_cluster(struct coke_json *j, const struct exam *x, const char *split,
                         const struct coke_clusters_result *r)
{
    exam_begin_json(j, x, NULL, "cluster");
    coke_json_put_text(j, "split", split);
    coke_json_put_int(j, "images", r->images);
    coke_json_put_int(j, "bad", r->bad);
    coke_json_put_int(j, "classes", r->classes);
    coke_json_put_int(j, "matched", r->matched);
    emit_heads(j, "heads", r->head, r->heads);
    if (r->views > 1) {
        coke_json_put_int(j, "views", r->views);
        emit_heads(j, "views_heads", r->views_head, r->heads);
    }
    coke_json_end(j);
}

static void emit_trials(struct coke_json *j, const struct trials *t)
{
    coke_json_begin_array(j, "mean");
    for (int h = 0; h < t->result[0].heads; h++) {
        coke_json_begin_object(j, NULL);
        coke_json_put_int(j, "k", t->result[0].head[h].k);
        for (int m = 0; m < MEASURES; m++) {
            double mean, deviation;
            char key[32];
            sum_up(t, h, m, &mean, &deviation);
            snprintf(key, sizeof key, "%s_deviation", measure_key[m]);
            coke_json_put_real(j, measure_key[m], mean);
            coke_json_put_real(j, key, deviation);
        }
        coke_json_end(j);
    }
    coke_json_end(j);
}

/* Opens the images to evaluate; *split is the name of the split, "" if the data set has none.
 * The train split is opened first, because only an open data set knows whether it has a test
 * split. */
static int open_images(struct exam *x, const char **split)
{
    int rc = COKE_OK, which = (int)args_number(x->a, "split");
    *split = "";
    if (which != SPLIT_TEST)
        rc = exam_open_split(&x->in.test, x, x->source, "train");
    int has = which == SPLIT_TEST || (!rc && coke_dataset_has_split(x->in.test));
    if (rc || !has)
        return rc;
    *split = which == SPLIT_TRAIN ? "train" : "test";
    if (which == SPLIT_TRAIN)
        return COKE_OK;
    coke_dataset_free(x->in.test);
    x->in.test = NULL;
    return exam_open_split(&x->in.test, x, x->source, "test");
}

/* One run: opens it with its data, evaluates, prints or appends to j. With --weights the run is
 * NULL and the data set the only operand. */
static int judge_run(struct args *a, const char *run, const char *source, struct coke_json *j,
                     struct coke_clusters_result *out)
{
    struct exam x = {0};
    const char *operands[] = {run, source}, *split = "";
    out->size = sizeof *out;
    int weights = args_text(a, "weights") != NULL;
    int rc = exam_open_run(&x, a, weights ? 1 : 2, operands + weights);
    if (!rc)
        rc = open_images(&x, &split);
    if (!rc) {
        rc = coke_eval_cluster(&x.in, out);
        progress_end(&x.bar);
        if (rc)
            rc = trained_fail(rc);
        else if (j)
            emit_cluster(j, &x, split, out);
        else
            print_cluster(&x, split, out);
    }
    exam_close(&x);
    return rc;
}

/* Reports a missing run before any of the others is evaluated. */
static int check_runs(const struct args *a, int n, const char *const *path)
{
    int rc = COKE_OK;
    for (int i = 0; i < n && n > 1 && !rc; i++) {
        struct coke_run *run = NULL;
        rc = coke_run_open(&run, path[i], args_options(a, "use"));
        coke_run_free(run);
    }
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* The mean over several runs that have the same heads. */
static void print_mean(const struct trials *t, struct coke_json *j)
{
    if (!same_heads(t))
        talk_line("coke: ", "no mean: the runs differ in their numbers of clusters");
    else if (j)
        emit_trials(j, t);
    else
        print_trials(t);
}

/* operands: the runs, then DATA. Ends at the first failure, but closes the JSON. */
static int judge_all(struct args *a, struct trials *t, const char *const *operands)
{
    int rc = check_runs(a, t->runs, operands), several = t->runs > 1;
    if (rc)
        return rc;
    struct coke_json *j =
        args_flag(a, "json") ? coke_json_open(stdout, COKE_JSON_STYLE_PRETTY) : NULL;
    if (several) {
        coke_json_begin_object(j, NULL);
        coke_json_begin_array(j, "runs");
    }
    for (int r = 0; r < t->runs && !rc; r++)
        rc = judge_run(a, operands[r], operands[t->runs], j, &t->result[r]);
    if (several)
        coke_json_end(j);
    if (several && !rc)
        print_mean(t, j);
    int written = j ? emit_close(j) : COKE_OK;
    return rc ? rc : written;
}

/* --weights takes the place of the runs: `one` shifts the operands accordingly. */
static int run_cluster(struct args *a, int n, const char *const *operands)
{
    if (eval_vectors_wanted(a))
        return eval_vectors(a, n, operands);
    int weights = args_text(a, "weights") != NULL;
    struct trials t = {.runs = weights ? n : n - 1};
    const char *one[2] = {NULL, n ? operands[0] : NULL};
    if (t.runs < 1 || (weights && n != 1))
        return talk_fail(COKE_EUSAGE, "missing run or data set; 'coke eval cluster --help' has "
                                      "examples");
    t.result = calloc((size_t)t.runs, sizeof *t.result);
    int rc = t.result ? judge_all(a, &t, weights ? one : operands)
                      : talk_fail(COKE_ENOMEM, "out of memory");
    free(t.result);
    return rc;
}

const struct command cmd_eval_cluster = {
    .name = "eval cluster",
    .usage = "RUN... DATA | OUT [--classes FILE] [--vectors FILE...] [options]",
    .summary = "compare clusters with known classes, or the silhouettes of several k",
    .about =
        "Assigns every image to the nearest center, without further training. ACC is the "
        "best one-to-one matching of clusters and classes, many-to-one maps every cluster "
        "to its most frequent class, NMI is normalised by the mean of the two entropies. All "
        "heads are listed; the one with as many clusters as there are classes is marked. "
        "Several runs are trials of one training: mean and deviation. With --classes or "
        "--vectors, OUT is the folder of 'coke cluster', whose labels are compared with the "
        "classes of the rows; the silhouette, exact over a sample of the rows, tells how much "
        "nearer a row is to its own cluster than to the next one, from -1 to 1: of several k, "
        "choose one where it is high. " RUN_IS DATA_IS,
    .examples = "coke eval cluster run data/cifar10\tthe test split\n"
                "coke eval cluster run data/cifar100 --coarse --json\tthe 20 super-classes\n"
                "coke eval cluster run1 run2 run3 data/cifar10\tmean and deviation\n"
                "coke eval cluster out --classes classes.txt\tof 'coke cluster x.npy -o out'\n"
                "coke eval cluster out --vectors x.npy\tsilhouettes, of 'coke cluster x.npy -k "
                "10,20,50 -o out'\n"
                "coke eval cluster out --vectors x.dat --raw f16:768\tthe same, rows without a "
                "header",
    .kind = {"use", "dataset", "rows"},
    .hidden = EXAM_HIDDEN,
    .arg = cluster_args,
    .nargs = ARG_COUNT(cluster_args),
    .run = run_cluster,
};
