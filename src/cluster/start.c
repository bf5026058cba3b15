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

enum { CHUNK = 512, TRIALS = 16 };

/* Greedy k-means++ under way. In each step, on all threads, candidates are compared and one
 * becomes a center. */
struct trials {
    const struct ck_scan *s;
    float *x; /* [n][ld] a sample of the rows */
    int64_t n;
    double *weight;                 /* [n] squared distance to the nearest center so far */
    double *up;                     /* [n] sums of the weights */
    int count;                      /* of candidates */
    const float *candidate[TRIALS]; /* rows of x */
    double *left;                   /* [chunks][TRIALS] sums of the weights that would remain */
    const float *center;            /* the newest */
};

/* Of two inner rows without weights. */
static double square(const struct ck_scan *s, const float *x, const float *y)
{
    if (s->frame.metric == COKE_METRIC_EUCLIDEAN)
        return ck_frame_square(&s->frame, s->kn, x, y);
    double d = 2 - 2 * (double)s->kn->dot(x, y, s->ld);
    return d > 0 ? d : 0;
}

/* The same to up to four rows at once; by cosine the row x is read once for all. */
static void squares(const struct ck_scan *s, const float *x, const float *const *y, int n,
                    double *out)
{
    const float *four[4];
    float dot[4];
    if (s->frame.metric == COKE_METRIC_EUCLIDEAN) {
        for (int v = 0; v < n; v++)
            out[v] = square(s, x, y[v]);
        return;
    }
    for (int v = 0; v < 4; v++)
        four[v] = y[v < n ? v : 0];
    s->kn->dot4(x, four, s->ld, dot);
    for (int v = 0; v < n; v++)
        out[v] = fmax(0, 2 - 2 * (double)dot[v]);
}

static void try_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct trials *t = arg;
    int64_t end = (chunk + 1) * CHUNK < t->n ? (chunk + 1) * CHUNK : t->n;
    double *left = t->left + chunk * TRIALS;
    for (int v = 0; v < t->count; v++)
        left[v] = 0;
    for (int64_t i = chunk * CHUNK; i < end; i++) {
        if (t->weight[i] == 0) /* as near as possible already */
            continue;
        for (int v = 0; v < t->count; v += 4) {
            int n = t->count - v < 4 ? t->count - v : 4;
            double d[4];
            squares(t->s, t->x + i * t->s->ld, t->candidate + v, n, d);
            for (int u = 0; u < n; u++)
                left[v + u] += fmin(t->weight[i], d[u]);
        }
    }
}

static void update_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct trials *t = arg;
    int64_t end = (chunk + 1) * CHUNK < t->n ? (chunk + 1) * CHUNK : t->n;
    for (int64_t i = chunk * CHUNK; i < end; i++)
        t->weight[i] = fmin(t->weight[i], square(t->s, t->x + i * t->s->ld, t->center));
}

/* The row that covers the fraction `unit`, in [0, 1), of the sums up[i] = weight[0] + ... +
 * weight[i]: never one of weight 0, unless all are. */
