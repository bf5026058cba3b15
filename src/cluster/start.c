/* start.c - initial centers and the initial dual step. */
#include "cluster/start.h"
#include "core/callbacks.h"
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

enum { CHUNK = 512, BLOCK = 32, TRIALS = 16, POOL = 48, POOL_PICKS = 12 };

/* How greedy k-means++ looks for centers. */
struct plan {
    int64_t rows; /* of the sample */
    int count;    /* of candidates */
    int picks;    /* centers from the same candidates */
};

/* Greedy k-means++ under way: candidates are drawn, and of these the next centers are chosen: one,
 * or from a larger pool several, whose distances are computed as a product of matrices. */
struct trials {
    const struct ck_scan *s;
    float *x; /* [n][ld] a sample of the rows */
    int64_t n;
    double *weight;               /* [n] squared distance to the nearest center so far */
    double *up;                   /* [n] sums of the weights */
    int count;                    /* of candidates */
    int picks;                    /* centers from the same candidates */
    int left;                     /* of these */
    int64_t row[POOL];            /* of the candidates */
    const float *candidate[POOL]; /* rows of x */
    float *panel;                 /* a pool: the same, packed for dense_tile; else NULL */
    float *norm;                  /* [n] a pool: squared lengths of the rows */
    float pool_norm[POOL];        /* and of the candidates */
    float *far;                   /* [n][count] squared distances to them */
    double *sum;                  /* [chunks][count] of the weights that would remain */
    int fresh;                    /* are the distances still to be computed? */
    int chosen;                   /* the candidate that became a center last; -1 = none, or the
                                   * weights account for it */
    const float *center;          /* the newest of those that are not candidates */
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
                    float *out)
{
    const float *four[4];
    float dot[4];
    if (s->frame.metric == COKE_METRIC_EUCLIDEAN) {
        for (int v = 0; v < n; v++)
            out[v] = (float)square(s, x, y[v]);
        return;
    }
    for (int v = 0; v < 4; v++)
        four[v] = y[v < n ? v : 0];
    s->kn->dot4(x, four, s->ld, dot);
    for (int v = 0; v < n; v++)
        out[v] = fmaxf(0, 2 - 2 * dot[v]);
}

static int64_t chunk_end(const struct trials *t, int64_t chunk)
{
    return (chunk + 1) * CHUNK < t->n ? (chunk + 1) * CHUNK : t->n;
}

/* Squared distances of a tile of rows from `at` to a pool, from products: |x|^2 + |y|^2 - 2 x.y. */
static void compare_tile(struct trials *t, int64_t at, int64_t end)
{
    static const float bias[CK_PANEL_MAX];
    float limit[CK_TILE], out[CK_TILE * CK_PANEL_MAX];
    uint64_t hits[CK_TILE];
    int width = t->s->kn->panel;
    int rows = (int)(end - at < CK_TILE ? end - at : CK_TILE);
    for (int i = 0; i < CK_TILE; i++)
        limit[i] = -INFINITY;
    for (int first = 0; first < POOL; first += width) {
        t->s->kn->dense_tile(t->panel + (int64_t)first * t->s->ld, bias, t->x + at * t->s->ld,
                             t->s->ld, limit, hits, out);
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < width && first + v < POOL; v++) {
                float d = t->norm[at + i] + t->pool_norm[first + v] - 2 * out[i * width + v];
                t->far[(at + i) * POOL + first + v] = d > 0 ? d : 0;
            }
    }
}

/* Distances of a chunk to all candidates. */
static void compare_chunk(struct trials *t, int64_t chunk)
{
    int64_t end = chunk_end(t, chunk), ld = t->s->ld;
    for (int64_t i = chunk * CHUNK; i < end && t->panel; i += CK_TILE)
        compare_tile(t, i, end);
    for (int64_t i = chunk * CHUNK; i < end && !t->panel; i++)
        for (int v = 0; v < t->count && t->weight[i] > 0; v += 4)
            squares(t->s, t->x + i * ld, t->candidate + v, t->count - v < 4 ? t->count - v : 4,
                    t->far + i * t->count + v);
}

/* The weights after the last choice. */
static void choose_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct trials *t = arg;
    for (int64_t i = chunk * CHUNK; i < chunk_end(t, chunk); i++)
        if (t->weight[i] > 0)
            t->weight[i] = fmin(t->weight[i], (double)t->far[i * t->count + t->chosen]);
}

/* What each candidate would leave. All that a choice needs of a chunk is done at once, since a team
 * takes as long to start as these chunks to compute. */
