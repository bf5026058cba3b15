/* job.c - the whole clustering of rows: initial centers, epochs, final scan, repair. */
#include "cluster/job_internal.h"
#include "cluster/model.h"
#include "core/callbacks.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "core/workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ck_job_report(const struct ck_job *j, const char *phase, int64_t epoch, int64_t epochs,
                  int64_t done, int64_t total, double objective)
{
    return ck_progress(j->cb, &(struct coke_progress){.phase = phase,
                                                      .epoch = epoch,
                                                      .epochs = epochs,
                                                      .done = done,
                                                      .total = total,
                                                      .objective = objective});
}

/* ---- automatic options ---- */

/* Larger batches cost less per row (centers are repacked once per batch); smaller ones move the
 * centers sooner. docs/results.md has the measurements. */
static int64_t auto_batch(int64_t n, int64_t k, int levels)
{
    int64_t b = 256, most = levels == 2 ? 16384 : 4096; /* groups meet enough rows at once */
    while (b < most && b < 2 * k)
        b *= 2;
    while (b > 64 && b * 16 > n)
        b /= 2;
    return b;
}

/* Early assignments use single-row centers and would bias the means of the epoch. If a quarter
 * of the rows gives every cluster `enough` on average, close it as an epoch of its own and keep
 * only `carry` of its sums. */
static int64_t early_rows(const struct ck_job *j, int64_t k)
{
    const int64_t enough = 64;
    int64_t quarter = j->c->n / 4;
    if (j->c->o.kmeans.update != CK_UPDATE_MEAN || quarter < enough * k)
        return 0;
    return quarter / j->batch * j->batch;
}

/* Before any reading: contradictions in the options and sizes. */
static int check_input(const struct ck_job *j)
{
    struct ck_cluster_options *o = &j->c->o;
    const struct coke_rows *r = j->input->rows;
    int rc = ck_options_check(ck_cluster_option_table(), o);
    if (rc)
        return rc;
    CK_RETURN_IF(ck_job_check_from(j->input, &o->k));
    if (j->input->model)
        o->kmeans.metric = j->input->model->frame.metric;
    if (o->k.n < 1)
        return ck_fail(COKE_EUSAGE, "k: the number of clusters is missing (-k 100)");
    if (o->k.n > 1 && (j->input->min_sizes || j->input->max_sizes))
        return ck_fail(COKE_EUSAGE, "sizes from a file need a single k, not %d of them",
                       o->k.n);
    if (r->one_pass && (o->epochs != 1 || o->repair))
        return ck_fail(COKE_EUSAGE,
                       "a stream that is read once needs epochs=1 and repair=off");
    CK_RETURN_IF(ck_job_check_levels(j));
    for (int h = 0; h < o->k.n; h++)
        if (o->k.v[h] > r->n)
            return ck_fail(COKE_EUSAGE,
                           "%s: %d clusters for %lld rows: k must not exceed the rows", r->name,
                           o->k.v[h], (long long)r->n);
    return COKE_OK;
}

static int check_sizes(const int64_t *size, int64_t k, const char *what)
{
    for (int64_t i = 0; size && i < k; i++)
        if (size[i] < 0)
            return ck_fail(COKE_EUSAGE, "%s %lld is %lld; sizes are at least 0", what,
                           (long long)i, (long long)size[i]);
    return COKE_OK;
}

/* The dual step: given, or from tau (Theorem 1), or from the gap between best and second
 * center. */