static int64_t draw_by_weight(const double *up, int64_t n, double unit)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (up[middle] > unit * up[n - 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int count_trials(int64_t k)
{
    int count = 2 + (int)log((double)k);
    return count < TRIALS ? count : TRIALS;
}

/* The next center: of some rows drawn by weight the one that leaves the smallest sum of weights,
 * the first of equals. Where all weights are 0, every row is a copy of a center. */
static int64_t pick_greedily(struct trials *t, uint64_t seed, int64_t c)
{
    int64_t chunks = (t->n + CHUNK - 1) / CHUNK, row[TRIALS], best = 0;
    double least = INFINITY, sum = 0;
    for (int64_t i = 0; i < t->n; i++) /* in sequence: the same for every team */
        t->up[i] = sum += t->weight[i];
    for (int v = 0; v < t->count; v++) {
        double unit = ck_rng_unit(seed, CK_RNG_INIT, (uint64_t)c, 7 + (uint32_t)v);
        row[v] = draw_by_weight(t->up, t->n, unit);
        t->candidate[v] = t->x + row[v] * t->s->ld;
    }
    ck_parallel(chunks, try_chunk, t);
    for (int v = 0; v < t->count; v++) {
        sum = 0;
        for (int64_t i = 0; i < chunks; i++)
            sum += t->left[i * TRIALS + v];
        if (sum < least) {
            least = sum;
            best = row[v];
        }
    }
    return best;
}

int64_t ck_start_rows(const struct ck_scan *s, int64_t k)
{
    const int64_t few = 4096;
    int64_t n = reachable(s) - s->nbad, most = 8 * k > few ? 8 * k : few;
    return n < most ? n : most;
}

double ck_start_cost(const struct ck_scan *s, int64_t k)
{
    return (double)ck_start_rows(s, k) * (double)k * (double)s->ld * count_trials(k);
}

static int begin_trials(struct trials *t, const struct ck_scan *s, uint64_t seed, int64_t k)
{
    int64_t n = ck_start_rows(s, k), chunks = (n + CHUNK - 1) / CHUNK;
    *t = (struct trials){.s = s, .n = n, .count = count_trials(k)};
    if (n < k)
        return ck_fail(COKE_EUSAGE, "%lld clusters, but only %lld rows to start from",
                       (long long)k, (long long)n);
    t->x = ck_alloc_array((size_t)n, (size_t)s->ld * sizeof *t->x);
    t->weight = ck_alloc_array((size_t)n, sizeof *t->weight);
    t->up = ck_alloc_array((size_t)n, sizeof *t->up);
    t->left = ck_alloc_array((size_t)chunks, TRIALS * sizeof *t->left);
    if (!t->x || !t->weight || !t->up || !t->left)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        t->weight[i] = INFINITY;
    return sample_rows(s, seed, 1, n, t->x);
}

static void end_trials(struct trials *t)
{
    ck_free(t->x);
    ck_free(t->weight);
    ck_free(t->up);
    ck_free(t->left);
}

/* Accounts for the center c [ld]. */
static void add_center(struct trials *t, const float *c)
{
    t->center = c;
    ck_parallel((t->n + CHUNK - 1) / CHUNK, update_chunk, t);
}

/* Draws a row as center number c; the sample is in random order, so the first one is row 0. It gets weight 0, so that it is not drawn again. */
static void draw_center(struct trials *t, uint64_t seed, int64_t c, float *center)
{
    int64_t row = isinf(t->weight[0]) ? 0 : pick_greedily(t, seed, c);
    memcpy(center, t->x + row * t->s->ld, (size_t)t->s->ld * sizeof *center);
    add_center(t, center);
    t->weight[row] = 0;
}

/* Both choose rows, whose last column then becomes that of a center. */
/* Draws the centers with redraw[c] != 0, or all where redraw is NULL. */
static int plus_plus(const struct ck_scan *s, uint64_t seed, const uint8_t *redraw, int64_t k,
                     float *center)
{
    struct trials t;
    int rc;
    CK_TRY(begin_trials(&t, s, seed, k));
    for (int64_t c = 0; redraw && c < k; c++)
        if (!redraw[c])
            add_center(&t, center + c * s->ld);
    for (int64_t c = 0; c < k; c++)
        if (!redraw || redraw[c])
            draw_center(&t, seed, c, center + c * s->ld);
done:
    end_trials(&t);
    return rc;
}

/* The same with random rows. */
static int draw_rows(const struct ck_scan *s, uint64_t seed, const uint8_t *redraw, int64_t k,
                     float *center)
{
    int64_t count = 0;
    int rc;
    for (int64_t c = 0; c < k; c++)
        count += redraw[c];
    float *x = ck_alloc_array((size_t)count, (size_t)s->ld * sizeof *x);
    if (!x)
        return COKE_ENOMEM;
    CK_TRY(sample_rows(s, seed, 0, count, x));
    for (int64_t c = 0, at = 0; c < k; c++)
        if (redraw[c])
            memcpy(center + c * s->ld, x + at++ * s->ld, (size_t)s->ld * sizeof *center);
done:
    ck_free(x);
    return rc;
}

/* The last column of a row becomes that of a center. */
static void close_centers(const struct ck_scan *s, int64_t k, float *center)
{
    for (int64_t i = 0; i < k && s->frame.metric == COKE_METRIC_EUCLIDEAN; i++)
        ck_frame_close(&s->frame, s->kn, center + i * s->ld);
}

int ck_start_centers(const struct ck_scan *s, enum ck_init how, uint64_t seed, int64_t k,
                     float *center)
{
    CK_RETURN_IF(how == CK_INIT_PLUSPLUS ? plus_plus(s, seed, NULL, k, center)
                                         : sample_rows(s, seed, 0, k, center));
    close_centers(s, k, center);
    return COKE_OK;
}

int ck_start_redraw(const struct ck_scan *s, enum ck_init how, uint64_t seed,
                    const uint8_t *redraw, int64_t k, float *center)
{
    CK_RETURN_IF(how == CK_INIT_PLUSPLUS ? plus_plus(s, seed, redraw, k, center)
                                         : draw_rows(s, seed, redraw, k, center));
    close_centers(s, k, center);
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
