/* repair_scan.c - one scan over all rows at fixed prices, on all threads: labels, and the rows
 * that have a choice, with their choices. */
#include "cluster/repair_scan.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/vec.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

enum {
    ROUND_CHUNKS = 64, /* chunks between two progress reports */
    LONGEST = 24,      /* entries of a list, if a tolerance allows to cut it */
};

/* Beyond this price a second scan without prices is cheaper than looking that far. */
static const float FAR = 0.1f;

/* ---- chunks: run by one thread each ---- */

static int keep_active(struct ck_repair_worker *w, struct ck_repair_part *part,
                       const struct ck_repair_active *row, const struct ck_near *near,
                       int64_t n)
{
    struct ck_repair_found *f = &w->found;
    CK_RETURN_IF(CK_VEC_RESERVE(f->item, f->room, f->n + 1));
    CK_RETURN_IF(CK_VEC_RESERVE(f->arc, f->arcs_room, f->narcs + n));
    for (int64_t i = 0; i < n; i++)
        f->arc[f->narcs++] = (struct ck_repair_arc){(int32_t)part->n, near[i].k, near[i].score};
    f->item[f->n++] = *row;
    part->n++;
    part->narcs += n;
    return COKE_OK;
}

/* May the nearest center of a row with this label be further away than the row looked? */
static int is_far(const struct ck_repair_scan *p, int32_t label)
{
    return p->look[label] < p->bias[label] - p->lowest;
}

/* Labels of n rows, and their near lists in w->near. */
static int list_near(const struct ck_repair_scan *p, struct ck_repair_worker *w,
                     const int64_t *id, int n, int32_t *label, float *score)
{
    w->near.n = 0;
    int rc = ck_scan_get(p->r->scan, id, n, w->x);
    return rc ? rc
              : ck_assign_near_block(p->r->assigner, w->x, n, p->margin / CK_REPAIR_CALM, label,
                                     score, &w->near);
}

float ck_repair_random(const struct ck_repair *r, int64_t id, int32_t k)
{
    uint32_t u = ck_rng_u32((uint64_t)r->sample, CK_RNG_SAMPLE, (uint64_t)id, (uint32_t)k + 2);
    return (float)(u >> 8) * 0x1p-24f;
}

/* Which entries of a list stay: those with the highest keys, which are the value plus `spread`
 * times a random number of (row, center). */
struct cut {
    int most;              /* entries, at most LONGEST */
    float spread;          /* 0 = by the value alone */
    float sure;            /* the label and values above this come first */
    int64_t from[LONGEST]; /* out: indices of the entries, best first */
    float last;            /* out: the lowest of their keys */
};

/* Returns how many entries of near [n] stay. */
static int top_entries(const struct ck_repair_scan *p, const struct ck_repair_active *row,
                       const struct ck_near *near, int64_t n, struct cut *c)
{
    float top[LONGEST];
    int kept = 0;
    for (int64_t i = 0; i < n; i++) {
        float key = near[i].score + p->bias[near[i].k];
        if (near[i].k == row->label || key > c->sure)
            key = INFINITY;
        else if (c->spread > 0)
            key += c->spread * ck_repair_random(p->r, row->id, near[i].k);
        if (kept == c->most && key <= top[kept - 1])
            continue;
        int at = kept < c->most ? kept++ : c->most - 1;
        for (; at > 0 && top[at - 1] < key; at--) {
            top[at] = top[at - 1];
            c->from[at] = c->from[at - 1];
        }
        top[at] = key;
        c->from[at] = i;
    }
    c->last = top[kept - 1];
    return kept;
}

/* Cuts the list near [n] of a row to LONGEST entries, in place and in order: the label and the
 * best, and of the others random ones, the better the likelier. So equal rows, whose best centers
 * are the same, list different centers, and all centers are listed by some row. Returns how many
 * are left. */
