/* descent.c - k-means of few rows, which are held in memory. */
#include "cluster/descent.h"
#include "cluster/repair_scan.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 128 }; /* rows that one thread takes at a time */

double ck_descent_bytes(const struct ck_scan *s, int64_t n, int64_t k)
{
    return (double)n * (double)(s->ld + k + 4) * sizeof(float);
}

struct reader {
    struct ck_descent *d;
    const int64_t *id; /* [n] */
    struct ck_first_error error;
};

static int64_t chunk_rows(const struct ck_descent *d, int64_t chunk)
{
    int64_t left = d->dense.n - chunk * CHUNK;
    return left < CHUNK ? left : CHUNK;
}

static int64_t chunks(const struct ck_descent *d)
{
    return (d->dense.n + CHUNK - 1) / CHUNK;
}

static void read_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct reader *r = arg;
    int64_t at = chunk * CHUNK;
    int rc = ck_scan_get(r->d->scan, r->id + at, (int)chunk_rows(r->d, chunk),
                         r->d->x + at * r->d->scan->ld);
    if (rc)
        ck_first_error_keep(&r->error, rc);
}

static int read_rows(struct ck_descent *d)
{
    struct reader r = {.d = d};
    int64_t *id = ck_alloc_array((size_t)d->dense.n, sizeof *id), n = 0;
    if (!id)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < d->scan->rows->n; i++)
        if (!ck_scan_is_bad(d->scan, i))
            id[n++] = i;
    r.id = id;
    ck_parallel(chunks(d), read_chunk, &r);
    ck_free(id);
    return ck_first_error_raise(&r.error);
}

int ck_descent_init(struct ck_descent *d, const struct ck_scan *s, int64_t k,
                    const int64_t *min_size, const int64_t *max_size)
{
    int64_t n = s->rows->n - s->nbad;
    int rc = COKE_ENOMEM;
    *d = (struct ck_descent){.scan = s};
    CK_RETURN_IF(ck_dense_init(&d->dense, n, k, min_size, max_size));
    d->x = ck_alloc_array((size_t)n, (size_t)s->ld * sizeof *d->x);
    d->center = ck_calloc_array((size_t)k, (size_t)s->ld * sizeof *d->center);
    d->before = ck_alloc_array((size_t)n, sizeof *d->before);
    d->sum = ck_alloc_array((size_t)k, (size_t)s->ld * sizeof *d->sum);
    d->part = ck_alloc_array((size_t)k, sizeof *d->part);
    if (d->x && d->center && d->before && d->sum && d->part)
        rc = read_rows(d);
    if (rc)
        ck_descent_release(d);
    return rc;
}

void ck_descent_release(struct ck_descent *d)
{
    ck_dense_release(&d->dense);
    ck_free(d->x);
    ck_free(d->center);
    ck_free(d->before);
    ck_free(d->sum);
    ck_free(d->part);
    *d = (struct ck_descent){0};
}

/* Scores of all centers and the best one, the first of equals. */
static void score_row(struct ck_descent *d, int64_t i)
{
    const struct ck_scan *s = d->scan;
    struct ck_dense *m = &d->dense;
    const float *x = d->x + i * s->ld;
    float *score = m->score + i * m->k;
    int32_t best = 0;
    for (int64_t k = 0; k < m->k; k += 4) {
        const float *c[4];
        float four[4];
        int64_t n = m->k - k < 4 ? m->k - k : 4;
        for (int64_t v = 0; v < 4; v++)
            c[v] = d->center + (v < n ? k + v : k) * s->ld;
        s->kn->dot4(x, c, s->ld, four);
        memcpy(score + k, four, (size_t)n * sizeof *score);
    }
    for (int32_t k = 1; k < m->k; k++)
        if ((double)score[k] + m->price[k] > (double)score[best] + m->price[best])
            best = k;
    m->label[i] = best;
}

static void score_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct ck_descent *d = arg;
    for (int64_t i = 0; i < chunk_rows(d, chunk); i++)
        score_row(d, chunk * CHUNK + i);
}

/* Moves center k to the mean of its members, which are summed in the order of their list: the same
 * for every team. A center without members stays. */
