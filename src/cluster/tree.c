/* tree.c - rows to leaves by a search of two levels.
 *
 * Rows of a batch are brought together by group, so that the leaves of a group meet many rows at
 * once: one ck_assigner per group does the work, relative to the mean of its own leaves, which
 * makes 8-bit screening tighter than one mean for all. */
#include "cluster/tree.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/vec.h"
#include "core/workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REDUCE_CHUNK = 256 };

/* ---- construction ---- */

static void pack_groups(struct ck_tree *t)
{
    int width = t->kn->panel;
    for (int64_t g = 0; g < t->groups; g++)
        ck_panel_set(t->panel + g / width * width * (int64_t)t->ld, width, (int)(g % width),
                     t->center + g * t->ld, t->ld);
}

static int allocate(struct ck_tree *t)
{
    size_t groups = (size_t)t->groups, ld = (size_t)t->ld;
    size_t padded =
        (groups + (size_t)t->kn->panel - 1) / (size_t)t->kn->panel * (size_t)t->kn->panel;
    t->first = ck_alloc_array(groups + 1, sizeof *t->first);
    t->start = ck_alloc_array(groups + 1, sizeof *t->start);
    t->unit = ck_alloc_array(groups + 1, sizeof *t->unit);
    t->center = ck_alloc_array(groups, ld * sizeof *t->center);
    t->panel = ck_calloc_array(padded, ld * sizeof *t->panel);
    t->panel_bias = ck_calloc_array(padded, sizeof *t->panel_bias);
    t->leaf = ck_calloc_array(groups, sizeof *t->leaf);
    t->bias = ck_calloc_array((size_t)t->k, sizeof *t->bias);
    return t->first && t->start && t->unit && t->center && t->panel && t->panel_bias &&
                   t->leaf && t->bias
               ? COKE_OK
               : COKE_ENOMEM;
}

int ck_tree_new(struct ck_tree **out, const struct ck_frame *frame, const float *center,
                int64_t groups, const int64_t *first, const float *leaves, int probes)
{
    int rc = COKE_ENOMEM, ld = frame->ld;
    struct ck_tree *t = ck_calloc_array(1, sizeof *t);
    if (!t)
        return COKE_ENOMEM;
    t->kn = ck_kernels();
    t->frame = frame;
    t->ld = ld;
    t->groups = groups;
    t->k = first[groups];
    t->probes = (int)(groups < probes ? groups : probes);
    CK_TRY(allocate(t));
    memcpy(t->first, first, (size_t)(groups + 1) * sizeof *first);
    memcpy(t->center, center, (size_t)groups * (size_t)ld * sizeof *center);
    pack_groups(t);
    for (int64_t g = 0; g < groups; g++)
        CK_TRY(ck_frame_assigner(&t->leaf[g], frame, t->kn, leaves + first[g] * ld,
                                 first[g + 1] - first[g]));
    *out = t;
    return COKE_OK;
done:
    ck_tree_free(t);
    return rc;
}

static void release_workers(struct ck_tree *t)
{
    for (int w = 0; t->worker && w < t->workers; w++) {
        ck_free(t->worker[w].x);
        ck_free(t->worker[w].near.item);
        ck_free(t->worker[w].row);
        ck_free(t->worker[w].joined);
    }
    ck_free(t->worker);
    t->worker = NULL;
    t->workers = 0;
}

static void release_rows(struct ck_tree *t)
{
    ck_free(t->route);
    ck_free(t->order);
    ck_free(t->pair);
    t->route = t->order = NULL;
    t->pair = NULL;
    t->room = 0;
}

void ck_tree_free(struct ck_tree *t)
{
    if (!t)
        return;
    for (int64_t g = 0; t->leaf && g < t->groups; g++)
        ck_assigner_free(t->leaf[g]);
    release_workers(t);
    release_rows(t);
    ck_free(t->first);
    ck_free(t->start);
    ck_free(t->unit);
    ck_free(t->center);
    ck_free(t->panel);
    ck_free(t->panel_bias);
    ck_free(t->leaf);
    ck_free(t->bias);
    ck_free(t);
}

static int reserve_workers(struct ck_tree *t)
{
    int workers = ck_threads();
    if (workers <= t->workers)
        return COKE_OK;
    release_workers(t);
    t->worker = ck_calloc_array((size_t)workers, sizeof *t->worker);
    if (!t->worker)
        return COKE_ENOMEM;
    t->workers = workers;
    for (int w = 0; w < workers; w++) {
        t->worker[w].x =
            ck_calloc_array(CK_ASSIGN_BLOCK + CK_TILE, (size_t)t->ld * sizeof *t->worker[w].x);
        if (!t->worker[w].x)
            return COKE_ENOMEM;
    }
    return COKE_OK;
}