static void try_chunk(void *arg, int64_t chunk, int worker)
{
    struct trials *t = arg;
    int64_t end = chunk_end(t, chunk);
    double *sum = t->sum + chunk * t->count;
    if (t->fresh)
        compare_chunk(t, chunk);
    else if (t->chosen >= 0)
        choose_chunk(t, chunk, worker);
    memset(sum, 0, (size_t)t->count * sizeof *sum);
    for (int64_t at = chunk * CHUNK; at < end; at += BLOCK) {
        float part[POOL] = {0};
        for (int64_t i = at; i < end && i < at + BLOCK; i++) {
            const float *far = t->far + i * t->count;
            float weight = (float)t->weight[i];
            if (!(weight > 0)) /* as near as possible already */
                continue;
            for (int v = 0; v < t->count; v++)
                part[v] += far[v] < weight ? far[v] : weight;
        }
        for (int v = 0; v < t->count; v++)
            sum[v] += (double)part[v];
    }
}

static void update_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct trials *t = arg;
    for (int64_t i = chunk * CHUNK; i < chunk_end(t, chunk); i++)
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

static int64_t chunks_of(const struct trials *t)
{
    return (t->n + CHUNK - 1) / CHUNK;
}

static void draw_candidates(struct trials *t, uint64_t seed, int64_t c)
{
    double sum = 0;
    int width = t->s->kn->panel;
    if (t->chosen >= 0)
        ck_parallel(chunks_of(t), choose_chunk, t);
    t->chosen = -1;
    for (int64_t i = 0; i < t->n; i++) /* in sequence: the same for every team */
        t->up[i] = sum += t->weight[i];
    for (int v = 0; v < t->count; v++) {
        double unit = ck_rng_unit(seed, CK_RNG_INIT, (uint64_t)c, 7 + (uint32_t)v);
        t->row[v] = draw_by_weight(t->up, t->n, unit);
        t->candidate[v] = t->x + t->row[v] * t->s->ld;
        if (!t->panel)
            continue;
        t->pool_norm[v] = t->norm[t->row[v]];
        ck_panel_set(t->panel + v / width * (int64_t)width * t->s->ld, width, v % width,
                     t->candidate[v], t->s->ld);
    }
    t->left = t->picks;
    t->fresh = 1;
}

/* The candidate that leaves the smallest sum of weights, the first of equals, of those that are not
 * centers yet; -1 = there is none. */
static int best_candidate(struct trials *t)
{
    double least = INFINITY;
    int best = -1;
    ck_parallel(chunks_of(t), try_chunk, t);
    t->fresh = 0;
    t->chosen = -1;
    for (int v = 0; v < t->count; v++) {
        double sum = 0;
        for (int64_t i = 0; i < chunks_of(t); i++)
            sum += t->sum[i * t->count + v];
        if (sum < least && t->weight[t->row[v]] > 0) {
            least = sum;
            best = v;
        }
    }
    return best;
}

/* The row that is the next center. Where all weights are 0, every row is a copy of a center. */
static int64_t pick_greedily(struct trials *t, uint64_t seed, int64_t c)
{
    int best = t->left > 0 ? best_candidate(t) : -1;
    if (best < 0) {
        draw_candidates(t, seed, c);
        best = best_candidate(t);
    }
    t->left--;
    t->chosen = best;
    return t->row[best < 0 ? 0 : best];
}

static int count_trials(int64_t k)
{
    int count = 2 + (int)log((double)k);
    return count < TRIALS ? count : TRIALS;
}

static int64_t sample_size(const struct ck_scan *s, int64_t least)
{
    const int64_t few = 4096;
    int64_t n = reachable(s) - s->nbad, most = least > few ? least : few;
    return n < most ? n : most;
}

/* Fresh candidates for each center where that takes a fraction of a second; else a pool. */
static struct plan make_plan(const struct ck_scan *s, int64_t k)
{
    const double affordable = 4e9;
    struct plan p = {sample_size(s, 8 * k), count_trials(k), 1};
    if ((double)p.rows * (double)k * (double)s->ld * p.count >= affordable)
        p = (struct plan){sample_size(s, 4 * k), POOL, POOL_PICKS};
    return p;
}

/* The choice among the candidates costs as much as `choice` columns; 8-bit products, of which epochs
 * mostly consist, are about four times as fast as those in f32. */
int ck_start_is_cheap(const struct ck_scan *s, int64_t k)
{
    const double choice = 128, faster = 4, most_bytes = 256 << 20;
    struct plan p = make_plan(s, k);
    double rows = (double)p.rows, ld = (double)s->ld, n = (double)(s->rows->n - s->nbad);
    double products = rows * (double)k * (ld + choice) * p.count / p.picks;
    if (s->rows->one_pass)
        return 0;
    return p.picks == 1 || (products * faster <= n * (double)k * ld &&
                            rows * (ld + p.count) * sizeof(float) <= most_bytes);
}

