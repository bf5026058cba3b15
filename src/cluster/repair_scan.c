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
    SAMPLE = 512,      /* rows that size the margin */
    LONGEST = 24,      /* entries of a list, if a tolerance allows to cut it */
};

/* Beyond this price a second scan without prices is cheaper than looking that far. */
static const float FAR = 0.1f;

/* ---- chunks: run by one thread each ---- */

static int keep_active(struct ck_repair_worker *w, struct ck_repair_part *part, int64_t id,
                       int32_t label, float score, const struct ck_near *near, int64_t n)
{
    struct ck_repair_found *f = &w->found;
    CK_RETURN_IF(CK_VEC_RESERVE(f->item, f->room, f->n + 1));
    CK_RETURN_IF(CK_VEC_RESERVE(f->arc, f->arcs_room, f->narcs + n));
    for (int64_t i = 0; i < n; i++)
        f->arc[f->narcs++] = (struct ck_repair_arc){(int32_t)part->n, near[i].k, near[i].score};
    f->item[f->n++] = (struct ck_repair_active){id, label, score};
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

/* Key by which a long list is cut: the value, with a random part below `tie`, so that rows with
 * the same ties keep different centers. */
static float cut_key(const struct ck_repair_scan *p, int64_t id, const struct ck_near *c)
{
    return c->score + p->bias[c->k] + p->tie * ck_repair_random(p->r, id, c->k);
}

/* Cuts the list near [n] of a row to the LONGEST best entries and its label, in place and in
 * order; returns how many are left. O(n LONGEST) at worst, rarely called. */
static int64_t cut_list(struct ck_repair_scan *p, int64_t id, int32_t label,
                        struct ck_near *near, int64_t n)
{
    float top[LONGEST], key;
    int kept = 0;
    for (int64_t i = 0; i < n; i++) { /* the LONGEST highest keys, in descending order */
        key = cut_key(p, id, &near[i]);
        if (kept == LONGEST && key <= top[LONGEST - 1])
            continue;
        int at = kept < LONGEST ? kept++ : LONGEST - 1;
        for (; at > 0 && top[at - 1] < key; at--)
            top[at] = top[at - 1];
        top[at] = key;
    }
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++)
        if (near[i].k == label || cut_key(p, id, &near[i]) >= top[kept - 1])
            near[left++] = near[i];
    p->cut++;
    return left;
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
        if (!is_far(p, label[i]))
            part->nearest += (double)w->near.nearest[i];
        int64_t choices = at - first;
        if (choices > LONGEST && r->tolerance > 0)
            choices = cut_list(p, id[i], label[i], &w->near.item[first], choices);
        if (choices > 1 && r->exact)
            rc = keep_active(w, part, id[i], label[i], score[i], &w->near.item[first], choices);
        else
            w->size[label[i]]++;
    }
    return rc;
}

/* Second scan without prices: only the similarity to the nearest center; or, to find a value, the
 * best value at the prices. */
static int far_block(struct ck_repair_scan *p, struct ck_repair_worker *w,
                     struct ck_repair_part *part, const int64_t *id, int n)
{
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    int rc = ck_scan_get(p->r->scan, id, n, w->x);
    if (rc)
        return rc;
    ck_assign_block(p->r->assigner, w->x, n, label, score);
    for (int i = 0; i < n; i++)
        part->nearest += (double)score[i] + (p->valuing ? (double)p->r->price[label[i]] : 0);
    return COKE_OK;
}

/* Bad rows never; else the sample, or the far rows, or all. */
static int wanted(const struct ck_repair_scan *p, int64_t i)
{
    if (ck_scan_is_bad(p->r->scan, i))
        return 0;
    if (p->fraction < 1)
        return ck_rng_in_sample((uint64_t)p->r->sample, (uint64_t)i, p->fraction);
    return !p->only_far || p->valuing || is_far(p, ck_labels_get(p->r->labels, i));
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
            rc = p->only_far ? far_block(p, w, part, id, n) : label_block(p, w, part, id, n);
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
    ck_free(p->arc);
    ck_free(p->choices);
    ck_free(p->choice);
    p->choice = NULL;
    p->id = p->start = p->base = p->choices = NULL;
    p->label = NULL;
    p->score = NULL;
    p->arc = NULL;
}

