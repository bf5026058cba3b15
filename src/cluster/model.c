/* model.c - models: from a state, and labels for new rows. */
#include "cluster/model.h"
#include "cluster/distances.h"
#include "cluster/member_order.h"
#include "cluster/near_rows.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

/* ---- from a state ---- */

static int check_format(const struct ck_state *s)
{
    const char *format = ck_state_meta(s, "format");
    if (format && (strcmp(format, "coke-kmeans") == 0 || strcmp(format, "coke-kmeans-2") == 0))
        return COKE_OK;
    if (format)
        return ck_fail(COKE_EFORMAT, "this is a '%s' file, not a k-means model", format);
    return ck_fail(COKE_EFORMAT, "not a k-means model: its metadata has no 'format'");
}

static int fail_memory(const struct coke_model *m)
{
    return ck_fail(COKE_ENOMEM, "out of memory for %lld centers", (long long)m->k);
}

/* Files of versions that knew only one metric do not name it. */
static int read_metric(const struct ck_state *s, int *metric)
{
    const char *name = ck_state_meta(s, "metric");
    *metric =
        name && strcmp(name, "euclidean") == 0 ? COKE_METRIC_EUCLIDEAN : COKE_METRIC_COSINE;
    if (!name || strcmp(name, "cosine") == 0 || strcmp(name, "euclidean") == 0)
        return COKE_OK;
    return ck_fail(COKE_EFORMAT, "metadata 'metric' is '%s', neither cosine nor euclidean",
                   name);
}

/* The reference of the clustering gives new rows the same scores to the bit; a file of another
 * program need not have one. The unit makes the longest center at most 1 long. */
static int read_frame(struct coke_model *m, const struct ck_state *s, const float *centers)
{
    int metric;
    int64_t dim = m->dim;
    double longest = 0;
    CK_RETURN_IF(read_metric(s, &metric));
    CK_RETURN_IF(ck_frame_init(&m->frame, metric, m->dim));
    CK_RETURN_IF(ck_frame_fit_centers(&m->frame, centers, m->k));
    if (metric == COKE_METRIC_COSINE || !ck_state_find(s, "reference"))
        return COKE_OK;
    CK_RETURN_IF(ck_state_copy(s, "reference", CK_F32, 1, &dim, m->frame.reference));
    for (int64_t i = 0; i < m->k; i++) {
        double square = 0;
        for (int j = 0; j < m->dim; j++)
            square += pow((double)centers[i * dim + j] - (double)m->frame.reference[j], 2);
        longest = fmax(longest, sqrt(square));
    }
    if (!isfinite(longest))
        return ck_fail(COKE_EFORMAT, "tensor 'reference' or 'centers' is not finite");
    ck_frame_set_unit(&m->frame, longest);
    return COKE_OK;
}

/* Copies center i and checks its length: the repair relies on scores within -1..1. */
static int copy_center(struct coke_model *m, const float *centers, int64_t i)
{
    float *c = m->center + i * m->frame.ld;
    double square = 0;
    memcpy(c, centers + i * m->dim, (size_t)m->dim * sizeof *c);
    int bad = ck_frame_center(&m->frame, ck_kernels(), c);
    if (bad >= 0)
        return ck_fail(COKE_EFORMAT, "center %lld: number %d is %g", (long long)i, bad,
                       (double)c[bad]);
    for (int j = 0; j < m->dim; j++)
        square += (double)c[j] * (double)c[j];
    if (square < 1.001)
        return COKE_OK;
    return ck_fail(COKE_EFORMAT, "center %lld has length %g; centers are unit vectors",
                   (long long)i, sqrt(square));
}

static int copy_centers(struct coke_model *m, const struct ck_state *s)
{
    const struct ck_tensor *t = ck_state_find(s, "centers");
    if (!t || t->ndim != 2 || t->shape[0] < 1 || t->shape[1] < 1 || t->shape[1] > 65536 ||
        t->dtype != CK_F32)
        return ck_fail(COKE_EFORMAT, "tensor 'centers' is missing or not F32 [k][dim]");
    m->k = t->shape[0];
    m->dim = (int32_t)t->shape[1];
    const float *centers = t->data;
    CK_RETURN_IF(read_frame(m, s, centers));
    m->center = ck_calloc_array((size_t)m->k, (size_t)m->frame.ld * sizeof *m->center);
    if (!m->center)
        return fail_memory(m);
    for (int64_t i = 0; i < m->k; i++)
        CK_RETURN_IF(copy_center(m, centers, i));
    return COKE_OK;
}

