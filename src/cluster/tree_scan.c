/* tree_scan.c - a scan over all rows with the search of two levels, at fixed prices. */
#include "cluster/tree_repair.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/vec.h"
#include "core/workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ARCS = 16, /* of a row: equal rows would list hundreds of equal leaves */
    SAMPLE = 1024,  /* rows that choose the margin */
};

/* ---- memory ---- */

int ck_tree_scan_init(struct ck_tree_scan *s, struct ck_tree_repair *r)
{
    memset(s, 0, sizeof *s);
    s->r = r;
    s->share = r->share ? *r->share : ck_share_alone();
    s->batches = (r->scan->rows->n + CK_TREE_BATCH - 1) / CK_TREE_BATCH;
    size_t k = (size_t)r->tree->k, b = CK_TREE_BATCH;
    s->rise = ck_calloc_array(k, sizeof *s->rise);
    s->x = ck_calloc_array(b + CK_TILE, (size_t)r->scan->ld * sizeof *s->x);
    s->batch_id = ck_alloc_array(b, sizeof *s->batch_id);
    s->batch_label = ck_alloc_array(b, sizeof *s->batch_label);
    s->batch_score = ck_alloc_array(b, sizeof *s->batch_score);
    s->part = ck_calloc_array((size_t)s->batches, sizeof *s->part);
    s->start = ck_calloc_array(k + 2, sizeof *s->start);
    s->base = ck_calloc_array(k, sizeof *s->base);
    s->price = ck_calloc_array(k, sizeof *s->price);
    s->push = ck_calloc_array(k, sizeof *s->push);
    if (!s->rise || !s->x || !s->batch_id || !s->batch_label || !s->batch_score || !s->part ||
        !s->start || !s->base || !s->price || !s->push)
        return COKE_ENOMEM;
    return ck_tree_reserve(r->tree, CK_TREE_BATCH);
}

void ck_tree_scan_release(struct ck_tree_scan *s)
{
    ck_free(s->rise);
    ck_free(s->x);
    ck_free(s->batch_id);
    ck_free(s->batch_label);
    ck_free(s->batch_score);
    ck_tree_lists_release(&s->lists);
    ck_free(s->part);
    ck_free(s->id);
    ck_free(s->first);
    ck_free(s->label);
    ck_free(s->choice);
    ck_free(s->start);
    ck_free(s->arc);
    ck_free(s->base);
    ck_free(s->price);
    ck_free(s->push);
}

/* ---- one batch ---- */

static int report(const struct ck_tree_scan *s, const char *phase, const char *unit,
                  int64_t done, int64_t total)
{
    const struct ck_tree_repair *r = s->r;
    return ck_progress(r->callbacks, &(struct coke_progress){.phase = phase,
                                                             .epoch = r->epochs,
                                                             .epochs = r->epochs,
                                                             .done = done,
                                                             .total = total,
                                                             .unit = unit});
}

int ck_tree_scan_report(const struct ck_tree_scan *s, int64_t done, int64_t total)
{
    return report(s, "repair", "clusters", done, total);
}

/* The batches before b are done; other processes are about as far. */
static int report_rows(const struct ck_tree_scan *s, const char *phase, int64_t b)
{
    int64_t from = ck_share_first(s->batches, s->share.rank, s->share.size);
    int64_t done = (b - from) * s->share.size * CK_TREE_BATCH, total = s->r->scan->rows->n;
    return report(s, phase, "rows", done < total ? done : total, total);
}

/* Reads rows batch_id [n] and routes them, block by block on all threads. */
struct reading {
    struct ck_tree_scan *s;
    int64_t n;
    struct ck_first_error error;
};

static void read_block(void *arg, int64_t block, int worker)
{
    (void)worker;
    struct reading *g = arg;
    struct ck_tree_scan *s = g->s;
    int64_t at = block * CK_ASSIGN_BLOCK;
    int n = (int)(g->n - at < CK_ASSIGN_BLOCK ? g->n - at : CK_ASSIGN_BLOCK);
    float *x = s->x + at * s->r->scan->ld;
    int rc = ck_scan_get(s->r->scan, s->batch_id + at, n, x);
    if (rc)
        ck_first_error_keep(&g->error, rc);
    else
        ck_tree_route(s->r->tree, at, x, n);
}

