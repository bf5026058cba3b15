/* kmeans.c - online constrained k-means, one head (docs/algorithm.md, part 1). */
#include "cluster/kmeans_internal.h"
#include "cluster/batch_run.h"
#include "cluster/stream_start.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

/* ---- bounds ---- */

int ck_kmeans_bounds(int64_t n, int64_t k, double ratio, double max_ratio,
                     const int64_t *min_sizes, const int64_t *max_sizes, int64_t *min_size,
                     int64_t *max_size)
{
    if (k > n)
        return ck_fail(COKE_EUSAGE, "%lld clusters for %lld rows: k must not exceed the rows",
                       (long long)k, (long long)n);
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < k; i++) {
        /* 1e-12: 0.4 * 500 / 40 must give 5, not floor(4.999...) */
        min_size[i] = min_sizes ? min_sizes[i]
                                : (int64_t)floor(ratio * (double)n / (double)k * (1 + 1e-12));
        if (min_size[i] < 0 || min_size[i] > n)
            return ck_fail(COKE_EUSAGE,
                           "minimum size %lld of cluster %lld is not within 0..%lld",
                           (long long)min_size[i], (long long)i, (long long)n);
        low += min_size[i];
        if (!max_size)
            continue;
        max_size[i] = max_sizes
                          ? max_sizes[i]
                          : (int64_t)ceil(max_ratio * (double)n / (double)k * (1 - 1e-12));
        max_size[i] = max_size[i] > n ? n : max_size[i];
        if (max_size[i] < min_size[i])
            return ck_fail(COKE_EUSAGE,
                           "cluster %lld: maximum size %lld is below its minimum size "
                           "%lld",
                           (long long)i, (long long)max_size[i], (long long)min_size[i]);
        high += max_size[i];
    }
    if (low > n)
        return ck_fail(COKE_EUSAGE, "minimum sizes sum to %lld, but there are only %lld rows",
                       (long long)low, (long long)n);
    if (max_size && high < n)
        return ck_fail(COKE_EUSAGE, "maximum sizes sum to %lld, too few for %lld rows",
                       (long long)high, (long long)n);
    return COKE_OK;
}

/* The bounds as the duals see them: fractions of the rows. They come from the ratio
 * itself, not from the floored sizes. inflate may raise their sum above 1, which no assignment
 * reaches; they are scaled back then. Bounds without slack (sum = n) are equalities, whose
 * duals may be negative (free). */
static void set_rates(struct coke_kmeans *km, int given)
{
    const struct ck_kmeans_options *o = &km->o;
    double n = (double)o->n, sum = 0;
    int64_t low = 0;
    for (int64_t i = 0; i < km->k; i++) {
        km->duals.min_size[i] = given ? (double)km->min_size[i] / n : o->ratio / (double)km->k;
        km->duals.min_size[i] *= o->inflate;
        sum += km->duals.min_size[i];
        low += km->min_size[i];
        if (km->max_size)
            km->duals.max_size[i] = (double)km->max_size[i] / n;
    }
    for (int64_t i = 0; i < km->k && sum > 1; i++)
        km->duals.min_size[i] /= sum;
    km->duals.free = given ? low == o->n : o->ratio >= 1;
    double unit = 1 / ck_frame_scale(&km->frame);
    km->duals.tau = (float)(o->tau * unit);
    km->duals.eta = (float)((o->eta > 0 ? o->eta : o->tau / sqrt(2 * n)) * unit);
}

void ck_kmeans_guide(struct coke_kmeans *km, double ratio)
{
    for (int64_t k = 0; k < km->k; k++) {
        km->duals.min_size[k] = ratio / (double)km->k;
        km->duals.rho[k] = ratio > 0 ? km->duals.rho[k] : 0;
    }
}

/* ---- construction ---- */

static int check_options(const struct ck_kmeans_options *o)
{
    int rc = ck_options_check(ck_kmeans_option_table(), o);
    if (rc)
        return rc;
    if (o->stage >= 0 && o->update == CK_UPDATE_FIXED)
        return ck_fail(COKE_EUSAGE, "a second stage needs centers that move");
    return COKE_OK;
}