static double choose_eta(const struct ck_job *j, int h, double gap)
{
    const struct ck_cluster_options *o = &j->c->o;
    int64_t k = o->k.v[h];
    if (o->kmeans.eta > 0)
        return o->kmeans.eta;
    if (o->kmeans.tau > 0) {
        double eta = o->kmeans.tau / sqrt(2 * (double)j->usable);
        ck_say(j->cb, "k=%lld: eta %.4g = tau/sqrt(2n)", (long long)k, eta);
        return eta;
    }
    gap *= ck_frame_scale(&j->c->scan.frame);
    double eta = ck_start_eta(gap, j->batch, k, j->usable);
    if (o->kmeans.ratio > 0 || o->kmeans.max_ratio > 0 || j->input->min_sizes ||
        j->input->max_sizes || j->input->keep_bounds)
        ck_say(
            j->cb,
            "k=%lld: eta %.4g: a quarter of the median lead %.4g of the best center over the "
            "second, "
            "for batches of %lld, %.3g rows per cluster and batch, %.3g per cluster and epoch",
            (long long)k, eta, gap, (long long)j->batch, (double)j->batch / (double)k,
            (double)j->usable / (double)k);
    return eta;
}

/* First centers [k][ld] of head h, the lead of the best one, and with two levels their tree. */
static int start_head(struct ck_job *j, int h, float *center, struct ck_tree **tree,
                      double *gap)
{
    struct coke_cluster *c = j->c;
    /* a different seed per head, or heads of equal k would be identical */
    uint64_t seed = (uint64_t)c->o.seed + ((uint64_t)h << 53);
    if (ck_job_levels(j, h) == 2)
        return ck_job_start_tree(j, h, seed, center, tree, gap);
    CK_RETURN_IF(ck_job_centers(j, h, (enum ck_init)c->o.init, seed, center));
    return ck_start_gap(&c->scan, (uint64_t)c->o.seed, center, c->o.k.v[h], gap);
}

/* The head is owned by c->head[h] until ck_multihead_new takes it. */
static int make_head(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    const int64_t *low = j->input->min_sizes, *high = j->input->max_sizes;
    int64_t k = c->o.k.v[h], *model_low = NULL, *model_high = NULL;
    int rc = COKE_ENOMEM;
    double gap;
    struct ck_tree *tree = NULL;
    float *center = ck_calloc_array((size_t)k, (size_t)c->scan.ld * sizeof *center);
    c->price[h] = ck_calloc_array((size_t)k, sizeof **c->price);
    c->size[h] = ck_calloc_array((size_t)k, sizeof **c->size);
    if (!center || !c->price[h] || !c->size[h])
        goto done;
    CK_TRY(check_sizes(low, k, "minimum size"));
    CK_TRY(check_sizes(high, k, "maximum size"));
    struct ck_kmeans_options o = c->o.kmeans;
    o.n = j->usable;
    o.k = k;
    o.dim = c->dim;
    CK_TRY(start_head(j, h, center, &tree, &gap));
    o.eta = choose_eta(j, h, gap);
    c->summary[h].size = sizeof c->summary[h];
    c->summary[h].eta = o.eta;
    for (int64_t i = 0; i < k; i++)
        ck_frame_center_out(&c->scan.frame, center + i * c->scan.ld, center + i * c->dim);
    CK_TRY(ck_job_sizes(j, &model_low, &model_high));
    CK_TRY(ck_kmeans_new_in(&c->head[h], &c->scan.frame, &o, center,
                            model_low ? model_low : low, model_high ? model_high : high));
    CK_TRY(ck_kmeans_set_ids(c->head[h], c->n)); /* includes skipped rows */
    ck_job_start_head(j, h);
    if (tree)
        ck_kmeans_set_tree(c->head[h], tree);
    tree = NULL;
done:
    ck_tree_free(tree);
    ck_free(center);
    ck_free(model_low);
    ck_free(model_high);
    return rc;
}

/* ---- epochs ---- */

/* Callbacks of the row source: run on several threads, write separate parts of id and x. */
static void name_rows(void *arg, int64_t at, int n)
{
    struct ck_job *j = arg;
    ck_order_rows(&j->order, (uint64_t)(j->first + at), n, j->id + at);
}

static int read_rows(void *arg, int64_t at, int n, float *x)
{
    struct ck_job *j = arg;
    return ck_scan_get(&j->c->scan, j->id + at, n, x);
}