static int64_t cut_list(struct ck_repair_scan *p, const struct ck_repair_active *row,
                        struct ck_near *near, int64_t n)
{
    struct cut best = {.most = LONGEST / 2, .sure = INFINITY};
    top_entries(p, row, near, n, &best);
    struct cut c = {.most = LONGEST, .spread = p->margin, .sure = best.last};
    int kept = top_entries(p, row, near, n, &c);
    for (int i = 1; i < kept; i++) /* back in the order of the list */
        for (int at = i; at > 0 && c.from[at - 1] > c.from[at]; at--) {
            int64_t t = c.from[at];
            c.from[at] = c.from[at - 1];
            c.from[at - 1] = t;
        }
    for (int i = 0; i < kept; i++)
        near[i] = near[c.from[i]];
    p->cut++;
    return kept;
}

/* Centers of equal rows differ in their last bits: such a lead is a tie. */
uint32_t ck_repair_off_mark(const struct ck_repair_scan *p, float score, float nearest)
{
    return score < nearest - 1e-6f * (float)p->r->scan->longest ? CK_ROW_OFF : 0;
}

/* Labels one block of rows and separates those with a choice from those without. */
static int label_block(struct ck_repair_scan *p, struct ck_repair_worker *w,
                       struct ck_repair_part *part, const int64_t *id, int n)
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
        part->square +=
            ck_frame_row_square(&r->scan->frame, r->scan->kn, w->x + (int64_t)i * r->scan->ld);
        struct ck_repair_active row = {id[i], label[i], score[i], w->near.nearest[i], 0};
        row.mark =
            is_far(p, label[i]) ? CK_ROW_FAR : ck_repair_off_mark(p, score[i], row.nearest);
        if (row.mark != CK_ROW_FAR)
            part->nearest += (double)row.nearest;
        int64_t choices = at - first;
        if (choices > LONGEST && r->tolerance > 0 && p->fraction >= 1) {
            choices = cut_list(p, &row, &w->near.item[first], choices);
            row.mark |= CK_ROW_CUT;
        }
        p->mark[id[i]] = (uint8_t)row.mark;
        if (choices > 1 && r->exact)
            rc = keep_active(w, part, &row, &w->near.item[first], choices);
        else
            w->size[label[i]]++;
    }
    return rc;
}

/* Rows that the scan left open: the similarity to the nearest center, and whether that is the
 * label's; or, to find a value, the best value at the prices. */
static int marked_block(struct ck_repair_scan *p, struct ck_repair_worker *w,
                        struct ck_repair_part *part, const int64_t *id, int n)
{
    const struct ck_repair *r = p->r;
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    int rc = ck_scan_get(r->scan, id, n, w->x);
    if (rc)
        return rc;
    ck_assign_block(r->assigner, w->x, n, label, score);
    for (int i = 0; i < n; i++) {
        uint8_t *mark = &p->mark[id[i]];
        if (p->valuing || *mark & CK_ROW_FAR)
            part->nearest += (double)score[i] + (p->valuing ? (double)r->price[label[i]] : 0);
        if (p->valuing)
            continue;
        float own = ck_assigner_score(r->assigner, w->x + (int64_t)i * r->scan->ld,
                                      ck_labels_get(r->labels, id[i]));
        *mark = (uint8_t)ck_repair_off_mark(p, own, score[i]);
        if (!p->wish)
            continue;
        p->wish->nearest[id[i]] = label[i];
        p->wish->best[id[i]] = score[i];
        p->wish->own[id[i]] = own;
    }
    return COKE_OK;
}

/* Bad rows never; else the sample, or marked rows, or all. */
static int wanted(const struct ck_repair_scan *p, int64_t i)
{
    if (ck_scan_is_bad(p->r->scan, i) || (ck_crowds_have(&p->crowds, i) && !p->only_marked))
        return 0;
    if (p->fraction < 1)
        return ck_rng_in_sample((uint64_t)p->r->sample, (uint64_t)i, p->fraction);
    return !p->only_marked ||
           p->mark[i] & (p->valuing ? CK_ROW_CUT : CK_ROW_FAR | CK_ROW_MOVED);
}