static int read_rows(struct ck_tree_scan *s, int64_t n)
{
    struct reading g = {.s = s, .n = n};
    ck_parallel((n + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK, read_block, &g);
    return ck_first_error_raise(&g.error);
}

/* The usable rows of batch b to batch_id; returns how many. */
static int64_t name_rows(struct ck_tree_scan *s, int64_t b)
{
    int64_t total = s->r->scan->rows->n, n = 0;
    int64_t end = (b + 1) * CK_TREE_BATCH < total ? (b + 1) * CK_TREE_BATCH : total;
    for (int64_t i = b * CK_TREE_BATCH; i < end; i++)
        if (!ck_scan_is_bad(s->r->scan, i))
            s->batch_id[n++] = i;
    return n;
}

/* Sums of a batch in row order. */
static void sum_batch(struct ck_tree_scan *s, int64_t n, struct ck_tree_part *part)
{
    const struct ck_tree_repair *r = s->r;
    for (int64_t i = 0; i < n; i++) {
        double score = (double)s->batch_score[i];
        part->primal += score;
        part->value += score + (double)r->price[s->batch_label[i]];
        part->weight += ck_scan_weight(r->scan, s->batch_id[i]);
        part->square +=
            ck_frame_row_square(&r->scan->frame, r->scan->kn, s->x + i * r->scan->ld);
    }
}

/* Keeps the rows of a batch that have a choice. */
static int keep_points(struct ck_tree_scan *s, int64_t n, struct ck_tree_part *part)
{
    const struct ck_tree_lists *l = &s->lists;
    for (int64_t i = 0; i < n; i++) {
        int64_t arcs = l->first[i + 1] - l->first[i];
        if (arcs < 2)
            continue;
        CK_RETURN_IF(CK_VEC_RESERVE(s->id, s->id_room, s->n + 1));
        CK_RETURN_IF(CK_VEC_RESERVE(s->label, s->label_room, s->n + 1));
        CK_RETURN_IF(CK_VEC_RESERVE(s->first, s->first_room, s->n + 2));
        CK_RETURN_IF(CK_VEC_RESERVE(s->choice, s->choice_room, s->narcs + arcs));
        s->first[s->n] = s->narcs;
        s->id[s->n] = s->batch_id[i];
        s->label[s->n++] = s->batch_label[i];
        for (int64_t a = l->first[i]; a < l->first[i + 1]; a++)
            s->choice[s->narcs++] = (struct ck_choice){l->item[a].k, l->item[a].score};
        part->active++;
        part->arcs += arcs;
    }
    return COKE_OK;
}

static int scan_batch(struct ck_tree_scan *s, int64_t b, int lists)
{
    struct ck_tree *t = s->r->tree;
    int64_t n = name_rows(s, b);
    if (n == 0)
        return COKE_OK;
    CK_RETURN_IF(read_rows(s, n));
    s->lists.margin = s->margin;
    s->lists.most = MOST_ARCS;
    if (lists)
        CK_RETURN_IF(
            ck_tree_near(t, s->x, s->batch_id, n, s->batch_label, s->batch_score, &s->lists));
    else
        ck_tree_assign(t, s->x, n, s->batch_label, s->batch_score);
    for (int64_t i = 0; i < n; i++)
        ck_labels_set(s->r->labels, s->batch_id[i], s->batch_label[i]);
    sum_batch(s, n, &s->part[b]);
    return lists ? keep_points(s, n, &s->part[b]) : COKE_OK;
}

/* ---- all rows ---- */

/* Every process scans a contiguous run of batches. */
static int scan_batches(struct ck_tree_scan *s, int lists, const char *phase)
{
    int64_t from = ck_share_first(s->batches, s->share.rank, s->share.size);
    int64_t end = ck_share_first(s->batches, s->share.rank + 1, s->share.size);
    memset(s->part, 0, (size_t)s->batches * sizeof *s->part);
    s->n = s->narcs = 0;
    for (int64_t b = from; b < end; b++) {
        CK_RETURN_IF(scan_batch(s, b, lists));
        CK_RETURN_IF(report_rows(s, phase, b + 1));
    }
    CK_RETURN_IF(CK_VEC_RESERVE(s->first, s->first_room, s->n + 1));
    s->first[s->n] = s->narcs;
    if (s->share.size == 1)
        return COKE_OK;
    return ck_tree_scan_gather(s, CK_TREE_LABELS | (lists ? CK_TREE_POINTS : 0));
}

/* Arcs by leaf: counting sort over start. */
static int sort_arcs(struct ck_tree_scan *s)
{
    int64_t k = s->r->tree->k;
    if (s->n >= INT32_MAX)
        return ck_fail(COKE_ENOMEM, "%lld rows have a choice of clusters", (long long)s->n);
    ck_free(s->arc);
    s->arc = ck_alloc_array((size_t)s->narcs + 1, sizeof *s->arc);
    if (!s->arc)
        return COKE_ENOMEM;
    memset(s->start, 0, (size_t)(k + 2) * sizeof *s->start);
    for (int64_t a = 0; a < s->narcs; a++)
        s->start[s->choice[a].k + 2]++;
    for (int64_t i = 2; i <= k; i++)
        s->start[i + 1] += s->start[i];
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t a = s->first[i]; a < s->first[i + 1]; a++)
            s->arc[s->start[s->choice[a].k + 1]++] =
                (struct ck_arc){(int32_t)i, s->choice[a].score};
    return COKE_OK;
}

