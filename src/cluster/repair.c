/* repair.c - a frozen pass over all rows with prices for the bounds, then the exact optimum.
 *
 * A row whose best center leads by more than `margin` at the prices of the pass cannot change
 * its label until prices have moved by that much against each other; only the others, the
 * active ones, go to the solver, each with the centers within the margin. The solver keeps
 * prices within a box half as wide, inside which these centers are all that matter. If an edge
 * of the box holds a price back, one more pass starts from the new prices. So memory is O(n + k
 * + active rows), never n x k, and the result is the optimum over all centers, proven by its
 * prices. */
#include "cluster/repair_pass.h"
#include "cluster/exact.h"
#include "cluster/narrow.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    ROUND_CHUNKS = 64,
    SAMPLE = 512, /* rows that size the margin */
    FEW_SWEEPS = 3,
    SWEEPS = 12,
    NARROW = 16, /* part of the margin in which prices are sought after a few sweeps */
    ENOUGH_ARCS = 1 << 25,
    PATIENCE = 6, /* passes that may end without an exact solution */
    MAX_PASSES = 100,
    CALM = 8, /* a calm price may rise by this part of the margin */
};

/* f32 keeps a score, a bias and their sum to 2^-24 of the longest row each; prices are compared
 * with this room. */
static const double ROUNDING = 1e-6;

static const float FAR = 0.1f;

/* ---- one thread's share of the pass ---- */

static int grow(void **items, int64_t n, int64_t more, int64_t *room, size_t size)
{
    if (n + more <= *room)
        return COKE_OK;
    int64_t want = 2 * (n + more) + 256;
    void *p = ck_realloc_array(*items, (size_t)want, size);
    if (!p)
        return COKE_ENOMEM;
    *items = p;
    *room = want;
    return COKE_OK;
}

static int keep_active(struct ck_pass_worker *w, struct ck_pass_part *part, int64_t id,
                       int32_t label, float score, const struct ck_near *near, int64_t n)
{
    struct ck_pass_found *f = &w->found;
    void *items = f->item, *arcs = f->arc;
    int rc = grow(&items, f->n, 1, &f->room, sizeof *f->item);
    f->item = items;
    if (!rc)
        rc = grow(&arcs, f->narcs, n, &f->arcs_room, sizeof *f->arc);
    f->arc = arcs;
    if (rc)
        return rc;
    for (int64_t i = 0; i < n; i++)
        f->arc[f->narcs++] = (struct ck_pass_arc){(int32_t)part->n, near[i].k, near[i].score};
    f->item[f->n++] = (struct ck_pass_active){id, label, score};
    part->n++;
    part->narcs += n;
    return COKE_OK;
}

/* May the nearest center of a row with this label lie further than it looked? */
static int is_far(const struct ck_pass *p, int32_t label)
{
    return p->look[label] < p->bias[label] - p->lowest;
}

/* Labels of n rows, and their near lists in w->near. */
static int list_near(const struct ck_pass *p, struct ck_pass_worker *w, const int64_t *id,
                     int n, int32_t *label, float *score)
{
    w->near.n = 0;
    int rc = ck_scan_get(p->r->scan, id, n, w->x);
    return rc ? rc
              : ck_assign_near_block(p->r->assigner, w->x, n, p->margin / CALM, label, score,
                                     &w->near);
}

/* Labels one block of rows and sorts them into those with a choice and those without. */
static int label_block(struct ck_pass *p, struct ck_pass_worker *w, struct ck_pass_part *part,
                       const int64_t *id, int n)
{
    struct ck_repair *r = p->r;
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    int rc = list_near(p, w, id, n, label, score);
    int64_t at = 0;
    for (int i = 0; i < n && !rc; i++) {
        int64_t first = at;
        while (at < w->near.n && w->near.item[at].row == i)
            at++;
        ck_labels_set(r->labels, id[i], label[i]);
        if (r->scores)
            r->scores[id[i]] = score[i];
        part->primal += (double)score[i];
        part->weight += ck_scan_weight(r->scan, id[i]);
        if (!is_far(p, label[i]))
            part->nearest += (double)w->near.nearest[i];
        if (at - first > 1 && r->exact)
            rc = keep_active(w, part, id[i], label[i], score[i], &w->near.item[first],
                             at - first);
        else
            w->size[label[i]]++;
    }
    return rc;
}