/* Collects wanted rows into blocks across gaps, so that the kernels get full tiles. */
static void run_chunk(void *arg, int64_t at, int worker)
{
    struct ck_repair_scan *p = arg;
    int64_t chunk = p->first_chunk + at, total = p->r->scan->rows->n;
    struct ck_repair_worker *w = &p->worker[worker];
    struct ck_repair_part *part = &p->part[chunk];
    int64_t end = (chunk + 1) * CK_REPAIR_CHUNK < total ? (chunk + 1) * CK_REPAIR_CHUNK : total;
    int64_t id[CK_ASSIGN_BLOCK];
    int n = 0, rc = COKE_OK;
    part->worker = worker;
    part->first = w->found.n;
    part->first_arc = w->found.narcs;
    for (int64_t i = chunk * CK_REPAIR_CHUNK; i < end && !rc; i++) {
        if (wanted(p, i))
            id[n++] = i;
        if (n == CK_ASSIGN_BLOCK || (i == end - 1 && n > 0)) {
            rc = p->only_marked ? marked_block(p, w, part, id, n)
                                : label_block(p, w, part, id, n);
            n = 0;
        }
    }
    ck_first_error_keep(&p->error, rc);
}

int ck_repair_scan_report(const struct ck_repair *r, const char *phase, int64_t done,
                          int64_t total)
{
    return ck_progress(r->callbacks, &(struct coke_progress){.phase = phase,
                                                             .epoch = r->epochs,
                                                             .epochs = r->epochs,
                                                             .done = done,
                                                             .total = total});
}

/* Rounds of chunks, so that progress is reported and a stop is noticed between them. */
static int run_chunks(struct ck_repair_scan *p, const char *phase)
{
    int64_t total = p->r->scan->rows->n;
    int64_t from = ck_repair_scan_chunks_before(p, p->share.rank),
            end = ck_repair_scan_chunks_before(p, p->share.rank + 1);
    for (p->first_chunk = from; p->first_chunk < end; p->first_chunk += ROUND_CHUNKS) {
        int64_t left = end - p->first_chunk;
        ck_parallel(left < ROUND_CHUNKS ? left : ROUND_CHUNKS, run_chunk, p);
        CK_RETURN_IF(ck_first_error_raise(&p->error));
        int64_t done = (p->first_chunk + ROUND_CHUNKS) * CK_REPAIR_CHUNK;
        CK_RETURN_IF(ck_repair_scan_report(p->r, phase, done < total ? done : total, total));
    }
    return p->share.size > 1 ? ck_repair_scan_merge_ranks(p) : COKE_OK;
}

/* ---- the scan ---- */

static void release_merged(struct ck_repair_scan *p)
{
    ck_free(p->id);
    ck_free(p->start);
    ck_free(p->base);
    ck_free(p->label);
    ck_free(p->score);
    ck_free(p->nearest);
    ck_free(p->active_mark);
    ck_free(p->arc);
    ck_free(p->choices);
    ck_free(p->choice);
    p->choice = NULL;
    p->id = p->start = p->base = p->choices = NULL;
    p->label = NULL;
    p->score = p->nearest = NULL;
    p->active_mark = NULL;
    p->arc = NULL;
}

void ck_repair_scan_release(struct ck_repair_scan *p)
{
    ck_repair_scan_release_found(p);
    release_merged(p);
    ck_crowds_release(&p->crowds);
    for (int i = 0; p->worker && i < p->workers; i++) {
        ck_free(p->worker[i].x);
        ck_free(p->worker[i].near.item);
        ck_free(p->worker[i].size);
    }
    ck_free(p->worker);
    ck_free(p->part);
    ck_free(p->mark);
    ck_free(p->bias);
    ck_free(p->push);
    ck_free(p->fall);
    ck_free(p->rise);
    ck_free(p->calm);
    ck_free(p->look);
    ck_free(p->min_size);
    ck_free(p->max_size);
}