/* The batch at positions first .. first + count - 1, without bad rows. */
static void take_batch(struct ck_job *j, int64_t first, int64_t count)
{
    j->first = first;
    j->n = count;
    if (!j->c->scan.bad)
        return;
    j->n = 0;
    ck_order_rows(&j->order, (uint64_t)first, (int)count, j->id);
    for (int64_t i = 0; i < count; i++)
        if (!ck_scan_is_bad(&j->c->scan, j->id[i]))
            j->id[j->n++] = j->id[i];
}

/* Counts neighbours with equal labels, for warn_if_sorted. */
static void look_for_sorting(struct ck_job *j)
{
    for (int64_t i = 1; i < j->n; i++)
        j->same_as_last += j->label[i] == j->label[i - 1];
    j->pairs += j->n - 1;
}

/* Objectives are summed per batch in row order, so that they do not depend on the team. */
static int run_batch(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    if (j->n == 0)
        return COKE_OK;
    struct ck_row_source source = {
        .name = c->scan.bad ? NULL : name_rows, /* else take_batch has chosen the rows */
        .read = read_rows,
        .arg = j,
        .in_order = c->scan.rows->one_pass};
    struct ck_row_batch b = {.n = j->n,
                             .x = j->x,
                             .ids = j->id,
                             .source = &source,
                             .label = j->label,
                             .score = j->score};
    CK_RETURN_IF(ck_multihead_run(c->multi, &b, &j->share));
    for (int h = 0; h < c->heads; h++) {
        double sum = 0;
        for (int64_t i = 0; i < j->n; i++)
            sum += (double)j->score[h * j->n + i];
        j->objective[h] += sum * ck_frame_scale(&c->scan.frame);
    }
    if (j->shuffle != CK_SHUFFLE_FULL)
        look_for_sorting(j);
    return COKE_OK;
}

/* With shuffle=block, announces the runs of a window to the source before the first batch that
 * reads from it (read-ahead). */
static int run_epoch(struct ck_job *j, int64_t epoch, int64_t epochs)
{
    struct coke_cluster *c = j->c;
    const int64_t window = (int64_t)CK_ORDER_RUN * CK_ORDER_WINDOW;
    memset(j->objective, 0, sizeof j->objective);
    j->same_as_last = j->pairs = 0;
    ck_order_init(&j->order, j->shuffle, (uint64_t)c->o.seed, (uint64_t)epoch, (uint64_t)c->n);
    int64_t done = 0;
    for (int64_t first = 0; first < c->n; first += j->batch) {
        int64_t left = c->n - first;
        if (c->scan.rows->will_need && j->shuffle == CK_SHUFFLE_BLOCK &&
            first % window < j->batch)
            for (int64_t run = 0; run < CK_ORDER_WINDOW; run++) {
                uint64_t at = (uint64_t)(first / window * CK_ORDER_WINDOW + run);
                if (at < j->order.blocks.n)
                    c->scan.rows->will_need(
                        c->scan.rows, (int64_t)ck_perm_at(&j->order.blocks, at) * CK_ORDER_RUN,
                        CK_ORDER_RUN);
            }
        if (epoch == 0 && first > 0 && first == j->early)
            ck_multihead_epoch_end(c->multi);
        take_batch(j, first, left < j->batch ? left : j->batch);
        int rc = run_batch(j);
        done += j->n;
        if (!rc)
            rc = ck_job_report(j, "epoch", epoch, epochs,
                               first + (left < j->batch ? left : j->batch), c->n,
                               done ? j->objective[0] / (double)done : 0);
        if (rc)
            return rc;
    }
    ck_multihead_epoch_end(c->multi);
    return ck_job_compare(j, epoch);
}

/* Without a full shuffle, sorted rows bias the online updates. Neighbours in a sorted file have
 * equal labels far more often than random pairs of rows would. */