/* Sizes of all labels, and of those without a choice; violations of the bounds. */
static void count_sizes(struct ck_tree_scan *s)
{
    struct ck_tree_repair *r = s->r;
    int64_t k = r->tree->k;
    memset(r->size, 0, (size_t)k * sizeof *r->size);
    for (int64_t i = 0; i < r->scan->rows->n; i++)
        if (ck_labels_get(r->labels, i) >= 0)
            r->size[ck_labels_get(r->labels, i)]++;
    memcpy(s->base, r->size, (size_t)k * sizeof *s->base);
    for (int64_t i = 0; i < s->n; i++)
        s->base[s->label[i]]--;
    r->below = r->above = r->missing = 0;
    for (int64_t i = 0; i < k; i++) {
        int64_t missing = r->min_size[i] - r->size[i];
        r->below += missing > 0;
        r->missing += missing > 0 ? missing : 0;
        r->above += r->max_size && r->size[i] > r->max_size[i];
    }
}

/* D(price), an upper bound of every assignment within the candidates. A label is the best of its
 * row up to the rounding of f32 sums: each row may add two units in the last place. */
static double dual_of(const struct ck_tree_repair *r, double value, double rows)
{
    double largest = r->scan->longest, sum = value;
    for (int64_t k = 0; k < r->tree->k; k++) {
        double p = (double)r->price[k];
        largest = fmax(largest, fabs(p) + r->scan->longest);
        sum -= p * (double)(p >= 0 ? r->min_size[k] : r->max_size[k]);
    }
    return sum + rows * largest * 0x1p-23;
}

int ck_tree_scan_run(struct ck_tree_scan *s, int lists)
{
    struct ck_tree_repair *r = s->r;
    double value = 0;
    ck_tree_widen(r->tree, lists ? s->rise : NULL);
    ck_tree_settle(r->tree, r->price);
    CK_RETURN_IF(scan_batches(s, lists, r->scans > 0 ? "repair" : "final"));
    r->scans++;
    r->primal = r->weight = r->square = 0;
    for (int64_t b = 0; b < s->batches; b++) {
        r->primal += s->part[b].primal;
        r->weight += s->part[b].weight;
        r->square += s->part[b].square;
        value += s->part[b].value;
    }
    if (r->exact)
        r->dual = fmin(r->dual, dual_of(r, value, (double)r->scan->rows->n));
    count_sizes(s);
    int64_t bytes = s->n * (int64_t)(sizeof *s->id + sizeof *s->first + sizeof *s->label) +
                    s->narcs * (int64_t)(sizeof *s->choice + sizeof *s->arc);
    r->bytes = bytes > r->bytes ? bytes : r->bytes;
    return lists ? sort_arcs(s) : COKE_OK;
}

/* Sums of a batch that was searched without prices. Ties but for the rounding of f32 count as
 * nearest. */