int ck_repair_scan_init(struct ck_repair_scan *p, struct ck_repair *r)
{
    memset(p, 0, sizeof *p);
    p->r = r;
    p->fraction = 1;
    p->reach = 3;
    p->workers = ck_threads();
    p->share = r->share ? *r->share : ck_share_alone();
    p->chunks = (r->scan->rows->n + CK_REPAIR_CHUNK - 1) / CK_REPAIR_CHUNK;
    p->worker = ck_calloc_array((size_t)p->workers, sizeof *p->worker);
    p->part = ck_calloc_array((size_t)p->chunks, sizeof *p->part);
    p->mark = ck_calloc_array((size_t)r->scan->rows->n, sizeof *p->mark);
    p->bias = ck_calloc_array((size_t)r->k, sizeof *p->bias);
    p->push = ck_calloc_array((size_t)r->k, sizeof *p->push);
    p->fall = ck_calloc_array((size_t)r->k, sizeof *p->fall);
    p->rise = ck_calloc_array((size_t)r->k, sizeof *p->rise);
    p->calm = ck_calloc_array((size_t)r->k, sizeof *p->calm);
    p->look = ck_calloc_array((size_t)r->k, sizeof *p->look);
    p->min_size = ck_calloc_array((size_t)r->k, sizeof *p->min_size);
    p->max_size = ck_calloc_array((size_t)r->k, sizeof *p->max_size);
    if (!p->worker || !p->part || !p->mark || !p->bias || !p->push || !p->fall || !p->rise ||
        !p->calm || !p->look || !p->min_size || !p->max_size)
        return COKE_ENOMEM;
    for (int i = 0; i < p->workers; i++) {
        struct ck_repair_worker *w = &p->worker[i];
        w->x = ck_calloc_array(CK_ASSIGN_BLOCK + CK_TILE, (size_t)r->scan->ld * sizeof *w->x);
        w->size = ck_calloc_array((size_t)r->k, sizeof *w->size);
        if (!w->x || !w->size)
            return COKE_ENOMEM;
    }
    return COKE_OK;
}

/* Joins the lists of the threads in the order of the rows, and sorts the arcs by cluster
 * (counting sort over start[]). */
static int merge(struct ck_repair_scan *p)
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
    p->nearest = ck_alloc_array(n, sizeof *p->nearest);
    p->active_mark = ck_alloc_array(n, sizeof *p->active_mark);
    p->arc = ck_alloc_array((size_t)p->narcs, sizeof *p->arc);
    p->choice = ck_alloc_array((size_t)p->narcs, sizeof *p->choice);
    p->choices = ck_calloc_array(n + 1, sizeof *p->choices);
    p->start = ck_calloc_array((size_t)r->k + 2, sizeof *p->start);
    p->base = ck_calloc_array((size_t)r->k, sizeof *p->base);
    if (!p->id || !p->label || !p->score || !p->nearest || !p->active_mark || !p->arc ||
        !p->start || !p->base || !p->choice || !p->choices)
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
        const struct ck_repair_part *part = &p->part[c];
        const struct ck_repair_found *f = &p->worker[part->worker].found;
        for (int64_t i = 0; i < part->narcs; i++) {
            const struct ck_repair_arc *a = &f->arc[part->first_arc + i];
            p->arc[p->start[a->k + 1]++] = (struct ck_arc){(int32_t)(at + a->point), a->score};
            p->choice[arcs++] = (struct ck_choice){a->k, a->score};
            p->choices[at + a->point + 1] = arcs;
        }
        for (int64_t i = 0; i < part->n; i++, at++) {
            const struct ck_repair_active *x = &f->item[part->first + i];
            p->id[at] = x->id;
            p->label[at] = x->label;
            p->score[at] = x->score;
            p->nearest[at] = x->nearest;
            p->active_mark[at] = (uint8_t)x->mark;
        }
    }
    return COKE_OK;
}

static void clear_parts(struct ck_repair_scan *p)
{
    memset(p->part, 0, (size_t)p->chunks * sizeof *p->part);
    for (int w = 0; w < p->workers; w++)
        memset(p->worker[w].size, 0, (size_t)p->r->k * sizeof *p->worker[w].size);
}

/* Do the rows of this process, or of another one, have any of these marks? The result is
 * collective. */
static int any_marked(struct ck_repair_scan *p, int marks, int64_t *rows)
{
    int64_t end = ck_repair_scan_chunks_before(p, p->share.rank + 1) * CK_REPAIR_CHUNK;
    end = end < p->r->scan->rows->n ? end : p->r->scan->rows->n;
    *rows = 0;
    for (int64_t i = ck_repair_scan_chunks_before(p, p->share.rank) * CK_REPAIR_CHUNK; i < end;
         i++)
        *rows += (p->mark[i] & marks) != 0;
    return p->share.size > 1 ? p->share.sum_i64(p->share.arg, rows, 1) : COKE_OK;
}