static int far_block(struct ck_pass *p, struct ck_pass_worker *w, struct ck_pass_part *part,
                     const int64_t *id, int n)
{
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    int rc = ck_scan_get(p->r->scan, id, n, w->x);
    if (rc)
        return rc;
    ck_assign_block(p->r->assigner, w->x, n, label, score);
    for (int i = 0; i < n; i++)
        part->nearest += (double)score[i];
    return COKE_OK;
}

static int wanted(const struct ck_pass *p, int64_t i)
{
    if (ck_scan_is_bad(p->r->scan, i))
        return 0;
    if (p->share < 1)
        return ck_rng_in_sample((uint64_t)p->r->sample, (uint64_t)i, p->share);
    return !p->only_far || is_far(p, ck_labels_get(p->r->labels, i));
}

static void note_failure(struct ck_pass *p, int rc)
{
    if (!atomic_exchange(&p->rc, rc))
        p->error = ck_strdup(coke_last_error());
}

static int failure(const struct ck_pass *p)
{
    return p->rc ? ck_fail(p->rc, "%s", p->error ? p->error : "out of memory") : COKE_OK;
}

static void run_chunk(void *arg, int64_t at, int worker)
{
    struct ck_pass *p = arg;
    int64_t chunk = p->first_chunk + at, total = p->r->scan->rows->n;
    struct ck_pass_worker *w = &p->worker[worker];
    struct ck_pass_part *part = &p->part[chunk];
    int64_t end = (chunk + 1) * CK_PASS_CHUNK < total ? (chunk + 1) * CK_PASS_CHUNK : total;
    int64_t id[CK_ASSIGN_BLOCK];
    int n = 0, rc = COKE_OK;
    part->worker = worker;
    part->first = w->found.n;
    part->first_arc = w->found.narcs;
    for (int64_t i = chunk * CK_PASS_CHUNK; i < end && !rc; i++) {
        if (wanted(p, i))
            id[n++] = i;
        if (n == CK_ASSIGN_BLOCK || (i == end - 1 && n > 0)) {
            rc = p->only_far ? far_block(p, w, part, id, n) : label_block(p, w, part, id, n);
            n = 0;
        }
    }
    if (rc)
        note_failure(p, rc);
}

static int run_chunks(struct ck_pass *p, const char *phase)
{
    int64_t total = p->r->scan->rows->n;
    int64_t from = ck_pass_chunks_before(p, p->rank),
            end = ck_pass_chunks_before(p, p->rank + 1);
    for (p->first_chunk = from; p->first_chunk < end; p->first_chunk += ROUND_CHUNKS) {
        int64_t left = end - p->first_chunk;
        ck_parallel(left < ROUND_CHUNKS ? left : ROUND_CHUNKS, run_chunk, p);
        int rc = failure(p);
        if (rc)
            return rc;
        int64_t done = (p->first_chunk + ROUND_CHUNKS) * CK_PASS_CHUNK;
        if (p->r->progress &&
            p->r->progress(p->r->user, phase, done < total ? done : total, total))
            return ck_fail(COKE_ESTOPPED, "stopped");
    }
    return p->size > 1 ? ck_pass_share(p) : COKE_OK;
}

/* ---- the pass ---- */

static void release_merged(struct ck_pass *p)
{
    ck_free(p->id);
    ck_free(p->start);
    ck_free(p->base);
    ck_free(p->label);
    ck_free(p->score);
    ck_free(p->arc);
    ck_free(p->choices);
    ck_free(p->choice);
    p->choice = NULL;
    p->id = p->start = p->base = p->choices = NULL;
    p->label = NULL;
    p->score = NULL;
    p->arc = NULL;
}

