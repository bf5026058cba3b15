/* job.c - the whole clustering of rows: starts, each with initial centers, epochs and an end. */
#include "cluster/hints.h"
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

static const double GUIDE = 0.4;

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

/* What sets sizes besides balanced, or NULL. The default ratio may come from a saved list of all
 * options. */
static const char *other_sizes(const struct ck_job *j)
{
    const struct ck_kmeans_options *o = &j->c->o.kmeans;
    if (o->max_ratio > 0)
        return "max-ratio";
    if (o->ratio != ck_cluster_options_default().kmeans.ratio && o->ratio != 1)
        return "ratio";
    return j->input->min_sizes || j->input->max_sizes ? "the files of sizes" : NULL;
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
    if (o->balanced && other_sizes(j))
        return ck_fail(COKE_EUSAGE, "balanced sets all sizes: leave out %s", other_sizes(j));
    if (r->one_pass && (o->epochs != 1 || o->repair))
        return ck_fail(COKE_EUSAGE, "a stream that is read once needs epochs=1 and repair=off");
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

/* Centers that start badly stay with few rows or none where the bounds are low. Duals that work
 * towards GUIDE n/k, until the objective has nearly converged with them, give every center its
 * share first. Not where centers are given, which stay what they are, nor on a stream, which has
 * its labels from its only epoch. */
static void start_guide(struct ck_job *j, int h)
{
    j->guided[h] = j->c->o.kmeans.ratio < GUIDE && !j->input->min_sizes &&
                   !j->c->scan.rows->one_pass && !j->c->head[h]->tree &&
                   ck_job_most_starts(j, 2) > 1;
    if (j->guided[h])
        ck_kmeans_guide(j->c->head[h], GUIDE);
}

/* Prices that are near their values after few epochs, for the repair: the average is that of the end
 * of an epoch, and where an automatic step starts from duals of 0 and the bounds leave slack, first
 * steps are longer. With tight bounds, prices that went too far have to come back. Few rows in memory
 * do without. */
static void hasten_duals(struct ck_job *j, int h)
{
    const double visits = 50, tight = 0.9;
    const struct ck_kmeans_options *o = &j->c->o.kmeans;
    struct coke_kmeans *km = j->c->head[h];
    double low = 0;
    if (km->tree || j->guided[h] || ck_polish_in_memory(j, h))
        return;
    for (int64_t k = 0; k < km->k; k++)
        low += km->duals.min_size[k];
    int chosen = !(o->eta > 0) && !(o->tau > 0) && ck_job_most_starts(j, 2) > 1;
    km->duals.warm = chosen && !km->max_size && low < tight ? visits : 0;
    km->duals.late = 1;
}

/* First centers [k][ld] of head h, the lead of the best one, and with two levels their tree. */
static int start_head(struct ck_job *j, int h, uint64_t seed, float *center,
                      struct ck_tree **tree, double *gap)
{
    struct coke_cluster *c = j->c;
    if (ck_job_levels(j, h) == 2)
        return ck_job_start_tree(j, h, seed, center, tree, gap);
    CK_RETURN_IF(ck_job_centers(j, h, ck_polish_init(j, h), seed, center));
    return ck_start_gap(&c->scan, (uint64_t)c->o.seed, center, c->o.k.v[h], gap);
}

/* Different per head and start, or heads of equal k would be identical. */
uint64_t ck_job_seed(const struct ck_job *j, int h, int64_t start)
{
    return (uint64_t)j->c->o.seed + ((uint64_t)h << 53) +
           (uint64_t)start * UINT64_C(0x9e3779b97f4a7c15);
}

/* First centers and dual step of the first start, which draws them, or of a later one, which
 * changes some of the best so far and goes on from its prices. */
static int begin_head(struct ck_job *j, int h, float *center, struct ck_tree **tree)
{
    struct coke_cluster *c = j->c;
    struct coke_head_summary *s = &c->summary[h];
    int64_t k = c->o.k.v[h];
    double gap;
    uint64_t seed = ck_job_seed(j, h, j->start);
    if (j->start > 0) {
        const struct coke_kmeans *km = j->best[h].head;
        struct ck_best best = {km->prev, km->count};
        *s = j->best[h].summary;
        s->restarts++;
        s->polish = s->settled = 0;
        s->reads = 0;
        memcpy(c->price[h], j->best[h].price, (size_t)k * sizeof **c->price);
        memcpy(c->size[h], j->best[h].size, (size_t)k * sizeof **c->size);
        return ck_restart_centers(j, h, &best, seed, center);
    }
    *s = (struct coke_head_summary){.size = sizeof *s, .restarts = 1};
    CK_RETURN_IF(start_head(j, h, seed, center, tree, &gap));
    s->eta = choose_eta(j, h, gap);
    return COKE_OK;
}

static int make_head(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    const int64_t *low = j->input->min_sizes, *high = j->input->max_sizes;
    int64_t k = c->o.k.v[h], *model_low = NULL, *model_high = NULL;
    int rc = COKE_ENOMEM;
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
    CK_TRY(begin_head(j, h, center, &tree));
    o.eta = c->summary[h].eta;
    for (int64_t i = 0; i < k; i++)
        ck_frame_center_out(&c->scan.frame, center + i * c->scan.ld, center + i * c->dim);
    CK_TRY(ck_job_sizes(j, &model_low, &model_high));
    CK_TRY(ck_kmeans_new_in(&c->head[h], &c->scan.frame, &o, center,
                            model_low ? model_low : low, model_high ? model_high : high));
    CK_TRY(ck_kmeans_set_ids(c->head[h], c->n)); /* includes skipped rows */
    if (tree)
        ck_kmeans_set_tree(c->head[h], tree);
    tree = NULL;
    if (j->start == 0) {
        ck_job_start_head(j, h);
        start_guide(j, h);
        hasten_duals(j, h);
    }
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
    CK_RETURN_IF(ck_batch_run(j->head, j->running, &b, &j->share, &j->scratch));
    j->rows += j->n;
    for (int h = 0; h < j->running; h++) {
        double sum = 0;
        for (int64_t i = 0; i < j->n; i++)
            sum += (double)j->score[h * j->n + i];
        j->objective[j->which[h]] += sum * ck_frame_scale(&c->scan.frame);
    }
    if (j->shuffle != CK_SHUFFLE_FULL)
        look_for_sorting(j);
    return COKE_OK;
}

/* All heads that run. */
static int end_epoch(struct ck_job *j)
{
    for (int h = 0; h < j->running; h++)
        CK_RETURN_IF(ck_kmeans_epoch_end(j->head[h]));
    return COKE_OK;
}

/* That of the first head, which stays when this head has ended before the others. */
static double shown_objective(const struct ck_job *j, int64_t done)
{
    if (j->which[0] > 0)
        return j->c->summary[0].objective;
    return done ? j->objective[0] / (double)done : 0;
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
            CK_RETURN_IF(end_epoch(j));
        take_batch(j, first, left < j->batch ? left : j->batch);
        int rc = run_batch(j);
        done += j->n;
        if (!rc)
            rc = ck_job_report(j, "epoch", epoch, epochs,
                               first + (left < j->batch ? left : j->batch), c->n,
                               shown_objective(j, done));
        if (rc)
            return rc;
    }
    CK_RETURN_IF(end_epoch(j));
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

/* What the epochs of a head have come to. */
struct course {
    double last; /* objective */
    int calm;    /* epochs without a gain to speak of */
};

/* After an epoch of head h, `left` of which remain: is it done? A guide ends first. */
static int is_done(struct ck_job *j, int h, struct course *o, int64_t epoch, int64_t left)
{
    struct coke_cluster *c = j->c;
    double now = j->objective[h], gain = now - o->last;
    gain = c->o.kmeans.metric == COKE_METRIC_EUCLIDEAN ? -gain : gain;
    int still = epoch > 0 && (gain < c->o.tolerance * fabs(o->last) || (gain == 0 && now == 0));
    int slow = epoch > 0 && gain < 10 * c->o.tolerance * fabs(o->last);
    o->last = now;
    c->summary[h].objective = now / (double)j->usable;
    c->summary[h].epochs = epoch + 1;
    c->summary[h].reads = (double)epoch + 1;
    if (j->guided[h] && (c->o.epochs ? left <= c->o.epochs / 2 : slow || left <= 3)) {
        ck_kmeans_guide(c->head[h], c->o.kmeans.ratio);
        j->guided[h] = still = 0;
    }
    o->calm = c->o.epochs || !still ? 0 : o->calm + 1;
    c->summary[h].converged = o->calm == 2;
    return o->calm == 2;
}

static void say_end(const struct ck_job *j, int64_t limit)
{
    const struct coke_cluster *c = j->c;
    int64_t most = 0;
    int all = 1;
    for (int h = 0; h < c->heads; h++) {
        most = c->summary[h].epochs > most ? c->summary[h].epochs : most;
        all &= c->summary[h].converged;
    }
    if (c->o.epochs)
        ck_say(j->cb, "ended after %lld epoch%s, as requested", (long long)limit,
               limit == 1 ? "" : "s");
    else if (all)
        ck_say(j->cb,
               "ended after %lld epochs: the relative gain of the objective was below %g twice",
               (long long)most, c->o.tolerance);
    else
        ck_warn(
            j->cb,
            "ended at the limit of %lld epoch%s (max-epochs) before the objective converged",
            (long long)limit, limit == 1 ? "" : "s");
}

/* epochs=auto: a head stops when it gained less than `tolerance` in two consecutive epochs; the
 * others go on without it. */
static int run_epochs(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    int64_t limit = c->o.epochs ? c->o.epochs : c->o.max_epochs;
    struct course course[COKE_MAX_HEADS] = {{0}};
    for (int64_t epoch = 0; epoch < limit && j->running; epoch++) {
        CK_RETURN_IF(run_epoch(j, epoch, c->o.epochs));
        if (epoch == 0)
            warn_if_sorted(j);
        int left = 0;
        for (int i = 0; i < j->running; i++) {
            int h = j->which[i];
            if (is_done(j, h, &course[h], epoch, limit - epoch - 1))
                continue;
            j->which[left] = h;
            j->head[left++] = c->head[h];
        }
        j->running = left;
    }
    say_end(j, limit);
    return COKE_OK;
}

/* ---- the job ---- */

/* Checks, sizes and buffers; bad rows are found here (one read over the file with bad=skip). */
static int prepare(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    const struct ck_kernels *kn = ck_kernels();
    int64_t most_k = 1;
    CK_RETURN_IF(check_input(j));
    if (c->o.balanced)
        c->o.kmeans.ratio = c->o.kmeans.max_ratio = 1;
    c->n = j->input->rows->n;
    c->dim = j->input->rows->dim;
    c->heads = c->o.k.n;
    CK_RETURN_IF(ck_scan_init(&c->scan, j->input->rows, kn, j->input->weights, c->o.bad,
                              c->o.kmeans.metric));
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
    CK_RETURN_IF(ck_hints_give(&c->scan, (uint64_t)c->o.seed, j->cb));
    CK_RETURN_IF(ck_scan_fit(&c->scan, &j->share));
    CK_RETURN_IF(ck_job_cover_centers(j));
    size_t b = (size_t)j->batch, heads = (size_t)c->heads;
    j->id = ck_alloc_array(b, sizeof *j->id);
    j->x = ck_calloc_array(b + CK_TILE, (size_t)c->scan.ld * sizeof *j->x);
    j->label = ck_alloc_array(b * heads, sizeof *j->label);
    j->score = ck_alloc_array(b * heads, sizeof *j->score);
    return j->id && j->x && j->label && j->score ? COKE_OK : COKE_ENOMEM;
}

static void free_found(struct ck_found *f)
{
    ck_kmeans_free(f->head);
    ck_free(f->price);
    ck_free(f->center);
    ck_free(f->size);
    *f = (struct ck_found){0};
}

/* Exchanges the present state of head h with the best one. */
static void swap_found(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    struct ck_found f = {c->head[h],   c->summary[h], c->price[h],
                         c->center[h], c->size[h],    j->fit[h]};
    c->head[h] = j->best[h].head;
    c->summary[h] = j->best[h].summary;
    c->price[h] = j->best[h].price;
    c->center[h] = j->best[h].center;
    c->size[h] = j->best[h].size;
    j->fit[h] = j->best[h].fit;
    j->best[h] = f;
}

/* Keeps the better one of this start and those before, the earlier of equals. After a failure the
 * next one changes fewer centers. */
static void keep_better(struct ck_job *j, int h)
{
    struct coke_head_summary *now = &j->c->summary[h], *best = &j->best[h].summary;
    double reads = now->reads + best->reads;
    int64_t restarts = now->restarts;
    int64_t half = j->redraw[h] / 2;
    if (!j->best[h].head || j->fit[h] > j->best[h].fit) {
        swap_found(j, h);
        j->failures[h] = 0;
    } else {
        j->redraw[h] = half > 1 ? half : 1;
        j->failures[h]++;
    }
    if (ck_polish_gives_up(j, h))
        j->starts[h] = j->start + 1;
    struct ck_found rest = {j->c->head[h],   {0},           j->c->price[h],
                            j->c->center[h], j->c->size[h], 0};
    free_found(&rest);
    j->c->head[h] = NULL;
    j->c->price[h] = j->c->center[h] = NULL;
    j->c->size[h] = NULL;
    j->best[h].summary.reads = reads;
    j->best[h].summary.restarts = restarts;
}

/* One start of every head that has starts left. Only the first has epochs; the later ones improve
 * what it found. */
static int run_start(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    double t0 = ck_clock_seconds();
    j->running = 0;
    for (int h = 0; h < c->heads; h++)
        if (j->start < j->starts[h]) {
            CK_RETURN_IF(make_head(j, h));
            j->which[j->running] = h;
            j->head[j->running++] = c->head[h];
        }
    double t1 = ck_clock_seconds();
    if (j->start == 0 && !j->from)
        CK_RETURN_IF(run_epochs(j));
    double t2 = ck_clock_seconds();
    for (int h = 0; h < c->heads; h++)
        if (j->start < j->starts[h]) {
            CK_RETURN_IF(c->scan.rows->one_pass ? ck_job_finish_stream(j, h)
                                                : ck_job_finish_head(j, h));
            keep_better(j, h);
        }
    c->timing.init += t1 - t0;
    c->timing.epochs += t2 - t1;
    c->timing.final += ck_clock_seconds() - t2;
    return COKE_OK;
}

static int run_job(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    int64_t most = 1;
    double t0 = ck_clock_seconds();
    CK_RETURN_IF(prepare(j));
    for (int h = 0; h < c->heads; h++) {
        j->starts[h] = ck_polish_in_memory(j, h) ? 1 : ck_polish_starts(j, h);
        most = j->starts[h] > most ? j->starts[h] : most;
        j->redraw[h] = 1 + c->o.k.v[h] / 32;
    }
    CK_RETURN_IF(ck_job_report(j, "init", 0, 0, 0, 1, 0));
    c->timing.init = ck_clock_seconds() - t0;
    for (j->start = 0; j->start < most; j->start++)
        CK_RETURN_IF(run_start(j));
    for (int h = 0; h < c->heads; h++) {
        swap_found(j, h);
        ck_job_scale_prices(c, h);
    }
    c->timing.total = ck_clock_seconds() - t0;
    c->timing.vectors_per_second = (double)j->rows / c->timing.epochs;
    return COKE_OK;
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
    ck_batch_scratch_release(&j.scratch);
    for (int h = 0; h < c->heads; h++)
        free_found(&j.best[h]);
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
        ck_kmeans_free(c->head[h]);
        ck_free(c->price[h]);
        ck_free(c->size[h]);
        ck_free(c->center[h]);
        ck_free(c->group_center[h]);
        ck_free(c->group_first[h]);
    }
    ck_scan_release(&c->scan);
    ck_free(c);
}

void ck_cluster_labels(const struct coke_cluster *c, int h, int32_t *labels)
{
    for (int64_t i = 0; i < c->n; i++)
        labels[i] = ck_kmeans_label(c->head[h], i);
}
