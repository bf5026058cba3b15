/* start.c - initial centers and the initial dual step. */
#include "cluster/start.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A one-pass stream offers only its first rows, which it keeps readable. */
static int64_t reachable(const struct ck_scan *s)
{
    return s->rows->one_pass ? s->rows->head : s->rows->n;
}

/* `count` different usable rows as inner vectors x [count][ld], without weights. `draw` selects
 * an independent permutation, so that centers, k-means++ and the gap use different samples. */
static int sample_rows(const struct ck_scan *s, uint64_t seed, uint64_t draw, int64_t count,
                       float *x)
{
    struct ck_perm perm;
    struct ck_scan plain = *s;
    plain.weight = NULL;
    int64_t n = reachable(s), got = 0;
    ck_perm_init(&perm, seed, CK_RNG_INIT, draw, (uint64_t)n);
    for (int64_t at = 0; at < n && got < count; at++) {
        int64_t row = (int64_t)ck_perm_at(&perm, (uint64_t)at);
        if (ck_scan_is_bad(s, row))
            continue;
        int rc = ck_scan_get(&plain, &row, 1, x + got * s->ld);
        if (rc)
            return rc;
        got++;
    }
    if (got < count)
        return ck_fail(COKE_EUSAGE, "%lld clusters, but only %lld rows to start from",
                       (long long)count, (long long)got);
    return COKE_OK;
}

/* One step of k-means++: distances to the newest center, on all threads. */
struct farther {
    const struct ck_scan *s;
    const float *x, *center;
    int64_t n;
    double *weight; /* [n] squared distance to the nearest center so far */
};

/* Of two inner rows without weights. */
static double square(const struct ck_scan *s, const float *x, const float *y)
{
    if (s->frame.metric == COKE_METRIC_EUCLIDEAN)
        return ck_frame_square(&s->frame, s->kn, x, y);
    double d = 2 - 2 * (double)s->kn->dot(x, y, s->ld);
    return d > 0 ? d : 0;
}

enum { CHUNK = 512 };

static void update_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct farther *f = arg;
    int64_t end = (chunk + 1) * CHUNK < f->n ? (chunk + 1) * CHUNK : f->n;
    for (int64_t i = chunk * CHUNK; i < end; i++)
        f->weight[i] = fmin(f->weight[i], square(f->s, f->x + i * f->s->ld, f->center));
}

/* unit in [0, 1). Sequential sums, so that the draw does not depend on the team. */
static int64_t draw_by_weight(const double *weight, int64_t n, double unit)
{
    double total = 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        total += weight[i];
    for (int64_t i = 0; i < n; i++) {
        sum += weight[i];
        if (sum > unit * total)
            return i;
    }
    return n - 1;
}

/* k-means++ on a subsample of at most 32 rows per center: O(32 k^2 dim). A picked row gets
 * weight 0, so it is not drawn again. */
static int plus_plus(const struct ck_scan *s, uint64_t seed, int64_t k, float *center)
{
    int64_t n = reachable(s) - s->nbad;
    n = n < 32 * k ? n : 32 * k;
    if (n < k)
        return ck_fail(COKE_EUSAGE, "%lld clusters, but only %lld rows to start from",
                       (long long)k, (long long)n);
    int rc = COKE_ENOMEM;
    float *x = ck_alloc_array((size_t)n, (size_t)s->ld * sizeof *x);
    double *weight = ck_alloc_array((size_t)n, sizeof *weight);
    if (!x || !weight)
        goto done;
    CK_TRY(sample_rows(s, seed, 1, n, x));
    for (int64_t i = 0; i < n; i++)
        weight[i] = INFINITY;
    int64_t pick = 0;
    for (int64_t c = 0; c < k; c++) {
        memcpy(center + c * s->ld, x + pick * s->ld, (size_t)s->ld * sizeof *center);
        struct farther f = {s, x, center + c * s->ld, n, weight};
        ck_parallel((n + CHUNK - 1) / CHUNK, update_chunk, &f);
        weight[pick] = 0;
        pick = draw_by_weight(weight, n, ck_rng_unit(seed, CK_RNG_INIT, (uint64_t)c, 7));
    }
done:
    ck_free(x);
    ck_free(weight);
    return rc;
}

