/* repair.c - a frozen pass over all rows with prices for the bounds, then the exact optimum.
 *
 * A row whose best center leads by more than `margin` at the prices of the pass cannot change
 * its label until prices have moved by that much against each other; only the others, the
 * active ones, go to the solver, each with the centers within the margin. When the solver is
 * done, the prices tell whether the margin was wide enough for every row; if not, one more pass
 * starts from the new prices. So memory is O(n + k + active rows), never n x k, and the result
 * is the optimum over all centers, proven by its prices. */
#include "cluster/repair.h"
#include "cluster/exact.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    CHUNK = 1024, /* rows a thread takes at a time; results are merged in this order */
    ROUND_CHUNKS = 64,
    SAMPLE = 2048, /* rows that size the margin */
    MAX_PASSES = 64,
};

/* f32 keeps a score, a bias and their sum to 2^-24 each; prices are compared with this room. */
static const double ROUNDING = 1e-6;

struct active {
    int64_t id;
    int32_t label;
    float score, best; /* x.c, and with the bias */
};

struct found {
    int64_t n, room;
    struct active *item;
    int64_t narcs, arcs_room;
    struct arc {
        int32_t point; /* within its chunk */
        int32_t k;
        float score;
    } * arc;
};

struct chunk_part {
    int worker;
    int64_t first, n, first_arc, narcs;
    double primal, nearest, weight;
};

struct worker {
    float *x; /* [CK_ASSIGN_BLOCK + CK_TILE][ld] */
    struct ck_near_list near;
    struct found found;
    int64_t *size; /* [k] rows without a choice */
};

struct pass {
    struct ck_repair *r;
    float margin;
    int only_far; /* second look: nearest centers of rows whose label's price exceeds the margin
                   */
    int workers;
    struct worker *worker;
    struct chunk_part *part;
    int64_t chunks, first_chunk;
    float *bias; /* [k] prices of this pass */
    _Atomic int rc;
    char *error; /* the sentence of the thread that failed */
    /* merged */
    int64_t n, narcs;
    int64_t *id, *start, *base;
    int32_t *label;
    float *score, *best;
    struct ck_arc *arc;
};

/* ---- one thread's share of the pass
 * ------------------------------------------------------------ */

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

static int keep_active(struct worker *w, struct chunk_part *part, int64_t id, int32_t label,
                       float score, float best, const struct ck_near *near, int64_t n)
{
    struct found *f = &w->found;
    void *items = f->item, *arcs = f->arc;
    int rc = grow(&items, f->n, 1, &f->room, sizeof *f->item);
    f->item = items;
    if (!rc)
        rc = grow(&arcs, f->narcs, n, &f->arcs_room, sizeof *f->arc);
    f->arc = arcs;
    if (rc)
        return rc;
    for (int64_t i = 0; i < n; i++)
        f->arc[f->narcs++] = (struct arc){(int32_t)part->n, near[i].k, near[i].score};
    f->item[f->n++] = (struct active){id, label, score, best};
    part->n++;
    part->narcs += n;
    return COKE_OK;
}

/* Labels one block of rows and sorts them into those with a choice and those without. */
static int label_block(struct pass *p, struct worker *w, struct chunk_part *part,
                       const int64_t *id, int n)
{
    struct ck_repair *r = p->r;
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    w->near.n = 0;
    int rc = ck_scan_get(r->scan, id, n, w->x);
    if (!rc)
        rc = ck_assign_near_block(r->assigner, w->x, n, p->margin, label, score, &w->near);
    int64_t at = 0;
    for (int i = 0; i < n && !rc; i++) {
        int64_t first = at;
        float nearest = score[i];
        for (; at < w->near.n && w->near.item[at].row == i; at++)
            nearest = fmaxf(nearest, w->near.item[at].score);
        ck_labels_set(r->labels, id[i], label[i]);
        if (r->scores)
            r->scores[id[i]] = score[i];
        part->primal += (double)score[i];
        part->weight += ck_scan_weight(r->scan, id[i]);
        if (p->bias[label[i]] <= p->margin)
            part->nearest += (double)nearest;
        if (at - first > 1 && r->exact)
            rc = keep_active(w, part, id[i], label[i], score[i], score[i] + p->bias[label[i]],
                             &w->near.item[first], at - first);
        else
            w->size[label[i]]++;
    }
    return rc;
}