/* Sums of an epoch and the carried part must stay below 2^62. 36 fractional bits suffice up to
 * 2^25 rows of length 1; more or longer rows get fewer. Integer sums do not depend on the order
 * of additions, which makes centers independent of threads and processes. */
static void set_sum_scale(struct coke_kmeans *km)
{
    double most = (double)km->o.n * fmax(1, (double)km->frame.reach) / (1 - km->o.carry);
    int bits = 36;
    while (bits > 12 && most * ldexp(1, bits) > 0x1p61)
        bits--;
    km->sum_scale = (float)ldexp(1, bits);
}

/* On failure the caller frees what was allocated (ck_kmeans_free skips NULL). */
static int allocate(struct coke_kmeans *km, int upper)
{
    size_t k = (size_t)km->k, kd = k * (size_t)km->ld;
    km->cur = ck_calloc_array(kd, sizeof *km->cur);
    km->prev = ck_calloc_array(kd, sizeof *km->prev);
    km->sum = ck_calloc_array(kd, sizeof *km->sum);
    km->count = ck_calloc_array(k, sizeof *km->count);
    km->min_size = ck_calloc_array(k, sizeof *km->min_size);
    km->max_size = upper ? ck_calloc_array(k, sizeof *km->max_size) : NULL;
    km->bias = ck_calloc_array(k, sizeof *km->bias);
    km->average = ck_calloc_array(k, sizeof *km->average);
    km->batch_count = ck_calloc_array(k, sizeof *km->batch_count);
    km->first = ck_calloc_array(k + 1, sizeof *km->first);
    km->touched = ck_calloc_array(k, sizeof *km->touched);
    if (!km->cur || !km->prev || !km->sum || !km->count || !km->min_size ||
        (upper && !km->max_size) || !km->bias || !km->average || !km->batch_count ||
        !km->first || !km->touched)
        return COKE_ENOMEM;
    int rc = ck_duals_init(&km->duals, km->k, upper);
    if (!rc && km->o.keep_labels)
        rc = ck_labels_init(&km->labels, km->o.n, km->k);
    if (!rc && km->o.stage >= 0)
        rc = ck_slots_init(&km->slots, km->o.n, (int)km->o.slots);
    if (!rc)
        rc = ck_frame_assigner(&km->assigner, &km->frame, km->kn, km->cur, km->k);
    return rc;
}

int ck_kmeans_new(struct coke_kmeans **out, const struct ck_kmeans_options *options,
                  const float *centers, const int64_t *min_sizes, const int64_t *max_sizes)
{
    return ck_kmeans_new_in(out, NULL, options, centers, min_sizes, max_sizes);
}

/* Rows may be farther away than the centers that a frame is fitted to. */
static int set_frame(struct coke_kmeans *km, const struct ck_frame *frame, const float *centers)
{
    CK_RETURN_IF(ck_frame_init(&km->frame, km->o.metric, (int)km->o.dim));
    if (frame) {
        ck_frame_copy(&km->frame, frame);
    } else if (km->o.metric == COKE_METRIC_EUCLIDEAN) {
        CK_RETURN_IF(ck_frame_fit_centers(&km->frame, centers, km->k));
        km->frame.reach = CK_FRAME_REACH;
    }
    km->ld = km->frame.ld;
    set_sum_scale(km);
    return COKE_OK;
}

static int set_centers(struct coke_kmeans *km, const float *centers)
{
    for (int64_t i = 0; i < km->k; i++) {
        float *c = km->cur + i * km->ld;
        memcpy(c, centers + i * km->o.dim, (size_t)km->o.dim * sizeof *c);
        int bad = ck_frame_center(&km->frame, km->kn, c);
        if (bad >= 0)
            return ck_fail(COKE_ENUMERIC, "center %lld: number %d is %s", (long long)i, bad,
                           isfinite(c[bad]) ? "beyond 1e15" : "not finite");
    }
    memcpy(km->prev, km->cur, (size_t)km->k * (size_t)km->ld * sizeof *km->cur);
    return COKE_OK;
}