static void release_pass(struct ck_pass *p)
{
    ck_pass_release_found(p);
    release_merged(p);
    for (int i = 0; p->worker && i < p->workers; i++) {
        ck_free(p->worker[i].x);
        ck_free(p->worker[i].near.item);
        ck_free(p->worker[i].size);
    }
    ck_free(p->worker);
    ck_free(p->part);
    ck_free(p->bias);
    ck_free(p->push);
    ck_free(p->fall);
    ck_free(p->rise);
    ck_free(p->calm);
    ck_free(p->look);
    ck_free(p->least);
    ck_free(p->most);
    ck_free(p->error);
}

static int init_pass(struct ck_pass *p, struct ck_repair *r)
{
    memset(p, 0, sizeof *p);
    p->r = r;
    p->share = 1;
    p->reach = 3;
    p->workers = ck_threads();
    p->rank = r->comm ? ck_comm_rank(r->comm) : 0;
    p->size = r->comm ? ck_comm_size(r->comm) : 1;
    p->chunks = (r->scan->rows->n + CK_PASS_CHUNK - 1) / CK_PASS_CHUNK;
    p->worker = ck_calloc_array((size_t)p->workers, sizeof *p->worker);
    p->part = ck_calloc_array((size_t)p->chunks, sizeof *p->part);
    p->bias = ck_calloc_array((size_t)r->k, sizeof *p->bias);
    p->push = ck_calloc_array((size_t)r->k, sizeof *p->push);
    p->fall = ck_calloc_array((size_t)r->k, sizeof *p->fall);
    p->rise = ck_calloc_array((size_t)r->k, sizeof *p->rise);
    p->calm = ck_calloc_array((size_t)r->k, sizeof *p->calm);
    p->look = ck_calloc_array((size_t)r->k, sizeof *p->look);
    p->least = ck_calloc_array((size_t)r->k, sizeof *p->least);
    p->most = ck_calloc_array((size_t)r->k, sizeof *p->most);
    if (!p->worker || !p->part || !p->bias || !p->push || !p->fall || !p->rise || !p->calm ||
        !p->look || !p->least || !p->most)
        return COKE_ENOMEM;
    for (int i = 0; i < p->workers; i++) {
        struct ck_pass_worker *w = &p->worker[i];
        w->x = ck_calloc_array(CK_ASSIGN_BLOCK + CK_TILE, (size_t)r->scan->ld * sizeof *w->x);
        w->size = ck_calloc_array((size_t)r->k, sizeof *w->size);
        if (!w->x || !w->size)
            return COKE_ENOMEM;
    }
    return COKE_OK;
}

/* The threads' findings in the order of the rows; arcs by cluster. */
static int merge(struct ck_pass *p)
{
    struct ck_repair *r = p->r;
    release_merged(p);
    p->n = p->narcs = 0;
    for (int64_t c = 0; c < p->chunks; c++) {
        p->n += p->part[c].n;
        p->narcs += p->part[c].narcs;
    }
    size_t n = (size_t)p->n;
    p->id = ck_alloc_array(n, sizeof *p->id);
    p->label = ck_alloc_array(n, sizeof *p->label);
    p->score = ck_alloc_array(n, sizeof *p->score);
    p->arc = ck_alloc_array((size_t)p->narcs, sizeof *p->arc);
    p->choice = ck_alloc_array((size_t)p->narcs, sizeof *p->choice);
    p->choices = ck_calloc_array(n + 1, sizeof *p->choices);
    p->start = ck_calloc_array((size_t)r->k + 2, sizeof *p->start);
    p->base = ck_calloc_array((size_t)r->k, sizeof *p->base);
    if (!p->id || !p->label || !p->score || !p->arc || !p->start || !p->base || !p->choice ||
        !p->choices)
        return COKE_ENOMEM;
    for (int w = 0; w < p->workers; w++) {
        for (int64_t i = 0; i < p->worker[w].found.narcs; i++)
            p->start[p->worker[w].found.arc[i].k + 2]++;
        for (int64_t k = 0; k < r->k; k++)
            p->base[k] += p->worker[w].size[k];
    }
    for (int64_t k = 0; k < r->k; k++)
        p->start[k + 2] += p->start[k + 1];
    int64_t at = 0, arcs = 0;
    for (int64_t c = 0; c < p->chunks; c++) {
        const struct ck_pass_part *part = &p->part[c];
        const struct ck_pass_found *f = &p->worker[part->worker].found;
        for (int64_t i = 0; i < part->narcs; i++) {
            const struct ck_pass_arc *a = &f->arc[part->first_arc + i];
            p->arc[p->start[a->k + 1]++] = (struct ck_arc){(int32_t)(at + a->point), a->score};
            p->choice[arcs++] = (struct ck_choice){a->k, a->score};
            p->choices[at + a->point + 1] = arcs;
        }
        for (int64_t i = 0; i < part->n; i++, at++) {
            const struct ck_pass_active *x = &f->item[part->first + i];
            p->id[at] = x->id;
            p->label[at] = x->label;
            p->score[at] = x->score;
        }
    }
    return COKE_OK;
}