static int far_block(struct pass *p, struct worker *w, struct chunk_part *part,
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

static int wanted(const struct pass *p, int64_t i)
{
    if (ck_scan_is_bad(p->r->scan, i))
        return 0;
    return !p->only_far || p->bias[ck_labels_get(p->r->labels, i)] > p->margin;
}

static void run_chunk(void *arg, int64_t at, int worker)
{
    struct pass *p = arg;
    int64_t chunk = p->first_chunk + at, total = p->r->scan->rows->n;
    struct worker *w = &p->worker[worker];
    struct chunk_part *part = &p->part[chunk];
    int64_t end = (chunk + 1) * CHUNK < total ? (chunk + 1) * CHUNK : total;
    int64_t id[CK_ASSIGN_BLOCK];
    int n = 0, rc = COKE_OK;
    part->worker = worker;
    part->first = w->found.n;
    part->first_arc = w->found.narcs;
    for (int64_t i = chunk * CHUNK; i < end && !rc; i++) {
        if (wanted(p, i))
            id[n++] = i;
        if (n == CK_ASSIGN_BLOCK || (i == end - 1 && n > 0)) {
            rc = p->only_far ? far_block(p, w, part, id, n) : label_block(p, w, part, id, n);
            n = 0;
        }
    }
    if (rc && !atomic_exchange(&p->rc, rc))
        p->error = ck_strdup(coke_last_error());
}

static int run_chunks(struct pass *p, const char *phase)
{
    int64_t total = p->r->scan->rows->n;
    for (p->first_chunk = 0; p->first_chunk < p->chunks; p->first_chunk += ROUND_CHUNKS) {
        int64_t left = p->chunks - p->first_chunk;
        ck_parallel(left < ROUND_CHUNKS ? left : ROUND_CHUNKS, run_chunk, p);
        if (p->rc)
            return ck_fail(p->rc, "%s", p->error ? p->error : "out of memory");
        int64_t done = (p->first_chunk + ROUND_CHUNKS) * CHUNK;
        if (p->r->progress &&
            p->r->progress(p->r->user, phase, done < total ? done : total, total))
            return ck_fail(COKE_ESTOPPED, "stopped");
    }
    return COKE_OK;
}

/* ---- the pass
 * ------------------------------------------------------------------------------------ */

static void release_found(struct pass *p)
{
    for (int i = 0; p->worker && i < p->workers; i++) {
        ck_free(p->worker[i].found.item);
        ck_free(p->worker[i].found.arc);
        memset(&p->worker[i].found, 0, sizeof p->worker[i].found);
    }
}

static void release_merged(struct pass *p)
{
    ck_free(p->id);
    ck_free(p->start);
    ck_free(p->base);
    ck_free(p->label);
    ck_free(p->score);
    ck_free(p->best);
    ck_free(p->arc);
    p->id = p->start = p->base = NULL;
    p->label = NULL;
    p->score = p->best = NULL;
    p->arc = NULL;
}

static void release_pass(struct pass *p)
{
    release_found(p);
    release_merged(p);
    for (int i = 0; p->worker && i < p->workers; i++) {
        ck_free(p->worker[i].x);
        ck_free(p->worker[i].near.item);
        ck_free(p->worker[i].size);
    }
    ck_free(p->worker);
    ck_free(p->part);
    ck_free(p->bias);
    ck_free(p->error);
}

static int init_pass(struct pass *p, struct ck_repair *r)
{
    memset(p, 0, sizeof *p);
    p->r = r;
    p->workers = ck_threads();
    p->chunks = (r->scan->rows->n + CHUNK - 1) / CHUNK;
    p->worker = ck_calloc_array((size_t)p->workers, sizeof *p->worker);
    p->part = ck_calloc_array((size_t)p->chunks, sizeof *p->part);
    p->bias = ck_calloc_array((size_t)r->k, sizeof *p->bias);
    if (!p->worker || !p->part || !p->bias)
        return COKE_ENOMEM;
    for (int i = 0; i < p->workers; i++) {
        struct worker *w = &p->worker[i];
        w->x = ck_calloc_array(CK_ASSIGN_BLOCK + CK_TILE, (size_t)r->scan->ld * sizeof *w->x);
        w->size = ck_calloc_array((size_t)r->k, sizeof *w->size);
        if (!w->x || !w->size)
            return COKE_ENOMEM;
    }
    return COKE_OK;
}

/* The threads' findings in the order of the rows; arcs by cluster. */
static int merge(struct pass *p)
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
    p->best = ck_alloc_array(n, sizeof *p->best);
    p->arc = ck_alloc_array((size_t)p->narcs, sizeof *p->arc);
    p->start = ck_calloc_array((size_t)r->k + 2, sizeof *p->start);
    p->base = ck_calloc_array((size_t)r->k, sizeof *p->base);
    if (!p->id || !p->label || !p->score || !p->best || !p->arc || !p->start || !p->base)
        return COKE_ENOMEM;
    for (int w = 0; w < p->workers; w++) {
        for (int64_t i = 0; i < p->worker[w].found.narcs; i++)
            p->start[p->worker[w].found.arc[i].k + 2]++;
        for (int64_t k = 0; k < r->k; k++)
            p->base[k] += p->worker[w].size[k];
    }
    for (int64_t k = 0; k < r->k; k++)
        p->start[k + 2] += p->start[k + 1];
    int64_t at = 0;
    for (int64_t c = 0; c < p->chunks; c++) {
        const struct chunk_part *part = &p->part[c];
        const struct found *f = &p->worker[part->worker].found;
        for (int64_t i = 0; i < part->narcs; i++) {
            const struct arc *a = &f->arc[part->first_arc + i];
            p->arc[p->start[a->k + 1]++] = (struct ck_arc){(int32_t)(at + a->point), a->score};
        }
        for (int64_t i = 0; i < part->n; i++, at++) {
            const struct active *x = &f->item[part->first + i];
            p->id[at] = x->id;
            p->label[at] = x->label;
            p->score[at] = x->score;
            p->best[at] = x->best;
        }
    }
    return COKE_OK;
}