static void mean_chunk(void *arg, int64_t k, int worker)
{
    (void)worker;
    struct ck_descent *d = arg;
    const struct ck_frame *f = &d->scan->frame;
    int ld = d->scan->ld, euclidean = f->metric == COKE_METRIC_EUCLIDEAN;
    double *sum = d->sum + k * ld, square = 0;
    float *c = d->center + k * ld;
    memset(sum, 0, (size_t)ld * sizeof *sum);
    for (int32_t i = d->dense.head[k]; i >= 0; i = d->dense.next[i])
        for (int j = 0; j < ld; j++)
            sum[j] += (double)d->x[(int64_t)i * ld + j];
    for (int j = 0; j < f->dim; j++)
        square += sum[j] * sum[j];
    d->part[k] = 0;
    if (d->dense.size[k] == 0 || !(square > 0 || euclidean))
        return;
    /* frame.h: the last column of the sum is the sum of the weights */
    double length = euclidean ? sum[f->dim] : sqrt(square);
    d->part[k] = euclidean ? square / length / 2 : length;
    for (int j = 0; j < f->dim; j++)
        c[j] = (float)(sum[j] / length);
    ck_frame_close(f, d->scan->kn, c);
}

static void label_rows(struct ck_descent *d)
{
    ck_parallel(chunks(d), score_chunk, d);
    ck_dense_count(&d->dense);
    ck_dense_solve(&d->dense);
}

int ck_descent_round(struct ck_descent *d)
{
    struct ck_dense *m = &d->dense;
    size_t bytes = (size_t)m->n * sizeof *m->label;
    memcpy(d->before, m->label, bytes);
    label_rows(d);
    ck_parallel(m->k, mean_chunk, d);
    d->fit = 0;
    for (int64_t k = 0; k < m->k; k++)
        d->fit += d->part[k];
    return memcmp(d->before, m->label, bytes) != 0;
}

/* What row i of the descent, row id of the input, adds to the sums of r. */
static void add_row(const struct ck_descent *d, int64_t i, int64_t id, struct ck_repair *r)
{
    const struct ck_scan *s = d->scan;
    const struct ck_dense *m = &d->dense;
    const float *score = m->score + i * m->k;
    float own = score[m->label[i]], nearest = own;
    double value = -INFINITY;
    for (int64_t k = 0; k < m->k; k++) {
        nearest = fmaxf(nearest, score[k]);
        value = fmax(value, (double)score[k] + m->price[k]);
    }
    ck_labels_set(r->labels, id, m->label[i]);
    r->primal += (double)own;
    r->nearest += (double)nearest;
    r->dual += value;
    r->off += own < nearest - 1e-6f * (float)s->longest;
    r->weight += ck_scan_weight(s, id);
    r->square += ck_frame_row_square(&s->frame, s->kn, d->x + i * s->ld);
}

int ck_descent_label(struct ck_descent *d, const float *center, struct ck_repair *r)
{
    const struct ck_scan *s = d->scan;
    struct ck_dense *m = &d->dense;
    memcpy(d->center, center, (size_t)(m->k * s->ld) * sizeof *center);
    label_rows(d);
    for (int64_t id = 0, i = 0; id < s->rows->n; id++)
        if (!ck_scan_is_bad(s, id))
            add_row(d, i++, id, r);
    for (int64_t k = 0; k < m->k; k++) {
        int64_t high = m->max_size ? m->max_size[k] : m->n;
        int64_t low = m->min_size ? m->min_size[k] : 0;
        r->dual -= m->price[k] * (double)(m->price[k] >= 0 ? low : high);
        r->price[k] = (float)m->price[k];
        r->size[k] = m->size[k];
    }
    r->dual = r->exact ? fmax(r->dual, r->primal) : NAN; /* the two sums round differently */
    r->total = m->n;
    r->bytes = (int64_t)ck_descent_bytes(s, m->n, m->k);
    ck_repair_make_prices_valid(r);
    ck_repair_count_violations(r);
    return ck_repair_scan_report(r, "final", s->rows->n, s->rows->n);
}