static int copy_bounds(struct coke_model *m, const struct ck_state *s)
{
    int has_max = ck_state_find(s, "max_sizes") != NULL;
    m->price = ck_calloc_array((size_t)m->k, sizeof *m->price);
    m->min_size = ck_calloc_array((size_t)m->k, sizeof *m->min_size);
    m->max_size = has_max ? ck_calloc_array((size_t)m->k, sizeof *m->max_size) : NULL;
    m->size = ck_calloc_array((size_t)m->k, sizeof *m->size);
    if (!m->price || !m->min_size || !m->size || (has_max && !m->max_size))
        return fail_memory(m);
    CK_RETURN_IF(ck_state_copy(s, "duals", CK_F32, 1, &m->k, m->price));
    for (int64_t i = 0; i < m->k; i++)
        m->price[i] = (float)((double)m->price[i] / ck_frame_scale(&m->frame));
    CK_RETURN_IF(ck_state_copy(s, "min_sizes", CK_I64, 1, &m->k, m->min_size));
    CK_RETURN_IF(ck_state_meta_number(s, "n", &m->n));
    if (ck_state_find(s, "sizes")) /* these two are only needed to continue from the model */
        CK_RETURN_IF(ck_state_copy(s, "sizes", CK_I64, 1, &m->k, m->size));
    if (ck_state_meta(s, "objective"))
        CK_RETURN_IF(ck_state_meta_number(s, "objective", &m->objective));
    if (has_max)
        CK_RETURN_IF(ck_state_copy(s, "max_sizes", CK_I64, 1, &m->k, m->max_size));
    return COKE_OK;
}

/* Prices and bounds come from a file: reject what no clustering can have written. */
static int check_bounds(const struct coke_model *m)
{
    double low = 0, high = 0;
    for (int64_t i = 0; i < m->k; i++)
        if (!isfinite(m->price[i]) || m->min_size[i] < 0 || m->size[i] < 0 ||
            (m->max_size && m->max_size[i] < m->min_size[i]))
            return ck_fail(COKE_EFORMAT, "cluster %lld: dual %g, sizes from %lld", (long long)i,
                           (double)m->price[i], (long long)m->min_size[i]);
    if (!isfinite(m->objective))
        return ck_fail(COKE_EFORMAT, "metadata 'objective' is %g", m->objective);
    if (!(m->n >= 1))
        return ck_fail(COKE_EFORMAT, "metadata 'n' is %g", m->n);
    for (int64_t i = 0; i < m->k; i++) {
        low += (double)m->min_size[i];
        high += m->max_size ? (double)m->max_size[i] : m->n;
    }
    if (low > m->n || high < m->n)
        return ck_fail(COKE_EFORMAT, "sizes of %g to %g are infeasible for %g rows", low, high,
                       m->n);
    return COKE_OK;
}

int ck_model_from_state(struct coke_model **out, const struct ck_state *s)
{
    int rc = COKE_OK;
    struct coke_model *m = ck_calloc_array(1, sizeof *m);
    *out = NULL;
    if (!m)
        return COKE_ENOMEM;
    CK_TRY(check_format(s));
    CK_TRY(copy_centers(m, s));
    CK_TRY(copy_bounds(m, s));
    CK_TRY(check_bounds(m));
    *out = m;
    m = NULL;
done:
    ck_model_free(m);
    return rc;
}

void ck_model_free(struct coke_model *m)
{
    if (!m)
        return;
    ck_frame_release(&m->frame);
    ck_free(m->center);
    ck_free(m->price);
    ck_free(m->min_size);
    ck_free(m->max_size);
    ck_free(m->size);
    ck_free(m);
}

void ck_model_centers(const struct coke_model *m, float *out)
{
    for (int64_t i = 0; i < m->k; i++)
        ck_frame_center_out(&m->frame, m->center + i * m->frame.ld, out + i * m->dim);
}

/* ---- labels ---- */

/* 1e-12 keeps floor and ceil from turning an exact integer into its neighbour. */
void ck_model_scale_bounds(const struct coke_model *m, int64_t n, int64_t *min_size,
                           int64_t *max_size)
{
    for (int64_t i = 0; i < m->k; i++) {
        min_size[i] = (int64_t)floor((double)m->min_size[i] * (double)n / m->n * (1 + 1e-12));
        if (max_size)
            max_size[i] =
                (int64_t)ceil((double)m->max_size[i] * (double)n / m->n * (1 - 1e-12));
    }
}