static void clear_parts(struct ck_pass *p)
{
    memset(p->part, 0, (size_t)p->chunks * sizeof *p->part);
    for (int w = 0; w < p->workers; w++)
        memset(p->worker[w].size, 0, (size_t)p->r->k * sizeof *p->worker[w].size);
}

static int far_rows(const struct ck_pass *p)
{
    int any = 0;
    for (int64_t k = 0; k < p->r->k; k++)
        any |= is_far(p, (int32_t)k);
    return any;
}

/* Similarities to the nearest centers are known from the near lists unless a label's price is
 * higher than the margin; those rows are looked at again without prices. */
static int look_for_nearest(struct ck_pass *p)
{
    struct ck_repair *r = p->r;
    for (int64_t c = 0; c < p->chunks; c++)
        r->nearest += p->part[c].nearest;
    if (!far_rows(p))
        return COKE_OK;
    clear_parts(p);
    p->only_far = 1;
    ck_assigner_widen(r->assigner, NULL, NULL, NULL);
    ck_assigner_settle(r->assigner, NULL);
    int rc = run_chunks(p, "final");
    p->only_far = 0;
    for (int64_t c = 0; c < p->chunks; c++)
        r->nearest += p->part[c].nearest;
    return rc;
}

/* The prices of this pass. Without upper bounds none is negative, and none at 0 can fall; the
 * others may, often to 0, so their rows are given longer lists. */
static void use_prices(struct ck_pass *p)
{
    struct ck_repair *r = p->r;
    p->lowest = INFINITY;
    for (int64_t k = 0; k < r->k; k++) {
        float price = r->price[k];
        p->bias[k] = price;
        p->fall[k] = fminf(r->most ? fmaxf(price, 0) + p->margin : price, p->reach * p->margin);
        p->rise[k] = p->calm[k] ? 0 : p->margin - p->margin / CALM;
        p->lowest = fminf(p->lowest, price);
    }
    /* The nearest center is behind the label by the label's price at most. Where that is far,
     * a second look without prices is cheaper. */
    for (int64_t k = 0; k < r->k; k++) {
        float price = p->bias[k] - p->lowest;
        p->look[k] = price <= FAR ? price : 0;
    }
    ck_assigner_widen(r->assigner, r->exact ? p->fall : NULL, r->exact ? p->rise : NULL,
                      p->share < 1 ? NULL : p->look);
    ck_assigner_settle(r->assigner, p->bias);
}

static int frozen_pass(struct ck_pass *p)
{
    struct ck_repair *r = p->r;
    clear_parts(p);
    use_prices(p);
    int rc = run_chunks(p, r->passes > 0 ? "repair" : "final");
    if (!rc)
        rc = merge(p);
    ck_pass_release_found(p);
    if (rc)
        return rc;
    r->passes += p->share;
    r->primal = r->weight = 0;
    r->points = 0;
    for (int64_t c = 0; c < p->chunks; c++) {
        r->primal += p->part[c].primal;
        r->weight += p->part[c].weight;
    }
    for (int64_t k = 0; k < r->k; k++)
        r->size[k] = p->base[k];
    for (int64_t i = 0; i < p->n; i++)
        r->size[p->label[i]]++;
    for (int64_t k = 0; k < r->k; k++)
        r->points += r->size[k];
    r->active = p->n;
    r->arcs = p->narcs;
    /* ids, labels, scores, first choices and leaders of the rows; arcs by cluster and point */
    int64_t held =
        p->n * (8 + 4 + 4 + 8 + 12) + p->narcs * (int64_t)(sizeof *p->arc + sizeof *p->choice);
    r->bytes = held > r->bytes ? held : r->bytes;
    return COKE_OK;
}