static void compare_batch(const struct ck_tree_scan *s, int64_t n, struct ck_tree_part *part)
{
    const struct ck_tree_repair *r = s->r;
    int ld = r->tree->ld;
    for (int64_t i = 0; i < n; i++) {
        int32_t label = ck_labels_get(r->labels, s->batch_id[i]);
        part->nearest += (double)s->batch_score[i];
        if (label != s->batch_label[i])
            part->not_nearest +=
                (double)r->tree->kn->dot(s->x + i * ld, r->center + (int64_t)label * ld, ld) <
                (double)s->batch_score[i] - 1e-6 * r->scan->longest;
    }
}

int ck_tree_scan_nearest(struct ck_tree_scan *s)
{
    struct ck_tree_repair *r = s->r;
    int64_t from = ck_share_first(s->batches, s->share.rank, s->share.size);
    int64_t end = ck_share_first(s->batches, s->share.rank + 1, s->share.size);
    ck_tree_widen(r->tree, NULL);
    ck_tree_settle(r->tree, NULL);
    memset(s->part, 0, (size_t)s->batches * sizeof *s->part);
    for (int64_t b = from; b < end; b++) {
        int64_t n = name_rows(s, b);
        CK_RETURN_IF(read_rows(s, n));
        ck_tree_assign(r->tree, s->x, n, s->batch_label, s->batch_score);
        compare_batch(s, n, &s->part[b]);
        CK_RETURN_IF(report_rows(s, "final", b + 1));
    }
    if (s->share.size > 1)
        CK_RETURN_IF(ck_tree_scan_gather(s, 0));
    for (int64_t b = 0; b < s->batches; b++) {
        r->nearest += s->part[b].nearest;
        r->not_nearest += s->part[b].not_nearest;
    }
    r->scans++;
    return COKE_OK;
}

/* ---- the margin ---- */

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* How far the leaves of the sample's lists are behind the labels, sorted; -1 = out of memory. */
static int64_t sort_leads(struct ck_tree_scan *s, int64_t n, float **out)
{
    const struct ck_tree_lists *l = &s->lists;
    const float *price = s->r->price;
    int64_t count = 0;
    float *lead = ck_alloc_array((size_t)l->first[n] + 1, sizeof *lead);
    *out = lead;
    for (int64_t i = 0; lead && i < n; i++) {
        float best = s->batch_score[i] + price[s->batch_label[i]];
        for (int64_t a = l->first[i]; a < l->first[i + 1]; a++)
            if (l->item[a].k != s->batch_label[i])
                lead[count++] = best - (l->item[a].score + price[l->item[a].k]);
    }
    if (!lead)
        return -1;
    qsort(lead, (size_t)count, sizeof *lead, ascending);
    return count;
}

int ck_tree_scan_choose_margin(struct ck_tree_scan *s, double limit)
{
    struct ck_tree_repair *r = s->r;
    int64_t total = r->scan->rows->n, n = 0;
    float *lead = NULL;
    int rc = COKE_OK;
    for (uint64_t i = 0; i < SAMPLE; i++) {
        int64_t row = (int64_t)ck_rng_below(r->seed, CK_RNG_SAMPLE, i, 2, (uint64_t)total);
        if (!ck_scan_is_bad(r->scan, row))
            s->batch_id[n++] = row;
    }
    if (n == 0)
        return COKE_OK;
    ck_tree_widen(r->tree, NULL);
    ck_tree_settle(r->tree, r->price);
    CK_TRY(read_rows(s, n));
    s->lists.margin = (float)r->scan->longest / 4;
    s->lists.most = INT32_MAX;
    CK_TRY(
        ck_tree_near(r->tree, s->x, s->batch_id, n, s->batch_label, s->batch_score, &s->lists));
    int64_t count = sort_leads(s, n, &lead);
    if (count < 0)
        CK_LEAVE(COKE_ENOMEM);
    int64_t at = (int64_t)(limit * (double)n);
    s->margin = count == 0 ? 0 : lead[at < count ? at : count - 1];
    s->margin = fmaxf(s->margin, 1e-4f * (float)r->scan->longest);
done:
    ck_free(lead);
    return rc;
}