int ck_kmeans_new_in(struct coke_kmeans **out, const struct ck_frame *frame,
                     const struct ck_kmeans_options *options, const float *centers,
                     const int64_t *min_sizes, const int64_t *max_sizes)
{
    int rc = check_options(options);
    if (rc)
        return rc;
    struct coke_kmeans *km = ck_calloc_array(1, sizeof *km);
    if (!km)
        return COKE_ENOMEM;
    km->o = *options;
    km->kn = ck_kernels();
    km->k = options->k;
    km->ids = options->n;
    CK_TRY(set_frame(km, frame, centers));
    CK_TRY(allocate(km, max_sizes || options->max_ratio > 0));
    CK_TRY(ck_kmeans_bounds(options->n, km->k, options->ratio, options->max_ratio, min_sizes,
                            max_sizes, km->min_size, km->max_size));
    km->given_bounds = min_sizes != NULL;
    set_rates(km, km->given_bounds);
    CK_TRY(set_centers(km, centers));
    ck_kmeans_point_assigner(km);
    *out = km;
    return COKE_OK;
done:
    ck_kmeans_free(km);
    return rc;
}

int ck_kmeans_set_frame(struct coke_kmeans *km, const struct ck_frame *frame)
{
    if (ck_frame_equal(&km->frame, frame))
        return COKE_OK;
    if (km->epoch > 0 || km->duals.steps > 0)
        return ck_fail(COKE_EUSAGE, "the head has begun in other coordinates");
    float *center = ck_alloc_array((size_t)km->k, (size_t)km->o.dim * sizeof *center);
    if (!center)
        return COKE_ENOMEM;
    ck_kmeans_copy_centers(km, CK_CENTERS_CURRENT, center);
    ck_frame_copy(&km->frame, frame);
    set_sum_scale(km);
    set_rates(km, km->given_bounds);
    int rc = set_centers(km, center);
    ck_kmeans_point_assigner(km);
    ck_free(center);
    return rc;
}

void ck_kmeans_free(struct coke_kmeans *km)
{
    if (!km)
        return;
    ck_free(km->cur);
    ck_free(km->prev);
    ck_free(km->sum);
    ck_free(km->count);
    ck_free(km->min_size);
    ck_free(km->max_size);
    ck_free(km->bias);
    ck_free(km->average);
    ck_free(km->batch_count);
    ck_free(km->first);
    ck_free(km->touched);
    ck_free(km->member);
    ck_duals_release(&km->duals);
    ck_labels_release(&km->labels);
    ck_slots_release(&km->slots);
    ck_padded_rows_release(&km->batch);
    ck_assigner_free(km->assigner);
    ck_frame_release(&km->frame);
    ck_tree_free(km->tree);
    ck_free(km);
}

int ck_kmeans_set_ids(struct coke_kmeans *km, int64_t ids)
{
    if (ids == km->ids)
        return COKE_OK;
    if (ids < km->o.n || km->o.stage >= 0)
        return ck_fail(COKE_EUSAGE, "%lld ids for %lld rows%s", (long long)ids,
                       (long long)km->o.n, km->o.stage >= 0 ? " and a second stage" : "");
    ck_labels_release(&km->labels);
    km->ids = ids;
    return km->o.keep_labels ? ck_labels_init(&km->labels, ids, km->k) : COKE_OK;
}

int ck_kmeans_reserve(struct coke_kmeans *km, int64_t n)
{
    if (km->tree)
        CK_RETURN_IF(ck_tree_reserve(km->tree, n));
    if (n <= km->room)
        return COKE_OK;
    int32_t *member = ck_alloc_array((size_t)n, sizeof *member);
    if (!member)
        return COKE_ENOMEM;
    ck_free(km->member);
    km->member = member;
    km->room = n;
    return COKE_OK;
}

/* ---- one batch ---- */

int ck_kmeans_second_stage(const struct coke_kmeans *km)
{
    return km->o.stage >= 0 && km->epoch >= km->o.stage;
}

void ck_kmeans_point_assigner(struct coke_kmeans *km)
{
    const float *center = ck_kmeans_second_stage(km) ? km->prev : km->cur;
    if (km->tree)
        ck_tree_reset(km->tree, center);
    else
        ck_assigner_reset(km->assigner, center);
}