static void clear_parts(struct pass *p)
{
    memset(p->part, 0, (size_t)p->chunks * sizeof *p->part);
    for (int w = 0; w < p->workers; w++)
        memset(p->worker[w].size, 0, (size_t)p->r->k * sizeof *p->worker[w].size);
}

static int far_rows(struct pass *p)
{
    int any = 0;
    for (int64_t k = 0; k < p->r->k; k++)
        any |= p->bias[k] > p->margin;
    return any;
}

/* Similarities to the nearest centers are known from the near lists unless a label's price is
 * higher than the margin; those rows are looked at again without prices. */
static int look_for_nearest(struct pass *p)
{
    struct ck_repair *r = p->r;
    for (int64_t c = 0; c < p->chunks; c++)
        r->nearest += p->part[c].nearest;
    if (!far_rows(p))
        return COKE_OK;
    clear_parts(p);
    p->only_far = 1;
    ck_assigner_settle(r->assigner, NULL);
    int rc = run_chunks(p, "final");
    ck_assigner_settle(r->assigner, p->bias);
    p->only_far = 0;
    for (int64_t c = 0; c < p->chunks; c++)
        r->nearest += p->part[c].nearest;
    return rc;
}

static int frozen_pass(struct pass *p)
{
    struct ck_repair *r = p->r;
    clear_parts(p);
    memcpy(p->bias, r->price, (size_t)r->k * sizeof *p->bias);
    ck_assigner_settle(r->assigner, p->bias);
    int rc = run_chunks(p, r->passes ? "repair" : "final");
    if (!rc)
        rc = merge(p);
    release_found(p);
    if (rc)
        return rc;
    r->passes++;
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
    int64_t held = ck_mem_stats().live_bytes;
    r->bytes = held > r->bytes ? held : r->bytes;
    return COKE_OK;
}

/* ---- how wide to look
 * -------------------------------------------------------------------------- */

/* The widest margin (a power of two) at which a row has at most 3 centers within it on average.
 */
static int choose_margin(struct pass *p, float *margin)
{
    struct ck_repair *r = p->r;
    struct worker *w = &p->worker[0];
    int64_t total = r->scan->rows->n, rows = 0, within[8] = {0};
    float top = 0.25f;
    int64_t id[CK_ASSIGN_BLOCK];
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    for (int64_t s = 0; s < SAMPLE && s < total; s += CK_ASSIGN_BLOCK) {
        int n = 0;
        for (int64_t i = s; i < s + CK_ASSIGN_BLOCK; i++) {
            int64_t row = (int64_t)ck_rng_below((uint64_t)r->sample, CK_RNG_SAMPLE, (uint64_t)i,
                                                1, (uint64_t)total);
            if (!ck_scan_is_bad(r->scan, row))
                id[n++] = row;
        }
        w->near.n = 0;
        int rc = ck_scan_get(r->scan, id, n, w->x);
        if (!rc)
            rc = ck_assign_near_block(r->assigner, w->x, n, top, label, score, &w->near);
        if (rc)
            return rc;
        for (int64_t i = 0; i < w->near.n; i++) {
            const struct ck_near *it = &w->near.item[i];
            float behind =
                score[it->row] + p->bias[label[it->row]] - it->score - p->bias[it->k];
            for (int m = 0; m < 8; m++)
                within[m] += behind <= ldexpf(top, -m);
        }
        rows += n;
    }
    int m = 0;
    while (m < 7 && within[m] > 3 * rows)
        m++;
    *margin = ldexpf(top, -m);
    return COKE_OK;
}

