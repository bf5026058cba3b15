/* knn.c - k-nearest-neighbor classification, weighted by cosine similarity.
 *
 * Each block of queries scans the whole bank, panel by panel; the kernel returns only scores
 * that reach a query's worst neighbor so far, which soon are few. */
#include "eval/knn.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "kernels/kernels.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Queries per block: enough to amortize loading a panel from memory, few enough to stay in the
 * cache beside it. */
enum { BLOCK = 64 };

struct neighbour {
    float score;
    int32_t label;
    int64_t row; /* in the job's bank */
};

/* Working memory of one worker. */
struct scratch {
    float *x;               /* [BLOCK][ld] */
    struct neighbour *heap; /* [BLOCK][max] heaps, the worst neighbor on top */
    double *vote;           /* [classes], zero between queries */
    double *weight;         /* [max] */
    int64_t n[BLOCK];       /* neighbours found */
    float limit[BLOCK];     /* scores below it are useless */
};

/* One call of ck_knn. During the parallel loops everything is read-only except scratch,
 * predicted (each query by one worker) and the atomics. */
struct run {
    const struct ck_knn_job *job;
    const struct ck_kernels *kn;
    const float *query;
    const int32_t *query_label; /* or NULL */
    int64_t nquery;
    int leave_one_out;
    int ld;
    int64_t max;    /* the largest k, at most voters */
    int64_t voters; /* rows of the bank with a label */
    int64_t *row;   /* [voters] their rows in the bank */
    float *panels;  /* [npanels][8][ld/8][kn->panel] */
    float *bias;    /* [npanels][kn->panel] 0, -inf where there is no row */
    int64_t npanels;
    struct scratch *scratch; /* [team] */
    int team;
    int32_t *predicted; /* [nk][nquery] or NULL */
    _Atomic int64_t right[CK_KNN_MAX_K];
    _Atomic int64_t bad; /* lowest row that is not finite; INT64_MAX = none */
};

/* ---- rows ---- */

/* Keeps the lowest row, independent of thread timing. */
static void note_bad(struct run *r, int64_t row)
{
    int64_t seen = r->bad;
    while (row < seen && !atomic_compare_exchange_weak(&r->bad, &seen, row))
        ;
}

/* Copies a row, padded and normalized; a zero vector stays. Returns 0 if it is not finite. */
static int copy_row(const struct run *r, const float *from, float *to)
{
    int dim = r->job->dim;
    memcpy(to, from, (size_t)dim * sizeof *to);
    memset(to + dim, 0, (size_t)(r->ld - dim) * sizeof *to);
    return isfinite(ck_normalize(r->kn, to, r->ld));
}

static void pack_panel(void *arg, int64_t p, int worker)
{
    struct run *r = arg;
    int width = r->kn->panel;
    float *x = r->scratch[worker].x, *panel = r->panels + p * width * r->ld;
    memset(panel, 0, (size_t)width * (size_t)r->ld * sizeof *panel);
    for (int c = 0; c < width; c++) {
        int64_t i = p * width + c;
        r->bias[i] = i < r->voters ? 0 : -INFINITY;
        if (i >= r->voters)
            continue;
        if (!copy_row(r, r->job->bank + r->row[i] * r->job->dim, x))
            note_bad(r, r->row[i]);
        ck_panel_set(panel, width, c, x, r->ld);
    }
}

/* ---- nearest neighbors ---- */

static int is_worse(const struct neighbour *a, const struct neighbour *b)
{
    return a->score != b->score ? a->score < b->score : a->row > b->row;
}