void ck_kmeans_set_tree(struct coke_kmeans *km, struct ck_tree *tree)
{
    ck_assigner_free(km->assigner);
    km->assigner = NULL;
    km->tree = tree;
    tree->frame = &km->frame;
    ck_kmeans_point_assigner(km);
}

int ck_kmeans_check_ids(const struct coke_kmeans *km, const int64_t *ids, int64_t n)
{
    for (int64_t i = 0; ids && i < n; i++)
        if (ids[i] < 0 || ids[i] >= km->ids)
            return ck_fail(COKE_EUSAGE,
                           "id %lld (number %lld of the batch) is not within 0..%lld",
                           (long long)ids[i], (long long)i, (long long)km->ids - 1);
    return COKE_OK;
}

void ck_kmeans_begin(struct coke_kmeans *km)
{
    ck_duals_bias(&km->duals, km->bias);
    if (km->tree)
        ck_tree_settle(km->tree, km->bias);
    else
        ck_assigner_settle(km->assigner, km->bias);
}

void ck_kmeans_squares(const struct coke_kmeans *km, const float *x, int n,
                       const int32_t *label, float *square)
{
    const float *center = ck_kmeans_second_stage(km) ? km->prev : km->cur;
    for (int i = 0; i < n; i++)
        square[i] = (float)ck_frame_square(&km->frame, km->kn, x + i * (int64_t)km->ld,
                                           center + label[i] * (int64_t)km->ld);
}

/* Counting sort of the rows by cluster: member[first[k]] .. member[first[k + 1] - 1] are the
 * rows of cluster k, in ascending order. Lists the clusters that received any in `touched` and
 * returns their number. */
static int64_t group_members(struct coke_kmeans *km, int64_t n, const int32_t *label)
{
    int64_t touched = 0;
    memset(km->batch_count, 0, (size_t)km->k * sizeof *km->batch_count);
    for (int64_t i = 0; i < n; i++)
        km->batch_count[label[i]]++;
    int32_t at = 0;
    for (int64_t k = 0; k < km->k; k++) {
        km->first[k] = at;
        at += km->batch_count[k];
        if (km->batch_count[k])
            km->touched[touched++] = (int32_t)k;
    }
    for (int64_t i = 0; i < n; i++)
        km->member[km->first[label[i]]++] = (int32_t)i;
    for (int64_t k = km->k; k > 0; k--)
        km->first[k] = km->first[k - 1];
    km->first[0] = 0;
    return touched;
}

/* What a batch does to the centers, from its rows (x) or from their sums by cluster (given).
 * Threads take chunks of touched clusters; each cluster is changed by one thread, so no locks
 * are needed. */
struct move_job {
    struct coke_kmeans *km;
    const float *x;       /* [n][ld] */
    const int64_t *given; /* [touched][ld]; NULL = from x */
    int64_t *out;         /* [touched][ld] sums of the rows from `first` to before `last` */
    int64_t first, last;
    int64_t touched;
    int chunk;
};

/* Adds the members of the t-th touched cluster to its sum. */
static void add_members(const struct move_job *j, int64_t t)
{
    struct coke_kmeans *km = j->km;
    int64_t k = km->touched[t], *sum = km->sum + k * km->ld;
    if (j->given) {
        for (int i = 0; i < km->ld; i++)
            sum[i] += j->given[t * km->ld + i];
        return;
    }
    const float *x = j->x;
    for (int32_t m = km->first[k]; m < km->first[k + 1]; m++)
        km->kn->accumulate(sum, x + (int64_t)km->member[m] * km->ld, km->ld, km->sum_scale);
}

static int euclidean(const struct coke_kmeans *km)
{
    return km->o.metric == COKE_METRIC_EUCLIDEAN;
}

/* c = c * old/new + sum/new, by cosine renormalised in the first stage: the authors' running
 * mean. old and new count rows; Euclidean ones with their weights, which the last column of the
 * sum keeps for the whole epoch. */