static int check_job(const struct coke_model *m, const struct coke_assign_job *job)
{
    const struct coke_rows *rows = job->rows;
    if (job->bad != COKE_BAD_ERROR && job->bad != COKE_BAD_SKIP)
        return ck_fail(COKE_EUSAGE, "bad: rows are errors or skipped, not replaced (%d)",
                       (int)job->bad);
    if (!(job->gap >= 0 && job->gap <= 1))
        return ck_fail(COKE_EUSAGE, "gap: %g is not a fraction from 0 to 1", job->gap);
    if (rows->dim != m->dim)
        return ck_fail(COKE_EUSAGE, "%s has %d columns, the model %d", rows->name, rows->dim,
                       m->dim);
    if (rows->one_pass)
        return ck_fail(COKE_EUSAGE,
                       "%s: labelling reads rows in any order; open it without one_pass",
                       rows->name);
    return COKE_OK;
}

/* The arrays of one run, all [k]. */
struct bounds {
    int64_t *min_size, *max_size, *size;
    float *price;
};

/* Without constraints all bounds and prices stay 0, and every row gets its nearest center. */
static int bounds_init(struct bounds *b, const struct coke_model *m, int constrained, int64_t n)
{
    size_t k = (size_t)m->k;
    int has_max = constrained && m->max_size;
    b->price = ck_calloc_array(k, sizeof *b->price);
    b->size = ck_calloc_array(k, sizeof *b->size);
    b->min_size = ck_calloc_array(k, sizeof *b->min_size);
    b->max_size = has_max ? ck_calloc_array(k, sizeof *b->max_size) : NULL;
    if (!b->price || !b->size || !b->min_size || (has_max && !b->max_size))
        return ck_fail(COKE_ENOMEM, "out of memory for %lld clusters", (long long)m->k);
    if (!constrained)
        return COKE_OK;
    ck_model_scale_bounds(m, n, b->min_size, b->max_size);
    memcpy(b->price, m->price, k * sizeof *b->price);
    return COKE_OK;
}

static void bounds_release(struct bounds *b)
{
    ck_free(b->price);
    ck_free(b->size);
    ck_free(b->min_size);
    ck_free(b->max_size);
}

/* Sorts the arrays of b, which are not needed any more. */
static void summarise(const struct coke_model *m, const struct ck_repair *r, struct bounds *b,
                      struct coke_head_summary *s)
{
    *s = (struct coke_head_summary){.n = r->total,
                                    .k = m->k,
                                    .levels = 1,
                                    .dim = m->dim,
                                    .skipped = r->scan->nbad,
                                    .below_before_repair = r->below,
                                    .above_before_repair = r->above,
                                    .missing_before_repair = r->missing,
                                    .repaired = r->exact,
                                    .repair_bytes = r->bytes,
                                    .reads = r->scans};
    struct ck_spread size = ck_spread_sort(b->size, m->k);
    struct ck_spread lower = ck_spread_sort(b->min_size, m->k);
    s->size_min = size.min;
    s->size_median = size.median;
    s->size_max = size.max;
    s->lower_bound_min = lower.min;
    s->lower_bound_max = lower.max;
    s->upper_bound_min = s->upper_bound_max = -1;
    if (b->max_size) {
        struct ck_spread upper = ck_spread_sort(b->max_size, m->k);
        s->upper_bound_min = upper.min;
        s->upper_bound_max = upper.max;
    }
}

/* Second choices, margins and distances. r->scores are inner scores before, and then cosines or
 * squared distances; a margin is a difference of these, positive if the label is nearer. */
static int measure_rows(const struct coke_model *m, const struct coke_assign_job *job,
                        const struct ck_repair *r, double *inertia)
{
    if (job->second || job->margins)
        CK_RETURN_IF(ck_second_choice(r, job->second, job->margins));
    if (m->frame.metric != COKE_METRIC_EUCLIDEAN)
        return COKE_OK;
    for (int64_t i = 0; job->margins && i < job->rows->n; i++)
        job->margins[i] *= 2 * (float)ck_frame_scale(&m->frame);
    return ck_distances(&(struct ck_labelled){r->scan, r->labels, m->center}, NULL, r->scores,
                        inertia);
}

/* Closer rows have higher cosines, but lower distances. */
static void negate_squares(const struct coke_model *m, float *score, int64_t n)
{
    for (int64_t i = 0; i < n && m->frame.metric == COKE_METRIC_EUCLIDEAN; i++)
        score[i] = -score[i];
}