static void sink_top(struct neighbour *heap, int64_t n)
{
    struct neighbour moving = heap[0];
    int64_t at = 0;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child + 1 < n && is_worse(&heap[child + 1], &heap[child]))
            child++;
        if (child >= n || !is_worse(&heap[child], &moving))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void rise_last(struct neighbour *heap, int64_t n)
{
    struct neighbour moving = heap[n - 1];
    int64_t at = n - 1;
    while (at > 0 && is_worse(&moving, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moving;
}

/* Adds x to the heap of query q if it is among the nearest. */
static void offer(const struct run *r, struct scratch *s, int q, const struct neighbour *x)
{
    struct neighbour *heap = s->heap + q * r->max;
    if (s->n[q] < r->max) {
        heap[s->n[q]++] = *x;
        rise_last(heap, s->n[q]);
    } else if (is_worse(&heap[0], x)) {
        heap[0] = *x;
        sink_top(heap, r->max);
    }
    if (s->n[q] == r->max)
        s->limit[q] = heap[0].score;
}

static void offer_hits(const struct run *r, struct scratch *s, int64_t query, int q,
                       int64_t first, uint64_t hits, const float *score)
{
    for (; hits; hits &= hits - 1) {
        int c = __builtin_ctzll(hits);
        int64_t row = r->row[first + c];
        if (r->leave_one_out && row == query)
            continue;
        offer(r, s, q, &(struct neighbour){score[c], r->job->bank_label[row], row});
    }
}

static void search_block(const struct run *r, struct scratch *s, int64_t first_query, int n)
{
    float out[CK_TILE * CK_PANEL_MAX];
    uint64_t hits[CK_TILE];
    int width = r->kn->panel;
    for (int q = 0; q < BLOCK; q++) {
        s->n[q] = 0;
        s->limit[q] = q < n ? -FLT_MAX : INFINITY;
    }
    for (int64_t p = 0; p < r->npanels; p++)
        for (int t = 0; t < n; t += CK_TILE) {
            unsigned mask =
                r->kn->dense_tile(r->panels + p * width * r->ld, r->bias + p * width,
                                  s->x + (int64_t)t * r->ld, r->ld, s->limit + t, hits, out);
            for (; mask; mask &= mask - 1) {
                int i = __builtin_ctz(mask);
                offer_hits(r, s, first_query + t + i, t + i, p * width, hits[i],
                           out + i * width);
            }
        }
}

/* ---- votes ---- */

static int nearer_first(const void *a, const void *b)
{
    return is_worse(a, b) - is_worse(b, a);
}

/* The class with the most votes of the n nearest. */
static int32_t elect(struct scratch *s, const struct neighbour *near, int64_t n)
{
    int32_t best = -1;
    for (int64_t i = 0; i < n; i++)
        s->vote[near[i].label] += s->weight[i];
    for (int64_t i = 0; i < n; i++) {
        int32_t c = near[i].label;
        if (best < 0 || s->vote[c] > s->vote[best] || (s->vote[c] == s->vote[best] && c < best))
            best = c;
    }
    for (int64_t i = 0; i < n; i++)
        s->vote[near[i].label] = 0;
    return best;
}

static void judge(struct run *r, struct scratch *s, int64_t query, int q)
{
    struct neighbour *near = s->heap + q * r->max;
    int64_t n = s->n[q];
    qsort(near, (size_t)n, sizeof *near, nearer_first);
    for (int64_t i = 0; r->job->nearest && i < r->job->k[0]; i++)
        r->job->nearest[query * r->job->k[0] + i] = i < n ? (int32_t)near[i].row : -1;
    /* Relative to the nearest, so that a small temperature cannot overflow. */
    for (int64_t i = 0; i < n; i++)
        s->weight[i] =
            exp(((double)near[i].score - (double)near[0].score) / r->job->temperature);
    for (int j = 0; j < r->job->nk; j++) {
        int32_t c = elect(s, near, n < r->job->k[j] ? n : r->job->k[j]);
        if (r->predicted)
            r->predicted[j * r->nquery + query] = c;
        if (r->query_label && r->query_label[query] >= 0)
            r->right[j] += c == r->query_label[query];
    }
}

static void ask_block(void *arg, int64_t block, int worker)
{
    struct run *r = arg;
    struct scratch *s = &r->scratch[worker];
    int64_t first = block * BLOCK;
    int n = r->nquery - first < BLOCK ? (int)(r->nquery - first) : BLOCK;
    memset(s->x, 0, (size_t)BLOCK * (size_t)r->ld * sizeof *s->x);
    for (int q = 0; q < n; q++)
        if (!copy_row(r, r->query + (first + q) * r->job->dim, s->x + (int64_t)q * r->ld))
            note_bad(r, first + q);
    search_block(r, s, first, n);
    for (int q = 0; q < n; q++)
        judge(r, s, first + q, q);
}

/* ---- the whole ---- */

struct ck_knn_job ck_knn_job_default(void)
{
    return (struct ck_knn_job){.temperature = 0.07, .nk = 2, .k = {20, 200}};
}

static int check_labels(const int32_t *label, int64_t n, int32_t classes, const char *what)
{
    for (int64_t i = 0; label && i < n; i++)
        if (label[i] >= classes)
            return ck_fail(COKE_EUSAGE, "class of %s %lld is %d, outside 0..%d", what,
                           (long long)i, label[i], classes - 1);
    return COKE_OK;
}

static int check_job(const struct ck_knn_job *job)
{
    if (job->dim < 1 || job->classes < 1)
        return ck_fail(COKE_EUSAGE, "invalid k-NN with %d dimensions and %d classes", job->dim,
                       job->classes);
    if (job->nk < 1 || job->nk > CK_KNN_MAX_K)
        return ck_fail(COKE_EUSAGE, "k-NN takes 1 to %d values of k, not %d", CK_KNN_MAX_K,
                       job->nk);
    for (int i = 0; i < job->nk; i++)
        if (job->k[i] < 1)
            return ck_fail(COKE_EUSAGE, "k-NN with k = %lld; k must be at least 1",
                           (long long)job->k[i]);
    if (!(job->temperature > 0))
        return ck_fail(COKE_EUSAGE, "k-NN with temperature %g; it must be above 0",
                       job->temperature);
    CK_RETURN_IF(check_labels(job->bank_label, job->nbank, job->classes, "row"));
    if (job->query)
        CK_RETURN_IF(check_labels(job->query_label, job->nquery, job->classes, "query"));
    return COKE_OK;
}

static int alloc_scratch(const struct run *r, struct scratch *s)
{
    s->x = ck_alloc_array(BLOCK, (size_t)r->ld * sizeof *s->x);
    s->heap = ck_alloc_array((size_t)r->max, BLOCK * sizeof *s->heap);
    s->vote = ck_calloc_array((size_t)r->job->classes, sizeof *s->vote);
    s->weight = ck_alloc_array((size_t)r->max, sizeof *s->weight);
    return s->x && s->heap && s->vote && s->weight ? COKE_OK : COKE_ENOMEM;
}

static int find_voters(struct run *r)
{
    const struct ck_knn_job *job = r->job;
    r->row = ck_alloc_array((size_t)job->nbank, sizeof *r->row);
    if (!r->row)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < job->nbank; i++)
        if (job->bank_label[i] >= 0)
            r->row[r->voters++] = i;
    for (int i = 0; i < job->nk; i++)
        r->max = job->k[i] > r->max ? job->k[i] : r->max;
    r->max = r->max < r->voters ? r->max : r->voters;
    return COKE_OK;
}

static int prepare(struct run *r)
{
    int rc = find_voters(r);
    if (rc)
        return rc;
    r->npanels = (r->voters + r->kn->panel - 1) / r->kn->panel;
    size_t columns = (size_t)r->npanels * (size_t)r->kn->panel;
    r->panels = ck_alloc_array(columns, (size_t)r->ld * sizeof *r->panels);
    r->bias = ck_alloc_array(columns, sizeof *r->bias);
    r->scratch = ck_calloc_array((size_t)r->team, sizeof *r->scratch);
    if (!r->panels || !r->bias || !r->scratch)
        return COKE_ENOMEM;
    for (int i = 0; i < r->team && !rc; i++)
        rc = alloc_scratch(r, &r->scratch[i]);
    return rc;
}

static void release(struct run *r)
{
    for (int i = 0; r->scratch && i < r->team; i++) {
        ck_free(r->scratch[i].x);
        ck_free(r->scratch[i].heap);
        ck_free(r->scratch[i].vote);
        ck_free(r->scratch[i].weight);
    }
    ck_free(r->scratch);
    ck_free(r->panels);
    ck_free(r->bias);
    ck_free(r->row);
}

static int run_all(struct run *r, int64_t chunks, const char *what,
                   void (*fn)(void *arg, int64_t chunk, int worker))
{
    ck_parallel(chunks, fn, r);
    return r->bad == INT64_MAX ? COKE_OK
                               : ck_fail(COKE_ENUMERIC, "%s %lld contains NaN or infinity",
                                         what, (long long)r->bad);
}

static void sum_up(const struct run *r, struct ck_knn_result *out)
{
    *out = (struct ck_knn_result){0};
    for (int64_t i = 0; r->query_label && i < r->nquery; i++)
        out->asked += r->query_label[i] >= 0;
    for (int j = 0; j < r->job->nk; j++) {
        out->right[j] = r->right[j];
        out->accuracy[j] = out->asked ? (double)out->right[j] / (double)out->asked : NAN;
    }
}

int ck_knn(const struct ck_knn_job *job, int32_t *predicted, struct ck_knn_result *out)
{
    int rc = check_job(job);
    if (rc)
        return rc;
    struct run r = {.job = job, .kn = ck_kernels(), .predicted = predicted, .bad = INT64_MAX};
    r.leave_one_out = job->query == NULL;
    r.query = r.leave_one_out ? job->bank : job->query;
    r.query_label = r.leave_one_out ? job->bank_label : job->query_label;
    r.nquery = r.leave_one_out ? job->nbank : job->nquery;
    r.ld = ck_padded(job->dim);
    r.team = ck_threads();
    CK_TRY(prepare(&r));
    CK_TRY(run_all(&r, r.npanels, "row", pack_panel));
    CK_TRY(run_all(&r, (r.nquery + BLOCK - 1) / BLOCK, "query", ask_block));
    sum_up(&r, out);
done:
    release(&r);
    return rc;
}