static void move_running(const struct move_job *job, int64_t t)
{
    struct coke_kmeans *km = job->km;
    int64_t k = km->touched[t], weights = euclidean(km) ? km->o.dim : 0;
    float *c = km->cur + k * km->ld;
    int64_t *sum = km->sum + k * km->ld;
    double scale = (double)km->sum_scale, old = (double)km->count[k];
    double total = (double)(km->count[k] + km->batch_count[k]);
    int64_t before = km->count[k] ? sum[weights] : 0;
    memset(sum, 0, (size_t)km->ld * sizeof *sum);
    add_members(job, t);
    if (euclidean(km)) {
        sum[weights] += before;
        old = (double)before / scale;
        total = (double)sum[weights] / scale;
    }
    float keep = (float)(old / total);
    double unit = 1 / (total * scale);
    for (int j = 0; j < km->ld; j++)
        c[j] = c[j] * keep + (float)((double)sum[j] * unit);
    if (euclidean(km) || !ck_kmeans_second_stage(km))
        ck_frame_close(&km->frame, km->kn, c);
}

/* By cosine the unit vector in the direction of the sum, whose length does not matter; Euclidean
 * the sum over the weights, its last column. */
static void center_from_sum(struct coke_kmeans *km, int64_t k)
{
    float *c = km->cur + k * km->ld;
    const int64_t *sum = km->sum + k * km->ld;
    int64_t any = 0;
    if (euclidean(km) && sum[km->o.dim] > 0) {
        km->kn->restore(sum, km->ld, 1 / (double)sum[km->o.dim], c);
        ck_frame_close(&km->frame, km->kn, c);
    }
    if (euclidean(km))
        return;
    for (int j = 0; j < km->ld; j++)
        any |= sum[j];
    if (!any) /* members cancel out exactly: keep the old center */
        return;
    km->kn->restore(sum, km->ld, 1 / (double)km->sum_scale, c);
    ck_normalize(km->kn, c, km->ld);
}

/* The assigner is updated only where it reads the centers being moved: not in the second stage,
 * and not if they move at the end of the epoch. */
static void move_center(const struct move_job *j, int64_t t)
{
    struct coke_kmeans *km = j->km;
    int64_t k = km->touched[t];
    int32_t update = km->o.update;
    if (update == CK_UPDATE_RUNNING || ck_kmeans_second_stage(km)) {
        move_running(j, t);
    } else {
        add_members(j, t);
        if (update == CK_UPDATE_MEAN)
            center_from_sum(km, k);
    }
    km->count[k] += km->batch_count[k];
    if (update == CK_UPDATE_EPOCH || ck_kmeans_second_stage(km))
        return;
    if (km->tree)
        ck_tree_update(km->tree, k);
    else
        ck_assigner_update(km->assigner, k);
}

static void move_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct move_job *j = arg;
    int64_t end = (chunk + 1) * j->chunk < j->touched ? (chunk + 1) * j->chunk : j->touched;
    for (int64_t i = chunk * j->chunk; i < end; i++)
        move_center(j, i);
}

static int64_t chunks_of(const struct move_job *j)
{
    return (j->touched + j->chunk - 1) / j->chunk;
}

/* Sums of the members among the rows first .. last - 1, which are the rows of this process. */
static void sum_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct move_job *j = arg;
    const struct coke_kmeans *km = j->km;
    int64_t end = (chunk + 1) * j->chunk < j->touched ? (chunk + 1) * j->chunk : j->touched;
    for (int64_t t = chunk * j->chunk; t < end; t++) {
        int64_t k = km->touched[t], *sum = j->out + t * km->ld;
        memset(sum, 0, (size_t)km->ld * sizeof *sum);
        for (int32_t m = km->first[k]; m < km->first[k + 1]; m++)
            if (km->member[m] >= j->first && km->member[m] < j->last)
                km->kn->accumulate(sum, j->x + (int64_t)km->member[m] * km->ld, km->ld,
                                   km->sum_scale);
    }
}

int64_t ck_kmeans_sum_rows(struct coke_kmeans *km, const float *x, int64_t n,
                           const int32_t *label, int64_t first, int64_t last, int64_t *sum)
{
    struct move_job job = {
        .km = km, .x = x, .out = sum, .first = first, .last = last, .chunk = 8};
    job.touched = group_members(km, n, label);
    ck_parallel(chunks_of(&job), sum_chunk, &job);
    return job.touched;
}

/* ---- means of given labels ---- */