int ck_tree_reserve(struct ck_tree *t, int64_t n)
{
    CK_RETURN_IF(reserve_workers(t));
    if (n <= t->room)
        return COKE_OK;
    release_rows(t);
    size_t pairs = (size_t)n * (size_t)t->probes;
    t->route = ck_alloc_array(pairs, sizeof *t->route);
    t->order = ck_alloc_array(pairs, sizeof *t->order);
    t->pair = ck_alloc_array(pairs, sizeof *t->pair);
    if (!t->route || !t->order || !t->pair) {
        release_rows(t);
        return COKE_ENOMEM;
    }
    t->room = n;
    return COKE_OK;
}

/* ---- centers and biases ---- */

int64_t ck_tree_group_of(const struct ck_tree *t, int64_t leaf)
{
    int64_t low = 0, high = t->groups - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (t->first[middle] <= leaf)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void ck_tree_reset(struct ck_tree *t, const float *leaves)
{
    for (int64_t g = 0; g < t->groups; g++)
        ck_assigner_reset(t->leaf[g], leaves + t->first[g] * t->ld);
}

void ck_tree_update(struct ck_tree *t, int64_t leaf)
{
    int64_t g = ck_tree_group_of(t, leaf);
    ck_assigner_update(t->leaf[g], leaf - t->first[g]);
}

static void settle_group(void *arg, int64_t g, int worker)
{
    (void)worker;
    struct ck_tree *t = arg;
    ck_assigner_widen(t->leaf[g], NULL, t->rise ? t->rise + t->first[g] : NULL, NULL);
    ck_assigner_settle(t->leaf[g], t->bias + t->first[g]);
}

void ck_tree_settle(struct ck_tree *t, const float *bias)
{
    if (bias)
        memcpy(t->bias, bias, (size_t)t->k * sizeof *bias);
    else
        memset(t->bias, 0, (size_t)t->k * sizeof *t->bias);
    ck_parallel(t->groups, settle_group, t);
}

void ck_tree_choose(struct ck_tree *t)
{
    for (int64_t g = 0; g < t->groups; g++)
        ck_assigner_choose(t->leaf[g]);
}

void ck_tree_widen(struct ck_tree *t, const float *rise)
{
    t->rise = rise;
}

void ck_tree_recenter(struct ck_tree *t, const float *leaves, const int64_t *count)
{
    for (int64_t g = 0; g < t->groups; g++) {
        float *c = t->center + g * t->ld;
        int64_t members = 0;
        for (int64_t k = t->first[g]; k < t->first[g + 1]; k++)
            members += count[k];
        for (int j = 0; members && j < t->ld; j++) {
            double sum = 0;
            for (int64_t k = t->first[g]; k < t->first[g + 1]; k++)
                sum += (double)count[k] * (double)leaves[k * t->ld + j];
            c[j] = (float)(sum / (double)members);
        }
        ck_frame_close(t->frame, t->kn, c);
    }
    pack_groups(t);
}

/* ---- the nearest groups ---- */

/* A score and its group as a key: higher scores have higher keys, of equal ones the lower group
 * has. 0 = none. */
static uint64_t key_of(float score, int64_t group)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    bits ^= bits >> 31 ? UINT32_MAX : UINT32_C(1) << 31;
    return (uint64_t)bits << 32 | (UINT32_MAX - (uint32_t)group);
}

static float score_of(uint64_t key)
{
    uint32_t bits = (uint32_t)(key >> 32);
    float score;
    bits ^= bits >> 31 ? UINT32_C(1) << 31 : UINT32_MAX;
    memcpy(&score, &bits, sizeof score);
    return score;
}

/* best: the highest keys of one row so far, descending. Without branches, which nobody could
 * predict. */
static void insert(uint64_t best[CK_TREE_PROBES], uint64_t key)
{
    for (int i = 0; i < CK_TREE_PROBES; i++) {
        uint64_t old = best[i];
        best[i] = old > key ? old : key;
        key = old > key ? key : old;
    }
}

/* Scores that are not finite are no hits: such rows get the first groups. */
static void write_route(const uint64_t *best, int most, int32_t *route)
{
    for (int i = 0; i < most; i++)
        route[i] = best[most - 1] ? (int32_t)(UINT32_MAX - (uint32_t)best[i]) : i;
}