/* The members of each cluster, the closest first, if the job asks for them. */
static int order_rows(const struct coke_model *m, const struct coke_assign_job *job,
                      const struct ck_repair *r)
{
    int64_t n = job->rows->n, *order = job->sorted, *offset = job->offsets;
    int rc = COKE_OK;
    if (!order && !offset)
        return COKE_OK;
    order = order ? order : ck_alloc_array((size_t)n, sizeof *order);
    offset = offset ? offset : ck_alloc_array((size_t)m->k + 1, sizeof *offset);
    if (!order || !offset)
        CK_LEAVE(COKE_ENOMEM);
    negate_squares(m, r->scores, n);
    rc = ck_member_order(job->labels, r->scores, n, m->k, order, offset);
    negate_squares(m, r->scores, n);
done:
    if (order != job->sorted)
        ck_free(order);
    if (offset != job->offsets)
        ck_free(offset);
    return rc;
}

/* Scores are also needed for margins and order: a scratch array if the caller has none. */
static int needs_scores(const struct coke_assign_job *job)
{
    return job->margins || job->second || job->sorted || job->offsets;
}

/* Before b is sorted. The bounds come out as those of b. */
static void keep(struct coke_model *m, const struct ck_repair *r, const struct bounds *b)
{
    ck_model_scale_bounds(m, r->total, m->min_size, m->max_size);
    m->n = (double)r->total;
    memcpy(m->size, b->size, (size_t)m->k * sizeof *m->size);
    if (r->exact)
        memcpy(m->price, b->price, (size_t)m->k * sizeof *m->price);
}

/* made: NULL, or m, which keeps what the labels have come to. */
static int label_rows(const struct coke_model *m, const struct coke_assign_job *job,
                      struct coke_head_summary *summary, struct coke_model *made)
{
    struct ck_scan scan = {0};
    struct ck_labels store = {0};
    struct bounds b = {0};
    struct ck_assigner *a = NULL;
    int64_t n = job->rows->n;
    int rc = COKE_OK;
    float *score = job->scores, *own = NULL;
    double inertia = 0;
    CK_TRY(check_job(m, job));
    if (!score && needs_scores(job)) {
        score = own = ck_alloc_array((size_t)n, sizeof *own);
        if (!own)
            CK_LEAVE(COKE_ENOMEM);
    }
    CK_TRY(ck_scan_init(&scan, job->rows, ck_kernels(), NULL, job->bad == COKE_BAD_SKIP,
                        m->frame.metric));
    CK_TRY(ck_scan_use_frame(&scan, &m->frame, job->constrained));
    CK_TRY(bounds_init(&b, m, job->constrained, n - scan.nbad));
    CK_TRY(ck_labels_init(&store, n, m->k));
    CK_TRY(ck_frame_assigner(&a, &m->frame, ck_kernels(), m->center, m->k));
    struct ck_repair r = {.scan = &scan,
                          .assigner = a,
                          .k = m->k,
                          .min_size = b.min_size,
                          .max_size = b.max_size,
                          .exact = job->constrained,
                          .tolerance = job->gap,
                          .sample = 1,
                          .callbacks = job->callbacks,
                          .price = b.price,
                          .labels = &store,
                          .scores = score,
                          .size = b.size};
    for (int64_t i = 0; score && i < n; i++)
        score[i] = NAN; /* remains for skipped rows */
    CK_TRY(ck_repair_run(&r));
    for (int64_t i = 0; i < n; i++)
        job->labels[i] = ck_labels_get(&store, i);
    CK_TRY(measure_rows(m, job, &r, &inertia));
    CK_TRY(order_rows(m, job, &r));
    if (made)
        keep(made, &r, &b);
    if (summary) {
        summarise(m, &r, &b, summary);
        ck_summary_objectives(summary, &r, inertia);
        summary->not_nearest = r.off;
    }
done:
    ck_free(own);
    ck_assigner_free(a);
    ck_labels_release(&store);
    ck_scan_release(&scan);
    bounds_release(&b);
    return rc;
}

int ck_model_assign(const struct coke_model *m, const struct coke_assign_job *job,
                    struct coke_head_summary *summary)
{
    return label_rows(m, job, summary, NULL);
}

int ck_model_relabel(struct coke_model *m, const struct coke_assign_job *job,
                     struct coke_head_summary *summary)
{
    struct coke_head_summary full;
    CK_RETURN_IF(label_rows(m, job, &full, m));
    m->objective = full.objective;
    if (summary)
        *summary = full;
    return COKE_OK;
}