void ck_kmeans_forget(struct coke_kmeans *km)
{
    memset(km->sum, 0, (size_t)(km->k * km->ld) * sizeof *km->sum);
    memset(km->count, 0, (size_t)km->k * sizeof *km->count);
}

static void add_chunk(void *arg, int64_t t, int worker)
{
    (void)worker;
    add_members(arg, t);
}

void ck_kmeans_add(struct coke_kmeans *km, const float *x, int64_t n, const int32_t *label)
{
    struct move_job job = {.km = km, .x = x};
    job.touched = group_members(km, n, label);
    ck_parallel(job.touched, add_chunk, &job);
    for (int64_t k = 0; k < km->k; k++)
        km->count[k] += km->batch_count[k];
}

/* Euclidean centers are saved in the coordinates of the data: labels must belong to what a model
 * that is loaded has. */
static void round_centers(struct coke_kmeans *km, float *center)
{
    for (int64_t k = 0; k < km->k && euclidean(km); k++) {
        float *c = center + k * km->ld;
        ck_frame_center_out(&km->frame, c, c);
        ck_frame_center(&km->frame, km->kn, c);
    }
}

void ck_kmeans_round(struct coke_kmeans *km)
{
    round_centers(km, km->prev);
}

/* The similarity of the members of a cluster to the direction of their sum is its length. By
 * distance, sum x.c - |c|^2 / 2 is half of |sum|^2 over the weight. */
double ck_kmeans_move_to_means(struct coke_kmeans *km, int *moved)
{
    size_t bytes = (size_t)(km->k * km->ld) * sizeof *km->cur;
    double total = 0;
    for (int64_t k = 0; k < km->k; k++) {
        const int64_t *sum = km->sum + k * km->ld;
        double square = 0, weight = euclidean(km) ? (double)sum[km->o.dim] : 0;
        center_from_sum(km, k);
        for (int64_t j = 0; j < km->o.dim; j++)
            square += (double)sum[j] * (double)sum[j];
        if (!euclidean(km))
            total += sqrt(square) / (double)km->sum_scale;
        else if (weight > 0)
            total += square / weight / 2 / (double)km->sum_scale;
    }
    round_centers(km, km->cur);
    *moved = memcmp(km->cur, km->prev, bytes) != 0;
    memcpy(km->prev, km->cur, bytes);
    ck_kmeans_point_assigner(km);
    return total;
}

/* In the e-th epoch of the second stage the new label gets the weight 1/e, so that the slots
 * average over its epochs. */
static void store_labels(struct coke_kmeans *km, const int64_t *ids, int64_t n,
                         const int32_t *label)
{
    double f = ck_kmeans_second_stage(km) ? 1.0 / (double)(km->epoch - km->o.stage + 1) : 0;
    for (int64_t i = 0; i < n; i++) {
        if (km->o.keep_labels)
            ck_labels_set(&km->labels, ids[i], label[i]);
        if (f > 0)
            ck_slots_update(&km->slots, ids[i], label[i], f);
    }
}

/* The duals need only the counts. Labels are stored by one thread: if an id repeats within a
 * batch, the later row decides. */
static void apply(struct move_job *job, const int64_t *ids, int64_t n, const int32_t *label)
{
    struct coke_kmeans *km = job->km;
    job->touched = group_members(km, n, label);
    ck_duals_step(&km->duals, km->batch_count, n);
    if (km->o.update == CK_UPDATE_FIXED)
        for (int64_t k = 0; k < km->k; k++)
            km->count[k] += km->batch_count[k];
    else
        ck_parallel(chunks_of(job), move_chunk, job);
    if (km->tree)
        ck_tree_choose(km->tree);
    else
        ck_assigner_choose(km->assigner);
    if (ids)
        store_labels(km, ids, n, label);
}

void ck_kmeans_apply(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                     const int32_t *label)
{
    struct move_job job = {.km = km, .x = x, .chunk = 8};
    apply(&job, ids, n, label);
}

void ck_kmeans_apply_sums(struct coke_kmeans *km, const int64_t *sum, const int64_t *ids,
                          int64_t n, const int32_t *label)
{
    struct move_job job = {.km = km, .given = sum, .chunk = 8};
    apply(&job, ids, n, label);
}