/* A limit that at least `most` of the first scores of a row reach: of as many slices of them each
 * has one that does. Spares the insertion of all of them. */
static float first_limit(const float *score, int64_t n, int most)
{
    float lowest = INFINITY;
    for (int s = 0; s < most; s++) {
        float highest = -INFINITY;
        for (int64_t i = s; i < n; i += most)
            highest = score[i] > highest ? score[i] : highest;
        lowest = highest < lowest ? highest : lowest;
    }
    return lowest;
}

static void route_tile(const struct ck_tree *t, const float *x, int n, int32_t *route)
{
    int width = t->kn->panel;
    uint64_t best[CK_TILE][CK_TREE_PROBES] = {{0}}, hits[CK_TILE];
    float limit[CK_TILE], out[CK_TILE * CK_PANEL_MAX];
    for (int r = 0; r < CK_TILE; r++)
        limit[r] = r < n ? -INFINITY : INFINITY;
    for (int64_t at = 0; at < t->groups; at += width) {
        int64_t left = t->groups - at;
        uint64_t real = left >= 64 ? UINT64_MAX : ((uint64_t)1 << left) - 1;
        unsigned mask = t->kn->dense_tile(t->panel + at * t->ld, t->panel_bias + at, x, t->ld,
                                          limit, hits, out);
        for (; mask; mask &= mask - 1) {
            int r = __builtin_ctz(mask);
            const float *score = out + r * width;
            float enough = at == 0 && r < n
                               ? first_limit(score, left < width ? left : width, t->probes)
                               : -INFINITY;
            for (uint64_t h = hits[r] & real; r < n && h; h &= h - 1) {
                int c = __builtin_ctzll(h);
                if (score[c] >= enough)
                    insert(best[r], key_of(score[c], at + c));
            }
            if (r < n && best[r][t->probes - 1])
                limit[r] = score_of(best[r][t->probes - 1]);
        }
    }
    for (int r = 0; r < n; r++)
        write_route(best[r], t->probes, route + r * t->probes);
}

void ck_tree_route(struct ck_tree *t, int64_t first, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += CK_TILE)
        route_tile(t, x + i * t->ld, (int)(n - i < CK_TILE ? n - i : CK_TILE),
                   t->route + (first + i) * t->probes);
}

/* ---- the leaves ---- */

/* One call; shared by the threads of the team. */
struct search {
    struct ck_tree *t;
    const float *x;    /* [n][ld] */
    const int64_t *id; /* [n], for near lists */
    int64_t n;
    int near, most;
    float margin;
    int32_t *label;
    float *score;
    struct ck_tree_lists *lists;
    struct ck_first_error error;
};

/* Counting sort of the pairs (row, probe) by group; a work unit is a block of pairs of one
 * group. Returns the number of units. */