/* Scans the marked rows at these prices. */
static int run_marked(struct ck_repair_scan *p, int64_t rows, const float *price, double *sum)
{
    clear_parts(p);
    p->only_marked = 1;
    ck_assigner_widen(p->r->assigner, NULL, NULL, NULL);
    ck_assigner_settle(p->r->assigner, price);
    int rc = run_chunks(p, "repair");
    p->only_marked = 0;
    for (int64_t c = 0; c < p->chunks; c++)
        *sum += p->part[c].nearest;
    p->r->scans += (double)rows / (double)p->r->scan->rows->n;
    return rc;
}

/* In the order of the rows, which is the same on all processes. */
static void grant_wishes(struct ck_repair_scan *p, const struct ck_repair_wish *w)
{
    struct ck_repair *r = p->r;
    for (int64_t i = 0; i < r->scan->rows->n; i++) {
        int32_t into = w->nearest[i], from = ck_labels_get(r->labels, i);
        if (into < 0 || !(w->best[i] > w->own[i]) || r->size[from] <= r->min_size[from] ||
            (r->max_size && r->size[into] >= r->max_size[into]))
            continue;
        r->size[from]--;
        r->size[into]++;
        r->primal += (double)w->best[i] - (double)w->own[i];
        ck_labels_set(r->labels, i, into);
        p->mark[i] = 0;
        if (r->scores)
            r->scores[i] = w->best[i];
    }
    r->dual = fmax(r->dual, r->primal); /* the two sums round differently */
}

/* Scans the rows whose nearest centers are not known, which then move there. Collective. */
static int move_to_nearest(struct ck_repair_scan *p, int64_t rows)
{
    size_t n = (size_t)p->r->scan->rows->n;
    struct ck_repair_wish w = {.nearest = ck_alloc_array(n, sizeof *w.nearest),
                               .best = ck_calloc_array(n, sizeof *w.best),
                               .own = ck_calloc_array(n, sizeof *w.own)};
    int rc = COKE_OK;
    if (!w.nearest || !w.best || !w.own)
        CK_LEAVE(COKE_ENOMEM);
    memset(w.nearest, -1, n * sizeof *w.nearest);
    p->wish = &w;
    CK_TRY(run_marked(p, rows, NULL, &p->r->nearest));
    if (p->share.size > 1) {
        CK_TRY(ck_repair_scan_share_words(p, w.nearest));
        CK_TRY(ck_repair_scan_share_words(p, w.best));
        CK_TRY(ck_repair_scan_share_words(p, w.own));
    }
    grant_wishes(p, &w);
done:
    p->wish = NULL;
    ck_free(w.nearest);
    ck_free(w.best);
    ck_free(w.own);
    return rc;
}

/* The labels of active rows may have changed since the scan. */
int ck_repair_scan_nearest(struct ck_repair_scan *p)
{
    struct ck_repair *r = p->r;
    int64_t rows;
    for (int64_t i = 0; i < p->n; i++)
        if (!(p->mark[p->id[i]] & (CK_ROW_FAR | CK_ROW_MOVED)))
            p->mark[p->id[i]] = (uint8_t)ck_repair_off_mark(p, p->score[i], p->nearest[i]);
    CK_RETURN_IF(any_marked(p, CK_ROW_FAR | CK_ROW_MOVED, &rows));
    if (rows && p->crowds.apart > 0)
        CK_RETURN_IF(move_to_nearest(p, rows));
    else if (rows)
        CK_RETURN_IF(run_marked(p, rows, NULL, &r->nearest));
    return any_marked(p, CK_ROW_OFF, &r->off);
}

int ck_repair_scan_value(struct ck_repair_scan *p, double *sum)
{
    *sum = 0;
    if (!p->cut)
        return COKE_OK;
    p->valuing = 1;
    int rc = run_marked(p, p->cut, p->r->price, sum);
    p->valuing = 0;
    return rc;
}