static void warn_if_sorted(const struct ck_job *j)
{
    const struct coke_kmeans *km = j->c->head[0];
    double expected = 0;
    int64_t *count = ck_calloc_array((size_t)km->k, sizeof *count);
    if (!count || j->pairs < 100 || j->shuffle == CK_SHUFFLE_FULL)
        goto done;
    for (int64_t i = 0; i < j->c->n; i++) {
        int32_t l = ck_labels_get(&km->labels, i);
        if (l >= 0)
            count[l]++;
    }
    for (int64_t k = 0; k < km->k; k++)
        expected += pow((double)count[k] / (double)j->usable, 2);
    double seen = (double)j->same_as_last / (double)j->pairs;
    if (seen > 3 * expected && seen > expected + 0.1)
        ck_warn(j->cb,
                "the rows look sorted: %.0f %% of neighbours are in the same cluster, %.1f %% "
                "would be by "
                "chance; use shuffle=full, or shuffle the file",
                100 * seen, 100 * expected);
done:
    ck_free(count);
}

/* epochs=auto: stops when every head gained less than `tolerance` in two consecutive epochs. */
static int run_epochs(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    int64_t limit = c->o.epochs ? c->o.epochs : c->o.max_epochs, epoch = 0;
    double last[COKE_MAX_HEADS] = {0};
    int calm = 0, rc = COKE_OK;
    for (; epoch < limit && calm < 2; epoch++) {
        CK_TRY(run_epoch(j, epoch, c->o.epochs));
        if (epoch == 0)
            warn_if_sorted(j);
        int still = epoch > 0;
        for (int h = 0; h < c->heads; h++) {
            double now = j->objective[h], gain = now - last[h];
            gain = c->o.kmeans.metric == COKE_METRIC_EUCLIDEAN ? -gain : gain;
            still &= gain < c->o.tolerance * fabs(last[h]) || (gain == 0 && now == 0);
            last[h] = now;
            c->summary[h].objective = now / (double)j->usable;
        }
        calm = c->o.epochs || !still ? 0 : calm + 1;
    }
    for (int h = 0; h < c->heads; h++) {
        c->summary[h].epochs = epoch;
        c->summary[h].converged = calm == 2;
        c->summary[h].reads = (double)epoch;
    }
    if (c->o.epochs)
        ck_say(j->cb, "ended after %lld epoch%s, as requested", (long long)epoch,
               epoch == 1 ? "" : "s");
    else if (calm == 2)
        ck_say(j->cb,
               "ended after %lld epochs: the relative gain of the objective was below %g twice",
               (long long)epoch, c->o.tolerance);
    else
        ck_warn(
            j->cb,
            "ended at the limit of %lld epoch%s (max-epochs) before the objective converged",
            (long long)epoch, epoch == 1 ? "" : "s");
done:
    return rc;
}

/* ---- the job ---- */