/* ---- is the margin proven wide enough?
 * --------------------------------------------------------- */

/* Any center outside a row's list was more than the margin behind at the pass's prices. It is
 * still behind if no price has gained more on the row's own than the margin leaves. */
static int64_t count_unproven(const struct pass *p, const struct ck_exact *e)
{
    double gain = -INFINITY;
    int64_t unproven = 0;
    for (int64_t k = 0; k < e->k; k++)
        gain = fmax(gain, e->price[k] - (double)p->bias[k]);
    gain += ROUNDING - (double)p->margin;
    for (int64_t k = 0; k < e->k; k++)
        if (e->price[k] - (double)p->bias[k] < gain)
            unproven += p->base[k];
    for (int64_t i = 0; i < p->n; i++)
        if ((double)e->score[i] + e->price[e->label[i]] < (double)p->best[i] + gain)
            unproven++;
    return unproven;
}

/* D(price) = sum_i max_k (s_ik + price_k) - sum_k price_k * (least or most), which no
 * assignment that keeps the sizes can exceed. Rows without a choice are in `primal` already. */
static double dual_value(const struct pass *p, const struct ck_exact *e, double primal)
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
    return dual;
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

/* Without upper bounds no price may be negative; where the bounds leave no freedom only the
 * differences matter, so all are shifted. */
static void make_prices_valid(struct ck_repair *r)
{
    float lowest = 0;
    for (int64_t k = 0; k < r->k; k++)
        lowest = fminf(lowest, r->price[k]);
    for (int64_t k = 0; k < r->k && !r->most; k++)
        r->price[k] -= lowest;
}

static int solve(struct pass *p, struct ck_exact *e, int *again)
{
    struct ck_repair *r = p->r;
    int stuck;
    e->n = p->n;
    e->base = p->base;
    e->label = p->label;
    e->score = p->score;
    e->start = p->start;
    e->arc = p->arc;
    double before = 0, after = 0;
    for (int64_t k = 0; k < r->k; k++)
        e->price[k] = (double)p->bias[k];
    for (int64_t i = 0; i < p->n; i++)
        before += (double)p->score[i];
    int rc = ck_exact_solve(e, (double)p->margin, &stuck);
    if (rc)
        return rc;
    for (int64_t i = 0; i < p->n; i++)
        after += (double)p->score[i];
    r->augmentations = e->augmentations;
    for (int64_t k = 0; k < r->k; k++)
        r->price[k] = (float)e->price[k];
    *again = stuck || count_unproven(p, e) > 0;
    if (*again)
        return COKE_OK;
    r->primal += after - before;
    r->dual = dual_value(p, e, r->primal);
    if (isnan(r->dual))
        return COKE_ENOMEM;
    memcpy(r->size, e->size, (size_t)r->k * sizeof *r->size);
    for (int64_t i = 0; i < p->n; i++) {
        r->moved += ck_labels_get(r->labels, p->id[i]) != p->label[i];
        ck_labels_set(r->labels, p->id[i], p->label[i]);
        if (r->scores)
            r->scores[p->id[i]] = p->score[i];
    }
    return COKE_OK;
}

int ck_repair_run(struct ck_repair *r)
{
    int rc = COKE_OK, again = 1;
    struct pass p;
    struct ck_exact e = {0};
    CK_TRY(init_pass(&p, r));
    CK_TRY(ck_exact_init(&e, r->k, r->least, r->most));
    if (r->exact) {
        make_prices_valid(r);
        memcpy(p.bias, r->price, (size_t)r->k * sizeof *p.bias);
        ck_assigner_settle(r->assigner, p.bias);
        CK_TRY(choose_margin(&p, &p.margin));
    }
    while (again) {
        if (r->passes == MAX_PASSES)
            CK_FAIL(COKE_EFAIL, "repair: no proof after %d passes", MAX_PASSES);
        CK_TRY(frozen_pass(&p));
        if (r->passes == 1) {
            count_violations(r);
            CK_TRY(look_for_nearest(&p));
        }
        again = 0;
        r->dual = NAN;
        if (r->exact)
            CK_TRY(solve(&p, &e, &again));
    }
done:
    ck_exact_release(&e);
    release_pass(&p);
    return rc;
}