static int64_t sort_pairs(struct search *s)
{
    struct ck_tree *t = s->t;
    int64_t pairs = s->n * t->probes, at = 0, units = 0;
    memset(t->start, 0, (size_t)(t->groups + 1) * sizeof *t->start);
    for (int64_t i = 0; i < pairs; i++)
        t->start[t->route[i]]++;
    for (int64_t g = 0; g < t->groups; g++) {
        int64_t n = t->start[g];
        t->unit[g] = units;
        units += (n + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK;
        t->start[g] = at;
        at += n;
    }
    t->unit[t->groups] = units;
    for (int64_t i = 0; i < pairs; i++)
        t->order[t->start[t->route[i]]++] = (int32_t)i;
    for (int64_t g = t->groups; g > 0; g--)
        t->start[g] = t->start[g - 1];
    t->start[0] = 0;
    return units;
}

static int64_t group_of_unit(const struct ck_tree *t, int64_t unit)
{
    int64_t low = 0, high = t->groups - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (t->unit[middle] <= unit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Stores where the near list of each pair is; entries are ordered by row. */
static void point_to_near(struct ck_tree *t, const int32_t *order, int n, int worker,
                          int64_t from)
{
    const struct ck_near_list *near = &t->worker[worker].near;
    for (int i = 0; i < n; i++) {
        struct ck_tree_pair *p = &t->pair[order[i]];
        p->worker = worker;
        p->near = (int32_t)from;
        for (; from < near->n && near->item[from].row == i; from++)
            ;
        p->nnear = (int32_t)from - p->near;
    }
}

/* Labels the rows of one unit among the leaves of its group. */
static void run_unit(void *arg, int64_t unit, int worker)
{
    struct search *s = arg;
    struct ck_tree *t = s->t;
    struct ck_tree_worker *w = &t->worker[worker];
    int64_t g = group_of_unit(t, unit), end = t->start[g + 1];
    int64_t at = t->start[g] + (unit - t->unit[g]) * CK_ASSIGN_BLOCK;
    int n = (int)(end - at < CK_ASSIGN_BLOCK ? end - at : CK_ASSIGN_BLOCK);
    const int32_t *order = t->order + at;
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    for (int i = 0; i < n; i++)
        memcpy(w->x + (int64_t)i * t->ld, s->x + order[i] / t->probes * (int64_t)t->ld,
               (size_t)t->ld * sizeof *w->x);
    int64_t from = w->near.n;
    if (s->near) {
        int rc =
            from > INT32_MAX / 2
                ? ck_fail(COKE_ENOMEM, "too many near centers in one batch")
                : ck_assign_near_block(t->leaf[g], w->x, n, s->margin, label, score, &w->near);
        if (rc) {
            ck_first_error_keep(&s->error, rc);
            return;
        }
    } else {
        ck_assign_block(t->leaf[g], w->x, n, label, score);
    }
    for (int i = 0; i < n; i++) {
        t->pair[order[i]].label = label[i];
        t->pair[order[i]].score = score[i];
    }
    if (s->near)
        point_to_near(t, order, n, worker, from);
}

/* The best of a row over its groups; returns its value with the bias. */
static float reduce_row(const struct search *s, int64_t i)
{
    const struct ck_tree *t = s->t;
    float best = -INFINITY, score = 0;
    int64_t label = -1;
    for (int p = 0; p < t->probes; p++) {
        const struct ck_tree_pair *pair = &t->pair[i * t->probes + p];
        int64_t k = t->first[t->route[i * t->probes + p]] + pair->label;
        float value = pair->score + t->bias[k];
        if (label >= 0 && !(value > best) && !(value == best && k < label))
            continue;
        best = value;
        score = pair->score;
        label = k;
    }
    s->label[i] = (int32_t)label;
    if (s->score)
        s->score[i] = score;
    return best;
}

static void reduce_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct search *s = arg;
    int64_t end = (chunk + 1) * REDUCE_CHUNK < s->n ? (chunk + 1) * REDUCE_CHUNK : s->n;
    for (int64_t i = chunk * REDUCE_CHUNK; i < end; i++)
        reduce_row(s, i);
}

static int64_t chunks_of(const struct search *s)
{
    return (s->n + REDUCE_CHUNK - 1) / REDUCE_CHUNK;
}

void ck_tree_assign(struct ck_tree *t, const float *x, int64_t n, int32_t *label, float *score)
{
    struct search s = {.t = t, .x = x, .n = n, .label = label, .score = score};
    ck_parallel(sort_pairs(&s), run_unit, &s);
    ck_parallel(chunks_of(&s), reduce_chunk, &s);
}

/* ---- near lists ---- */

void ck_tree_lists_release(struct ck_tree_lists *l)
{
    ck_free(l->first);
    ck_free(l->item);
    ck_free(l->chunk);
    memset(l, 0, sizeof *l);
}

static int by_rank(const void *a, const void *b)
{
    const struct ck_tree_ranked *x = a, *y = b;
    if (x->value != y->value)
        return (x->value < y->value) - (x->value > y->value);
    if (x->hash != y->hash)
        return (x->hash > y->hash) - (x->hash < y->hash);
    return (x->near.k > y->near.k) - (x->near.k < y->near.k);
}

static int by_leaf(const void *a, const void *b)
{
    const struct ck_tree_ranked *x = a, *y = b;
    return (x->near.k > y->near.k) - (x->near.k < y->near.k);
}

/* The entries of row i that reach best - margin, of all its groups, to w->row. */
static int64_t collect_row(const struct search *s, int64_t i, float best,
                           struct ck_tree_worker *w)
{
    const struct ck_tree *t = s->t;
    int64_t n = 0;
    for (int p = 0; p < t->probes; p++) {
        const struct ck_tree_pair *pair = &t->pair[i * t->probes + p];
        const struct ck_near *item = t->worker[pair->worker].near.item + pair->near;
        int64_t first = t->first[t->route[i * t->probes + p]];
        for (int j = 0; j < pair->nnear; j++) {
            int32_t k = (int32_t)(first + item[j].k);
            float value = item[j].score + t->bias[k] + (t->rise ? t->rise[k] : 0);
            int own = k == s->label[i]; /* comes first, whatever its hash */
            if (own || value >= best - s->margin)
                w->row[n++] = (struct ck_tree_ranked){
                    .value = own ? INFINITY : value,
                    .near = {.row = (int32_t)i, .k = k, .score = item[j].score}};
        }
    }
    return n;
}

/* Keeps the s->most best of n entries. */
static int64_t limit_row(const struct search *s, int64_t i, struct ck_tree_ranked *row,
                         int64_t n)
{
    if (n <= s->most)
        return n;
    for (int64_t j = 0; j < n; j++) {
        uint64_t key[2] = {(uint64_t)s->id[i], (uint64_t)row[j].near.k};
        row[j].hash = (uint32_t)ck_hash(key, sizeof key, 0);
    }
    qsort(row, (size_t)n, sizeof *row, by_rank);
    return s->most;
}

/* The list of row i to the end of w->joined; its length to first[i + 1]. */
static int join_row(const struct search *s, int64_t i, struct ck_tree_worker *w)
{
    int64_t most = 0;
    float best = reduce_row(s, i);
    for (int p = 0; p < s->t->probes; p++)
        most += s->t->pair[i * s->t->probes + p].nnear;
    CK_RETURN_IF(CK_VEC_RESERVE(w->row, w->row_room, most + 1));
    int64_t n = limit_row(s, i, w->row, collect_row(s, i, best, w));
    if (n > 1)
        qsort(w->row, (size_t)n, sizeof *w->row, by_leaf);
    CK_RETURN_IF(CK_VEC_RESERVE(w->joined, w->joined_room, w->njoined + n + 1));
    for (int64_t j = 0; j < n; j++)
        w->joined[w->njoined++] = w->row[j].near;
    s->lists->first[i + 1] = n;
    return COKE_OK;
}

static void join_chunk(void *arg, int64_t chunk, int worker)
{
    struct search *s = arg;
    struct ck_tree_worker *w = &s->t->worker[worker];
    int64_t end = (chunk + 1) * REDUCE_CHUNK < s->n ? (chunk + 1) * REDUCE_CHUNK : s->n;
    int rc = COKE_OK;
    s->lists->chunk[chunk] = (struct ck_tree_chunk){worker, w->njoined};
    for (int64_t i = chunk * REDUCE_CHUNK; i < end && !rc; i++)
        rc = join_row(s, i, w);
    ck_first_error_keep(&s->error, rc);
}

/* Lists of chunks of rows on all threads, then one after another in the order of the rows. */
static int join_lists(struct search *s)
{
    struct ck_tree_lists *l = s->lists;
    CK_RETURN_IF(CK_VEC_RESERVE(l->first, l->first_room, s->n + 1));
    CK_RETURN_IF(CK_VEC_RESERVE(l->chunk, l->chunk_room, chunks_of(s)));
    for (int w = 0; w < s->t->workers; w++)
        s->t->worker[w].njoined = 0;
    ck_parallel(chunks_of(s), join_chunk, s);
    CK_RETURN_IF(ck_first_error_raise(&s->error));
    l->first[0] = 0;
    for (int64_t i = 0; i < s->n; i++)
        l->first[i + 1] += l->first[i];
    CK_RETURN_IF(CK_VEC_RESERVE(l->item, l->room, l->first[s->n] + 1));
    for (int64_t c = 0; c < chunks_of(s); c++) {
        int64_t from = c * REDUCE_CHUNK, to = from + REDUCE_CHUNK;
        to = to < s->n ? to : s->n;
        memcpy(l->item + l->first[from],
               s->t->worker[l->chunk[c].worker].joined + l->chunk[c].first,
               (size_t)(l->first[to] - l->first[from]) * sizeof *l->item);
    }
    return COKE_OK;
}

int ck_tree_near(struct ck_tree *t, const float *x, const int64_t *id, int64_t n,
                 int32_t *label, float *score, struct ck_tree_lists *out)
{
    struct search s = {.t = t,
                       .x = x,
                       .id = id,
                       .n = n,
                       .near = 1,
                       .most = out->most,
                       .margin = out->margin,
                       .label = label,
                       .score = score,
                       .lists = out};
    for (int w = 0; w < t->workers; w++)
        t->worker[w].near.n = 0;
    ck_parallel(sort_pairs(&s), run_unit, &s);
    CK_RETURN_IF(ck_first_error_raise(&s.error));
    return join_lists(&s);
}