/* Sets the prices of this scan. Without upper bounds no price is negative, and one at 0 cannot
 * fall; the others may, often to 0, so their rows get longer lists. */
static void use_prices(struct ck_repair_scan *p)
{
    struct ck_repair *r = p->r;
    p->lowest = INFINITY;
    for (int64_t k = 0; k < r->k; k++) {
        float price = r->price[k];
        p->bias[k] = price;
        p->fall[k] =
            fminf(r->max_size ? fmaxf(price, 0) + p->margin : price, p->reach * p->margin);
        p->rise[k] = p->calm[k] ? 0 : p->margin - p->margin / CK_REPAIR_CALM;
        p->lowest = fminf(p->lowest, price);
    }
    /* The nearest center is behind the label by at most the label's price. If that is far, a
     * second scan without prices is cheaper. */
    for (int64_t k = 0; k < r->k; k++) {
        float price = p->bias[k] - p->lowest;
        p->look[k] = price <= FAR ? price : 0;
    }
    ck_assigner_widen(r->assigner, r->exact ? p->fall : NULL, r->exact ? p->rise : NULL,
                      p->fraction < 1 ? NULL : p->look);
    ck_assigner_settle(r->assigner, p->bias);
}

int ck_repair_scan_run(struct ck_repair_scan *p)
{
    struct ck_repair *r = p->r;
    clear_parts(p);
    use_prices(p);
    p->cut = 0;
    int rc = run_chunks(p, r->scans > 0 ? "repair" : "final");
    int64_t cut = p->cut; /* all processes must agree on what follows from it */
    if (!rc && p->share.size > 1)
        rc = p->share.sum_i64(p->share.arg, &cut, 1);
    p->cut = cut;
    if (!rc)
        rc = merge(p);
    ck_repair_scan_release_found(p);
    if (rc)
        return rc;
    r->scans += p->fraction * (1 - p->crowds.total / (double)r->scan->rows->n);
    r->primal = r->weight = r->square = r->nearest = 0;
    r->total = 0;
    for (int64_t c = 0; c < p->chunks; c++) {
        r->primal += p->part[c].primal;
        r->weight += p->part[c].weight;
        r->square += p->part[c].square;
        r->nearest += p->part[c].nearest;
    }
    for (int64_t k = 0; k < r->k; k++)
        r->size[k] = p->base[k];
    for (int64_t i = 0; i < p->n; i++)
        r->size[p->label[i]]++;
    for (int64_t k = 0; k < r->k; k++)
        r->total += r->size[k];
    ck_crowds_add(p);
    r->active = p->n;
    r->arcs = p->narcs;
    /* ids, labels, scores, first choices and leaders of the rows; arcs by cluster and point */
    int64_t held = p->n * (8 + 4 + 4 + 4 + 1 + 8 + 12) +
                   p->narcs * (int64_t)(sizeof *p->arc + sizeof *p->choice);
    r->bytes = held > r->bytes ? held : r->bytes;
    return COKE_OK;
}

/* ---- width of the margin ---- */

struct near_count {
    struct ck_repair_scan *p;
    int first; /* the narrowest margin: rows that list many centers even there tie */
    _Atomic int64_t rows, near, choice; /* rows, centers they list, rows with two or more */
};

static void count_chunk(void *arg, int64_t chunk, int worker)
{
    struct near_count *count = arg;
    struct ck_repair_scan *p = count->p;
    struct ck_repair *r = p->r;
    struct ck_repair_worker *w = &p->worker[worker];
    int64_t total = r->scan->rows->n, id[CK_ASSIGN_BLOCK];
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    int n = 0;
    for (int64_t i = chunk * CK_ASSIGN_BLOCK; i < (chunk + 1) * CK_ASSIGN_BLOCK; i++) {
        int64_t row = (int64_t)ck_rng_below((uint64_t)r->sample, CK_RNG_SAMPLE, (uint64_t)i, 1,
                                            (uint64_t)total);
        if (!ck_scan_is_bad(r->scan, row) && !ck_crowds_have(&p->crowds, row))
            id[n++] = row;
    }
    int rc = list_near(p, w, id, n, label, score);
    ck_first_error_keep(&p->error, rc);
    count->rows += n;
    for (int64_t at = 0, end; at < w->near.n; at = end) {
        for (end = at + 1; end < w->near.n && w->near.item[end].row == w->near.item[at].row;)
            end++;
        int64_t listed = end - at;
        uint8_t *tied = &p->tied[chunk * CK_ASSIGN_BLOCK + w->near.item[at].row];
        *tied = count->first ? listed > LONGEST : *tied;
        count->near += *tied && r->tolerance > 0 && p->fraction >= 1 ? 1 : listed;
        count->choice += listed > 1;
    }
}