int ck_kmeans_step(struct coke_kmeans *km, const float *x, const int64_t *ids, int64_t n,
                   int32_t *label)
{
    CK_RETURN_IF(ck_kmeans_check_ids(km, ids, n));
    CK_RETURN_IF(ck_padded_rows_fill(&km->batch, x, n, &km->frame));
    CK_RETURN_IF(ck_kmeans_choose_eta(km, km->batch.x, n));
    struct ck_row_batch b = {.n = n, .x = km->batch.x, .ids = ids, .label = label};
    return ck_batch_run(&km, 1, &b, NULL, NULL);
}

/* Builds an assigner of its own, so that km stays const and several threads may call it. */
int ck_kmeans_predict(const struct coke_kmeans *km, const float *x, int64_t n, int32_t *label,
                      float *scores)
{
    struct ck_padded_rows padded = {0};
    struct ck_assigner *a = NULL;
    int rc = COKE_OK;
    CK_TRY(ck_padded_rows_fill(&padded, x, n, &km->frame));
    CK_TRY(ck_frame_assigner(&a, &km->frame, km->kn, km->prev, km->k));
    ck_assigner_settle(a, NULL);
    ck_assign(a, padded.x, n, label, scores);
    for (int64_t i = 0; scores && euclidean(km) && i < n; i++)
        scores[i] = (float)(ck_frame_scale(&km->frame) *
                            ck_frame_square(&km->frame, km->kn, padded.x + i * km->ld,
                                            km->prev + label[i] * (int64_t)km->ld));
done:
    ck_assigner_free(a);
    ck_padded_rows_release(&padded);
    return rc;
}

/* ---- end of an epoch ---- */

/* Second stage: prev = normalize((1 - f) prev + f normalize(cur)), then cur = prev; with f = 1
 * / (epochs of the second stage so far) the centers are the average over these epochs. Euclidean
 * centers are not normalized. */
static void blend_centers(struct coke_kmeans *km)
{
    float f = 1.0f / (float)(km->epoch - km->o.stage + 1);
    for (int64_t k = 0; k < km->k; k++) {
        float *c = km->cur + k * km->ld, *p = km->prev + k * km->ld;
        ck_frame_close(&km->frame, km->kn, c);
        for (int j = 0; j < km->ld; j++)
            p[j] = (1 - f) * p[j] + f * c[j];
        ck_frame_close(&km->frame, km->kn, p);
    }
    memcpy(km->cur, km->prev, (size_t)km->k * (size_t)km->ld * sizeof *km->cur);
}

/* Update mean keeps the fraction `carry` of the sums, rounded to integers, so that the next
 * epoch starts from weighted old members instead of none. */
static void end_first_stage(struct coke_kmeans *km)
{
    if (km->o.update == CK_UPDATE_EPOCH)
        for (int64_t k = 0; k < km->k; k++)
            if (km->count[k])
                center_from_sum(km, k);
    memcpy(km->prev, km->cur, (size_t)km->k * (size_t)km->ld * sizeof *km->cur);
    double carry = km->o.update == CK_UPDATE_MEAN ? km->o.carry : 0;
    for (int64_t i = 0; i < km->k * km->ld; i++)
        km->sum[i] = llrint((double)km->sum[i] * carry);
}

void ck_kmeans_round_end(struct coke_kmeans *km)
{
    end_first_stage(km);
    memset(km->count, 0, (size_t)km->k * sizeof *km->count);
    ck_kmeans_point_assigner(km);
}

/* The repair starts from the average of the duals over the epoch. */
int ck_kmeans_epoch_end(struct coke_kmeans *km)
{
    if (ck_kmeans_second_stage(km))
        blend_centers(km);
    else
        end_first_stage(km);
    if (km->tree)
        ck_tree_recenter(km->tree, km->prev, km->count);
    memset(km->count, 0, (size_t)km->k * sizeof *km->count);
    for (int64_t k = 0; k < km->k; k++) {
        km->average[k] = km->duals.steps ? (float)ck_duals_average(&km->duals, k) : 0;
        km->duals.total[k] = 0;
    }
    km->duals.steps = 0;
    km->epoch++;
    ck_kmeans_point_assigner(km);
    return COKE_OK;
}