/* ---- how wide to look ---- */

struct near_count {
    struct ck_pass *p;
    _Atomic int64_t rows, near;
};

static void count_chunk(void *arg, int64_t chunk, int worker)
{
    struct near_count *count = arg;
    struct ck_pass *p = count->p;
    struct ck_repair *r = p->r;
    struct ck_pass_worker *w = &p->worker[worker];
    int64_t total = r->scan->rows->n, id[CK_ASSIGN_BLOCK];
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    int n = 0;
    for (int64_t i = chunk * CK_ASSIGN_BLOCK; i < (chunk + 1) * CK_ASSIGN_BLOCK; i++) {
        int64_t row = (int64_t)ck_rng_below((uint64_t)r->sample, CK_RNG_SAMPLE, (uint64_t)i, 1,
                                            (uint64_t)total);
        if (!ck_scan_is_bad(r->scan, row))
            id[n++] = row;
    }
    int rc = list_near(p, w, id, n, label, score);
    if (rc)
        note_failure(p, rc);
    count->rows += n;
    count->near += w->near.n;
}

/* Centers that a row has on its list, on average over a sample of rows. */
static int count_near(struct ck_pass *p, double *near)
{
    int64_t total = p->r->scan->rows->n, rows = total < SAMPLE ? total : SAMPLE;
    struct near_count count = {.p = p};
    ck_parallel((rows + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK, count_chunk, &count);
    *near = (double)count.near / fmax(1, (double)count.rows);
    return failure(p);
}

/* The widest margin (a power of two) at which a row has at most `most` centers within it on
 * average. */
static int choose_margin(struct ck_pass *p, double most)
{
    /* at the widest every center is on every list */
    float margin = 0x1p-10f, widest = 8 * (float)p->r->scan->longest;
    int rc = COKE_OK;
    for (float wider = margin; wider <= widest && !rc; wider *= 2) {
        double near;
        p->margin = wider;
        use_prices(p);
        rc = count_near(p, &near);
        if (near > most)
            break;
        margin = wider;
    }
    p->margin = margin;
    return rc;
}

/* ---- prices ---- */

/* A center outside the list of a row labelled k is behind by more than margin + fall[k] at the
 * pass's prices; it stays behind as long as no price rises by more than the margin and k's own
 * falls by no more than fall[k]. */
static void set_box(const struct ck_pass *p, struct ck_exact *e)
{
    for (int64_t k = 0; k < e->k; k++) {
        e->price[k] = (double)p->bias[k];
        e->low[k] = e->price[k] - (double)p->fall[k];
        e->high[k] = e->price[k] + (double)(p->margin / CALM + p->rise[k]) -
                     ROUNDING * p->r->scan->longest;
    }
}

/* Only differences of prices matter to the labels. Without upper bounds the lowest price is 0,
 * as some cluster is above its least size or all prices may fall together; and none exceeds
 * what lies between any two similarities, as that would win every point. */
static void make_prices_valid(struct ck_repair *r)
{
    float lowest = INFINITY, most = 2.1f * (float)r->scan->longest;
    for (int64_t k = 0; k < r->k; k++)
        lowest = fminf(lowest, r->price[k]);
    for (int64_t k = 0; k < r->k; k++)
        r->price[k] = r->most ? fmaxf(-most, fminf(r->price[k], most))
                              : fminf(r->price[k] - lowest, most);
}

/* Where the box held a price back, the next one lies further that way, by twice as much each
 * time in a row. */
static void move_box(struct ck_pass *p, const struct ck_exact *e)
{
    struct ck_repair *r = p->r;
    for (int64_t k = 0; k < e->k; k++) {
        int way = ck_exact_at_edge(e, k);
        float step = p->push[k] * (float)way > 0 ? 2 * fabsf(p->push[k]) : 0;
        p->push[k] = (float)way * fmaxf(step, p->margin);
        r->price[k] = (float)e->price[k] + p->push[k];
        if (!r->most)
            r->price[k] = fmaxf(r->price[k], 0);
    }
    make_prices_valid(r);
}

/* D(price) = sum_i max_k (s_ik + price_k) - sum_k price_k * (least or most), which no
 * assignment that keeps the sizes can exceed. Rows without a choice are in `primal` already. */
static double dual_value(const struct ck_pass *p, const struct ck_exact *e, double primal)
{
    double dual = primal;
    double *best = ck_alloc_array((size_t)p->n, sizeof *best);
    for (int64_t i = 0; best && i < p->n; i++)
        best[i] = (double)e->score[i] + e->price[e->label[i]];
    for (int64_t k = 0; best && k < e->k; k++)
        for (int64_t a = p->start[k]; a < p->start[k + 1]; a++) {
            double *b = &best[p->arc[a].point];
            *b = fmax(*b, (double)p->arc[a].score + e->price[k]);
        }
    for (int64_t i = 0; best && i < p->n; i++)
        dual += best[i] - (double)e->score[i];
    for (int64_t k = 0; k < e->k; k++) {
        int64_t bound = e->price[k] >= 0 ? e->least[k] : e->most[k];
        dual += e->price[k] * (double)(p->base[k] - bound);
    }
    if (!best)
        return NAN;
    ck_free(best);
    /* The two sums round differently. */
    return dual < primal && primal - dual < 1e-9 * (fabs(primal) + 1) ? primal : dual;
}

static void count_violations(struct ck_repair *r)
{
    r->below = r->above = r->missing = 0;
    for (int64_t k = 0; k < r->k; k++) {
        int64_t missing = r->least[k] - r->size[k];
        r->below += missing > 0;
        r->missing += missing > 0 ? missing : 0;
        r->above += r->most && r->size[k] > r->most[k];
    }
}

static void keep_solution(struct ck_pass *p, const struct ck_exact *e)
{
    struct ck_repair *r = p->r;
    memcpy(r->size, e->size, (size_t)r->k * sizeof *r->size);
    for (int64_t k = 0; k < r->k; k++)
        r->price[k] = (float)e->price[k];
    for (int64_t i = 0; i < p->n; i++) {
        r->moved += ck_labels_get(r->labels, p->id[i]) != p->label[i];
        ck_labels_set(r->labels, p->id[i], p->label[i]);
        if (r->scores)
            r->scores[p->id[i]] = p->score[i];
    }
}

static void load_solver(struct ck_pass *p, struct ck_exact *e)
{
    e->n = p->n;
    e->base = p->base;
    e->label = p->label;
    e->score = p->score;
    e->start = p->start;
    e->arc = p->arc;
    e->first = p->choices;
    e->choice = p->choice;
    set_box(p, e);
}

/* One price at a time leads near the optimum; where many rows tie it may lead nowhere, and the
 * solver takes over. Prices at an edge will want to go further: not worth an exact solution. */
static int find_optimum(struct ck_pass *p, struct ck_exact *e, int *inside)
{
    int rc;
    *inside = 1;
    if (p->full_passes <= PATIENCE) {
        CK_TRY(ck_exact_approach(e, FEW_SWEEPS));
        *inside = 0;
        if (!ck_exact_at_edges(e))
            CK_TRY(ck_exact_solve_narrow(e, (double)p->margin / NARROW, SWEEPS, inside));
        if (*inside)
            return COKE_OK;
        CK_TRY(ck_exact_approach(e, SWEEPS));
        *inside = !ck_exact_at_edges(e);
    }
    if (*inside)
        CK_TRY(ck_exact_solve(e, inside));
done:
    return rc;
}

static int solve(struct ck_pass *p, struct ck_exact *e, int *inside)
{
    struct ck_repair *r = p->r;
    double before = 0, after = 0;
    int rc;
    load_solver(p, e);
    for (int64_t i = 0; i < p->n; i++)
        before += (double)p->score[i];
    CK_TRY(find_optimum(p, e, inside));
    if (!*inside) {
        move_box(p, e);
        goto done;
    }
    for (int64_t i = 0; i < p->n; i++)
        after += (double)p->score[i];
    r->primal += after - before;
    r->dual = dual_value(p, e, r->primal);
    if (isnan(r->dual))
        CK_FAIL(COKE_ENOMEM, "out of memory for %lld rows", (long long)p->n);
    keep_solution(p, e);
done:
    return rc;
}

static void scale_bounds(struct ck_pass *p, int64_t rows)
{
    struct ck_repair *r = p->r;
    double usable = (double)(r->scan->rows->n - r->scan->nbad);
    for (int64_t k = 0; k < r->k; k++) {
        p->least[k] = (int64_t)floor((double)r->least[k] * (double)rows / usable);
        p->most[k] = r->most ? (int64_t)ceil((double)r->most[k] * (double)rows / usable) : 0;
    }
}

/* Clusters with members to spare need no price, and will not need one when those nearby move a
 * little. If one does after all, the box says so. */
static void find_calm(struct ck_pass *p, const int64_t *size, const int64_t *least,
                      double spare)
{
    struct ck_repair *r = p->r;
    for (int64_t k = 0; k < r->k && !r->most; k++) {
        p->calm[k] = (double)size[k] > spare * (double)least[k];
        r->price[k] = p->calm[k] ? 0 : r->price[k];
    }
}

/* First prices from a part of the rows; they need not be exact. */
static int sample_prices(struct ck_pass *p, struct ck_exact *e)
{
    const double per_cluster = 128, few = 100;
    enum { CHOICES = 4, ROUNDS = 4 };
    struct ck_repair *r = p->r;
    double each = (double)r->scan->rows->n / (double)r->k;
    double share = fmin(per_cluster / each, 0.3);
    int inside = 0, rc = COKE_OK;
    if (each < few) {
        if (r->expected)
            find_calm(p, r->expected, r->least, 2);
        return COKE_OK;
    }
    p->share = share;
    e->least = p->least;
    e->most = r->most ? p->most : NULL;
    for (int round = 0; round < ROUNDS && !inside; round++) {
        CK_TRY(choose_margin(p, CHOICES));
        CK_TRY(frozen_pass(p));
        scale_bounds(p, r->points);
        load_solver(p, e);
        CK_TRY(ck_exact_approach(e, FEW_SWEEPS));
        inside = !ck_exact_at_edges(e);
        move_box(p, e);
    }
    find_calm(p, e->size, e->least, 1.25);
    memset(p->push, 0, (size_t)r->k * sizeof *p->push);
    p->reach = 1; /* they are good to a little now, up or down */
done:
    p->share = 1;
    e->least = r->least;
    e->most = r->most;
    return rc;
}

int ck_repair_run(struct ck_repair *r)
{
    int rc = COKE_OK, inside = 0;
    struct ck_pass p;
    struct ck_exact e = {0};
    CK_TRY(init_pass(&p, r));
    CK_TRY(ck_exact_init(&e, r->k, r->least, r->most));
    if (r->exact) {
        make_prices_valid(r);
        CK_TRY(sample_prices(&p, &e));
    }
    /* When the box holds prices back again and again, lists become longer and it wider. Lists
     * of rows near calm clusters alone are short. */
    double most_choices = fmax(64, ENOUGH_ARCS / (double)r->scan->rows->n);
    double choices = memchr(p.calm, 1, (size_t)r->k) ? 2 : 3;
    for (int pass = 0; !inside; pass++) {
        if (pass == 1) {
            memset(p.calm, 0, (size_t)r->k);
            choices = 3;
        }
        if (pass > 1 && choices < most_choices)
            choices *= 2;
        if (pass == MAX_PASSES)
            CK_FAIL(COKE_EFAIL, "repair: no proof after %d passes", MAX_PASSES);
        if (r->exact)
            CK_TRY(choose_margin(&p, choices));
        CK_TRY(frozen_pass(&p));
        p.full_passes++;
        if (pass == 0) {
            count_violations(r);
            CK_TRY(look_for_nearest(&p));
        }
        inside = 1;
        r->dual = NAN;
        if (r->exact)
            CK_TRY(solve(&p, &e, &inside));
    }
done:
    ck_assigner_widen(r->assigner, NULL, NULL, NULL);
    ck_exact_release(&e);
    release_pass(&p);
    return rc;
}