/* Checks, sizes and buffers; bad rows are found here (one read over the file with bad=skip). */
static int prepare(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    const struct ck_kernels *kn = ck_kernels();
    int64_t most_k = 1;
    int rc = check_input(j);
    if (rc)
        return rc;
    c->n = j->input->rows->n;
    c->dim = j->input->rows->dim;
    c->heads = c->o.k.n;
    rc = ck_scan_init(&c->scan, j->input->rows, kn, j->input->weights, c->o.bad,
                      c->o.kmeans.metric);
    if (rc)
        return rc;
    j->usable = c->n - c->scan.nbad;
    if (c->scan.nbad)
        ck_warn(j->cb, "%lld of %lld rows %s NaN, infinity%s and %s skipped (label -1)",
                (long long)c->scan.nbad, (long long)c->n, c->scan.nbad == 1 ? "has" : "have",
                c->o.kmeans.metric == COKE_METRIC_COSINE ? " or only zeros" : "",
                c->scan.nbad == 1 ? "is" : "are");
    for (int h = 0; h < c->heads; h++)
        most_k = c->o.k.v[h] > most_k ? c->o.k.v[h] : most_k;
    if (most_k > j->usable)
        return ck_fail(COKE_EUSAGE, "%lld clusters for %lld usable rows", (long long)most_k,
                       (long long)j->usable);
    j->batch = c->o.batch ? c->o.batch : auto_batch(j->usable, most_k, ck_job_most_levels(j));
    j->batch = j->batch < c->n ? j->batch : c->n;
    j->early = early_rows(j, most_k);
    j->shuffle = c->scan.rows->one_pass
                     ? CK_SHUFFLE_NONE
                     : ck_shuffle_resolve((enum ck_shuffle)c->o.shuffle, c->scan.rows->bytes);
    CK_RETURN_IF(ck_job_agree(j));
    CK_RETURN_IF(ck_scan_fit(&c->scan, &j->share));
    CK_RETURN_IF(ck_job_cover_centers(j));
    size_t b = (size_t)j->batch, heads = (size_t)c->heads;
    j->id = ck_alloc_array(b, sizeof *j->id);
    j->x = ck_calloc_array(b + CK_TILE, (size_t)c->scan.ld * sizeof *j->x);
    j->label = ck_alloc_array(b * heads, sizeof *j->label);
    j->score = ck_alloc_array(b * heads, sizeof *j->score);
    return j->id && j->x && j->label && j->score ? COKE_OK : COKE_ENOMEM;
}

static int run_job(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    int rc;
    double t0 = ck_clock_seconds();
    CK_TRY(prepare(j));
    CK_TRY(ck_job_report(j, "init", 0, 0, 0, 1, 0));
    for (int h = 0; h < c->heads; h++)
        CK_TRY(make_head(j, h));
    CK_TRY(ck_multihead_new(&c->multi, c->head, c->heads));
    double t1 = ck_clock_seconds();
    if (!j->from)
        CK_TRY(run_epochs(j));
    double t2 = ck_clock_seconds();
    for (int h = 0; h < c->heads; h++)
        CK_TRY(c->scan.rows->one_pass ? ck_job_finish_stream(j, h) : ck_job_finish_head(j, h));
    double t3 = ck_clock_seconds();
    c->timing = (struct coke_timing){.init = t1 - t0,
                                     .epochs = t2 - t1,
                                     .final = t3 - t2,
                                     .total = t3 - t0,
                                     .vectors_per_second = (double)c->summary[0].epochs *
                                                           (double)j->usable / (t2 - t1)};
done:
    return rc;
}

int ck_job_run(struct coke_cluster **out, const struct coke_cluster_input *input,
               const struct ck_cluster_options *options, const struct coke_callbacks *callbacks,
               const struct ck_share *share, const struct coke_cluster *from)
{
    *out = NULL;
    struct coke_cluster *c = ck_calloc_array(1, sizeof *c);
    if (!c)
        return COKE_ENOMEM;
    c->o = *options;
    struct ck_job j = {.c = c,
                       .input = input,
                       .from = from,
                       .cb = callbacks,
                       .share = share ? *share : ck_share_alone()};
    int rc = run_job(&j);
    ck_free(j.id);
    ck_free(j.x);
    ck_free(j.label);
    ck_free(j.score);
    if (rc) {
        ck_cluster_free(c);
        return rc;
    }
    *out = c;
    return COKE_OK;
}

void ck_cluster_free(struct coke_cluster *c)
{
    if (!c)
        return;
    for (int h = 0; h < c->heads; h++) {
        if (!c->multi)
            ck_kmeans_free(c->head[h]);
        ck_free(c->price[h]);
        ck_free(c->size[h]);
        ck_free(c->center[h]);
        ck_free(c->group_center[h]);
        ck_free(c->group_first[h]);
    }
    ck_multihead_free(c->multi);
    ck_scan_release(&c->scan);
    ck_free(c);
}

void ck_cluster_labels(const struct coke_cluster *c, int h, int32_t *labels)
{
    for (int64_t i = 0; i < c->n; i++)
        labels[i] = ck_kmeans_label(c->head[h], i);
}