/* Over a sample of rows: the average number of centers that a row lists, and the fraction of
 * rows that list two or more. Rows that tie would list as many at any margin; where lists may be
 * cut, they do not count. first: finds these rows. */
static int count_near(struct ck_repair_scan *p, int first, double *near, double *choice)
{
    int64_t total = p->r->scan->rows->n,
            rows = total < CK_REPAIR_SAMPLE ? total : CK_REPAIR_SAMPLE;
    struct near_count count = {.p = p, .first = first};
    ck_parallel((rows + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK, count_chunk, &count);
    *near = (double)count.near / fmax(1, (double)count.rows);
    *choice = (double)count.choice / fmax(1, (double)count.rows);
    return ck_first_error_raise(&p->error);
}

/* Rows that tie within the first, tiny margin are counted apart: they say nothing about the scale
 * of the others. */
int ck_repair_scan_lead(struct ck_repair_scan *p, double *lead)
{
    float widest = 2 * (float)p->r->scan->longest, first = 0x1p-18f * widest;
    double near, choice, tied = 0, below = 0, last = 0, part = 0.25;
    ck_assigner_widen(p->r->assigner, NULL, NULL, NULL);
    ck_assigner_settle(p->r->assigner, NULL);
    *lead = 0;
    for (float margin = first; 0 < margin && margin <= widest && *lead == 0; margin *= 2) {
        p->margin = margin * CK_REPAIR_CALM;
        CK_RETURN_IF(count_near(p, margin == first, &near, &choice));
        if (margin == first) {
            tied = choice;
            part = tied + (1 - tied) * part;
        } else if (choice >= part && choice > below) {
            *lead = last + ((double)margin - last) * (part - below) / (choice - below);
        }
        below = choice;
        last = (double)margin;
    }
    return COKE_OK;
}

/* Does a row list no more than `limit` centers on average? Not where all rows tie. */
static int is_short(struct ck_repair_scan *p, float margin, int first, double limit, int *yes)
{
    double near, choice;
    p->margin = margin;
    use_prices(p);
    CK_RETURN_IF(count_near(p, first, &near, &choice));
    p->listed = first ? near : p->listed;
    *yes = near <= limit && !(near == 1 && choice == 1);
    return COKE_OK;
}

/* The narrowest margin, as a power of two: an eighth of it exceeds what scores are rounded by. */
static int least_margin(const struct ck_repair_scan *p)
{
    int least = -16;
    while (ldexp(1, least) < 1.2e-5 * p->r->scan->longest)
        least++;
    return least;
}

/* The widest power of two. The search begins at the margin before, because wide margins list many
 * centers: at the widest one every row lists all. */
int ck_repair_scan_choose_margin(struct ck_repair_scan *p, double limit)
{
    const int least = least_margin(p), guess = -6;
    const double widest = 8 * p->r->scan->longest;
    int at = p->margin > 0 ? ilogbf(p->margin) : guess, yes;
    CK_RETURN_IF(is_short(p, ldexpf(1, least), 1, limit, &yes));
    at = yes && at > least ? at : least;
    if (at > least)
        CK_RETURN_IF(is_short(p, ldexpf(1, at), 0, limit, &yes));
    for (int wider = yes; wider && ldexp(1, at + 1) <= widest; at += wider)
        CK_RETURN_IF(is_short(p, ldexpf(1, at + 1), 0, limit, &wider));
    for (; !yes && at > least; at--)
        CK_RETURN_IF(is_short(p, ldexpf(1, at - 1), 0, limit, &yes));
    p->margin = ldexpf(1, at);
    return COKE_OK;
}