void ck_repair_scan_release(struct ck_repair_scan *p)
{
    ck_repair_scan_release_found(p);
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
    p->bias = ck_calloc_array((size_t)r->k, sizeof *p->bias);
    p->push = ck_calloc_array((size_t)r->k, sizeof *p->push);
    p->fall = ck_calloc_array((size_t)r->k, sizeof *p->fall);
    p->rise = ck_calloc_array((size_t)r->k, sizeof *p->rise);
    p->calm = ck_calloc_array((size_t)r->k, sizeof *p->calm);
    p->look = ck_calloc_array((size_t)r->k, sizeof *p->look);
    p->min_size = ck_calloc_array((size_t)r->k, sizeof *p->min_size);
    p->max_size = ck_calloc_array((size_t)r->k, sizeof *p->max_size);
    if (!p->worker || !p->part || !p->bias || !p->push || !p->fall || !p->rise || !p->calm ||
        !p->look || !p->min_size || !p->max_size)
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

static int far_rows(const struct ck_repair_scan *p)
{
    int any = 0;
    for (int64_t k = 0; k < p->r->k; k++)
        any |= is_far(p, (int32_t)k);
    return any;
}

/* Similarities to the nearest centers are known from the scan unless the price of the label
 * exceeds what the row looked at; those rows are scanned again without prices. */
int ck_repair_scan_nearest(struct ck_repair_scan *p)
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

int ck_repair_scan_value(struct ck_repair_scan *p, double *sum)
{
    struct ck_repair *r = p->r;
    clear_parts(p);
    p->only_far = p->valuing = 1;
    ck_assigner_widen(r->assigner, NULL, NULL, NULL);
    ck_assigner_settle(r->assigner, r->price);
    int rc = run_chunks(p, "repair");
    p->only_far = p->valuing = 0;
    *sum = 0;
    for (int64_t c = 0; c < p->chunks; c++)
        *sum += p->part[c].nearest;
    r->scans += 1;
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
    r->scans += p->fraction;
    r->primal = r->weight = r->square = 0;
    r->total = 0;
    for (int64_t c = 0; c < p->chunks; c++) {
        r->primal += p->part[c].primal;
        r->weight += p->part[c].weight;
        r->square += p->part[c].square;
    }
    for (int64_t k = 0; k < r->k; k++)
        r->size[k] = p->base[k];
    for (int64_t i = 0; i < p->n; i++)
        r->size[p->label[i]]++;
    for (int64_t k = 0; k < r->k; k++)
        r->total += r->size[k];
    r->active = p->n;
    r->arcs = p->narcs;
    /* ids, labels, scores, first choices and leaders of the rows; arcs by cluster and point */
    int64_t held =
        p->n * (8 + 4 + 4 + 8 + 12) + p->narcs * (int64_t)(sizeof *p->arc + sizeof *p->choice);
    r->bytes = held > r->bytes ? held : r->bytes;
    return COKE_OK;
}

/* ---- width of the margin ---- */

struct near_count {
    struct ck_repair_scan *p;
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
        if (!ck_scan_is_bad(r->scan, row))
            id[n++] = row;
    }
    int rc = list_near(p, w, id, n, label, score);
    ck_first_error_keep(&p->error, rc);
    count->rows += n;
    for (int64_t at = 0, end; at < w->near.n; at = end) {
        for (end = at + 1; end < w->near.n && w->near.item[end].row == w->near.item[at].row;)
            end++;
        int64_t listed = end - at;
        count->near += r->tolerance > 0 && listed > LONGEST ? LONGEST : listed;
        count->choice += listed > 1;
    }
}

/* Over a sample of rows: the average number of centers that a row lists, and the fraction of
 * rows that list two or more. */
static int count_near(struct ck_repair_scan *p, double *near, double *choice)
{
    int64_t total = p->r->scan->rows->n, rows = total < SAMPLE ? total : SAMPLE;
    struct near_count count = {.p = p};
    ck_parallel((rows + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK, count_chunk, &count);
    *near = (double)count.near / fmax(1, (double)count.rows);
    *choice = (double)count.choice / fmax(1, (double)count.rows);
    return ck_first_error_raise(&p->error);
}

/* Rows that tie within the first, tiny margin are counted apart: they say nothing about the scale
 * of the others. */
int ck_repair_scan_lead(struct ck_repair_scan *p, double *lead, int *ties)
{
    float widest = 2 * (float)p->r->scan->longest, first = 0x1p-18f * widest;
    double near, choice, tied = 0, below = 0, last = 0, part = 0.25;
    ck_assigner_widen(p->r->assigner, NULL, NULL, NULL);
    ck_assigner_settle(p->r->assigner, NULL);
    *lead = 0;
    for (float margin = first; margin <= widest && *lead == 0; margin *= 2) {
        p->margin = margin * CK_REPAIR_CALM;
        CK_RETURN_IF(count_near(p, &near, &choice));
        if (margin == first) {
            tied = choice;
            part = tied + (1 - tied) * part;
        } else if (choice >= part && choice > below) {
            *lead = last + ((double)margin - last) * (part - below) / (choice - below);
        }
        below = choice;
        last = (double)margin;
    }
    *ties = tied > 0.02;
    return COKE_OK;
}

int ck_repair_scan_choose_margin(struct ck_repair_scan *p, double limit)
{
    /* at the widest margin every row lists every center */
    int euclidean = p->r->scan->frame.metric == COKE_METRIC_EUCLIDEAN;
    float margin = euclidean ? 0x1p-16f : 0x1p-10f, widest = 8 * (float)p->r->scan->longest;
    int rc = COKE_OK;
    for (float wider = margin; wider <= widest && !rc; wider *= 2) {
        double near, choice;
        p->margin = wider;
        use_prices(p);
        rc = count_near(p, &near, &choice);
        if (near > limit)
            break;
        margin = wider;
    }
    p->margin = margin;
    return rc;
}