/* Room for a pool of candidates. */
static int begin_pool(struct trials *t)
{
    const struct ck_kernels *kn = t->s->kn;
    size_t columns = (size_t)((POOL + kn->panel - 1) / kn->panel * kn->panel);
    t->panel = ck_calloc_array(columns, (size_t)t->s->ld * sizeof *t->panel);
    t->norm = ck_alloc_array((size_t)t->n, sizeof *t->norm);
    if (!t->panel || !t->norm)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < t->n; i++)
        t->norm[i] = kn->dot(t->x + i * t->s->ld, t->x + i * t->s->ld, t->s->ld);
    return COKE_OK;
}

static int begin_trials(struct trials *t, const struct ck_scan *s, uint64_t seed, int64_t k)
{
    struct plan p = make_plan(s, k);
    *t = (struct trials){.s = s, .n = p.rows, .count = p.count, .picks = p.picks, .chosen = -1};
    if (t->n < k)
        return ck_fail(COKE_EUSAGE, "%lld clusters, but only %lld rows to start from",
                       (long long)k, (long long)t->n);
    size_t n = (size_t)t->n, count = (size_t)t->count;
    t->x = ck_calloc_array(n + CK_TILE, (size_t)s->ld * sizeof *t->x);
    t->weight = ck_alloc_array(n, sizeof *t->weight);
    t->up = ck_alloc_array(n, sizeof *t->up);
    t->far = ck_alloc_array(n, count * sizeof *t->far);
    t->sum = ck_alloc_array((size_t)chunks_of(t), count * sizeof *t->sum);
    if (!t->x || !t->weight || !t->up || !t->far || !t->sum)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < t->n; i++)
        t->weight[i] = INFINITY;
    CK_RETURN_IF(sample_rows(s, seed, 1, t->n, t->x));
    return p.picks > 1 ? begin_pool(t) : COKE_OK;
}

static void end_trials(struct trials *t)
{
    ck_free(t->x);
    ck_free(t->weight);
    ck_free(t->up);
    ck_free(t->panel);
    ck_free(t->norm);
    ck_free(t->far);
    ck_free(t->sum);
}

/* Accounts for the center c [ld], which may be none of the rows. */
static void add_center(struct trials *t, const float *c)
{
    t->center = c;
    ck_parallel(chunks_of(t), update_chunk, t);
}

/* Draws a row as center number c; the sample is in random order, so the first one is row 0. It
 * gets weight 0, so that it is not drawn again. */
static void draw_center(struct trials *t, uint64_t seed, int64_t c, float *center)
{
    int64_t row = 0;
    if (isinf(t->weight[0]))
        add_center(t, t->x);
    else
        row = pick_greedily(t, seed, c);
    memcpy(center, t->x + row * t->s->ld, (size_t)t->s->ld * sizeof *center);
    t->weight[row] = 0;
}

/* Draws the centers with redraw[c] != 0, or all where redraw is NULL. */
static int plus_plus(const struct ck_scan *s, uint64_t seed, const uint8_t *redraw, int64_t k,
                     float *center, const struct coke_callbacks *callbacks)
{
    struct trials t;
    int rc;
    CK_TRY(begin_trials(&t, s, seed, k));
    for (int64_t c = 0; redraw && c < k; c++)
        if (!redraw[c])
            add_center(&t, center + c * s->ld);
    for (int64_t c = 0; c < k; c++) {
        if (!redraw || redraw[c])
            draw_center(&t, seed, c, center + c * s->ld);
        if (t.panel && c % POOL_PICKS == 0)
            CK_TRY(ck_progress_count(callbacks, "init", c, k, "centers"));
    }
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
                     float *center, const struct coke_callbacks *callbacks)
{
    CK_RETURN_IF(how == CK_INIT_PLUSPLUS ? plus_plus(s, seed, NULL, k, center, callbacks)
                                         : sample_rows(s, seed, 0, k, center));
    close_centers(s, k, center);
    return COKE_OK;
}

int ck_start_redraw(const struct ck_scan *s, enum ck_init how, uint64_t seed,
                    const uint8_t *redraw, int64_t k, float *center,
                    const struct coke_callbacks *callbacks)
{
    CK_RETURN_IF(how == CK_INIT_PLUSPLUS ? plus_plus(s, seed, redraw, k, center, callbacks)
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