/* Both choose rows, whose last column then becomes that of a center. */
int ck_start_centers(const struct ck_scan *s, enum ck_init how, uint64_t seed, int64_t k,
                     float *center)
{
    CK_RETURN_IF(how == CK_INIT_PLUSPLUS ? plus_plus(s, seed, k, center)
                                         : sample_rows(s, seed, 0, k, center));
    for (int64_t i = 0; i < k && s->frame.metric == COKE_METRIC_EUCLIDEAN; i++)
        ck_frame_close(&s->frame, s->kn, center + i * s->ld);
    return COKE_OK;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

struct gaps {
    const struct ck_kernels *kn;
    const float *center, *x; /* [k][ld], [n][ld] */
    int64_t k, n, count, ld;
    float *gap; /* [count] */
};

/* Lead of the best center over the second for the i-th of `count` rows, evenly from x: O(k dim). */
static void gap_chunk(void *arg, int64_t i, int worker)
{
    (void)worker;
    const struct gaps *g = arg;
    float best = -INFINITY, second = -INFINITY, score[4];
    int64_t ld = g->ld;
    const float *x = g->x + ck_sample_at(g->n, g->count, i) * ld;
    for (int64_t c = 0; c < g->k; c += 4) {
        const float *center[4];
        int n = (int)(g->k - c < 4 ? g->k - c : 4);
        for (int v = 0; v < 4; v++)
            center[v] = g->center + (v < n ? c + v : c) * ld;
        g->kn->dot4(x, center, (int)ld, score);
        for (int v = 0; v < n; v++) {
            second = fmaxf(second, fminf(best, score[v]));
            best = fmaxf(best, score[v]);
        }
    }
    g->gap[i] = best - second;
}

enum { LEAD_ROWS = 512 };

int ck_start_lead(const struct ck_kernels *kn, const float *x, int64_t n, int ld,
                  const float *center, int64_t k, double *gap)
{
    struct gaps g = {.kn = kn, .center = center, .x = x, .k = k, .n = n, .ld = ld};
    g.count = n < LEAD_ROWS ? n : LEAD_ROWS;
    g.gap = ck_alloc_array((size_t)g.count, sizeof *g.gap);
    if (!g.gap)
        return COKE_ENOMEM;
    ck_parallel(g.count, gap_chunk, &g);
    qsort(g.gap, (size_t)g.count, sizeof *g.gap, ascending);
    *gap = (double)g.gap[g.count / 2];
    ck_free(g.gap);
    return COKE_OK;
}

int ck_start_gap(const struct ck_scan *s, uint64_t seed, const float *center, int64_t k,
                 double *gap)
{
    int64_t n = reachable(s) - s->nbad;
    n = n < LEAD_ROWS ? n : LEAD_ROWS;
    int rc = COKE_ENOMEM;
    *gap = 0;
    if (k < 2)
        return COKE_OK;
    float *x = ck_alloc_array((size_t)n, (size_t)s->ld * sizeof *x);
    if (!x)
        goto done;
    CK_TRY(sample_rows(s, seed, 2, n, x));
    CK_TRY(ck_start_lead(s->kn, x, n, s->ld, center, k, gap));
done:
    ck_free(x);
    return rc;
}

/* The step grows with the gap and the batch, less than linearly where a cluster receives
 * several rows per batch, and more where it receives fewer than 48 per epoch. */
double ck_start_eta(double gap, int64_t batch, int64_t k, int64_t n)
{
    double crowd = (double)batch / (double)k, visits = (double)n / (double)k;
    return 0.25 * gap * (double)batch / fmax(1, pow(crowd, 0.75)) * fmax(1, 48 / visits);
}

void ck_start_random(uint64_t seed, int head, int64_t k, int dim, float *center)
{
    for (int64_t i = 0; i < k; i++) {
        double sum = 0, g[2];
        float *v = center + i * dim;
        for (int j = 0; j < dim; j++) {
            if (j % 2 == 0)
                ck_rng_normal(seed, CK_RNG_INIT, (uint64_t)i,
                              (uint32_t)head << 16 | (uint32_t)j, g);
            v[j] = (float)g[j % 2];
            sum += (double)v[j] * (double)v[j];
        }
        for (int j = 0; j < dim; j++)
            v[j] = (float)((double)v[j] / fmax(sqrt(sum), 1e-12));
    }
}
