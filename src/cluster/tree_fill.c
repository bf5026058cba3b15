/* tree_fill.c - from the labels of a scan to labels that keep all sizes, within the candidates.
 *
 * First single moves that reduce a violation, the cheapest first; then, for each leaf that is
 * still outside its bounds, the cheapest path of moves through other leaves, by Dijkstra's
 * algorithm on a bounded number of leaves. The cost of a move is what it loses at the prices of
 * the scan. What remains is left to ck_tree_fill_beyond. */
#include "cluster/tree_repair.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    VISITS = 512,     /* leaves that a search for a path settles */
    REPORT_PATHS = 64 /* paths between reports */
};

struct heap_item {
    double dist;
    int32_t leaf;
};

struct fill {
    struct ck_tree_scan *s;
    struct ck_tree_repair *r;
    /* one search */
    double *dist;   /* [k] */
    int32_t *stamp; /* [k] search in which dist is valid; -search = settled */
    int32_t *via;   /* [k] point that moves on the last step */
    int32_t *link;  /* [k] leaf on the other side of this step */
    int32_t search;
    struct heap_item *heap;
    int64_t nheap, room;
    int64_t budget; /* arcs that all searches together may look at */
};

static int below(const struct ck_tree_repair *r, int64_t k)
{
    return r->size[k] < r->min_size[k];
}

static int above(const struct ck_tree_repair *r, int64_t k)
{
    return r->max_size && r->size[k] > r->max_size[k];
}

static int can_give(const struct ck_tree_repair *r, int64_t k)
{
    return r->size[k] > r->min_size[k];
}

static int can_take(const struct ck_tree_repair *r, int64_t k)
{
    return !r->max_size || r->size[k] < r->max_size[k];
}

static float score_of(const struct ck_tree_scan *s, int64_t point, int32_t k)
{
    for (int64_t c = s->first[point]; c < s->first[point + 1]; c++)
        if (s->choice[c].k == k)
            return s->choice[c].score;
    return -INFINITY;
}

static double value_of(const struct fill *f, int64_t point, int32_t k)
{
    return (double)score_of(f->s, point, k) + (double)f->r->price[k];
}

/* What point loses when it moves from its label to k; labels are the best choices, up to moves
 * that were made before. */
static double loss_of(const struct fill *f, int64_t point, int32_t k)
{
    return fmax(0, value_of(f, point, f->s->label[point]) - value_of(f, point, k));
}

static void move_point(struct fill *f, int64_t point, int32_t k)
{
    int32_t old = f->s->label[point];
    f->r->primal += (double)score_of(f->s, point, k) - (double)score_of(f->s, point, old);
    f->r->size[old]--;
    f->r->size[k]++;
    f->r->moved++;
    f->s->label[point] = k;
}

/* ---- single moves ---- */

struct move {
    double loss;
    int32_t point, k;
};

static int by_loss(const void *a, const void *b)
{
    const struct move *x = a, *y = b;
    if (x->loss != y->loss)
        return (x->loss > y->loss) - (x->loss < y->loss);
    if (x->point != y->point)
        return (x->point > y->point) - (x->point < y->point);
    return (x->k > y->k) - (x->k < y->k);
}

static int helps(const struct ck_tree_repair *r, int32_t from, int32_t to)
{
    return from != to && can_give(r, from) && can_take(r, to) &&
           (below(r, to) || above(r, from));
}

static int make_moves(struct fill *f)
{
    struct ck_tree_scan *s = f->s;
    struct move *move = NULL;
    int64_t n = 0, room = 0;
    int rc = COKE_OK;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t c = s->first[i]; c < s->first[i + 1]; c++) {
            if (!helps(f->r, s->label[i], s->choice[c].k))
                continue;
            CK_TRY(CK_VEC_RESERVE(move, room, n + 1));
            move[n++] =
                (struct move){loss_of(f, i, s->choice[c].k), (int32_t)i, s->choice[c].k};
        }
    if (n > 0)
        qsort(move, (size_t)n, sizeof *move, by_loss);
    for (int64_t i = 0; i < n; i++)
        if (helps(f->r, s->label[move[i].point], move[i].k))
            move_point(f, move[i].point, move[i].k);
done:
    ck_free(move);
    return rc;
}

/* ---- paths ---- */

static int heap_before(const struct heap_item *a, const struct heap_item *b)
{
    return a->dist != b->dist ? a->dist < b->dist : a->leaf < b->leaf;
}

static int heap_push(struct fill *f, double dist, int32_t leaf)
{
    CK_RETURN_IF(CK_VEC_RESERVE(f->heap, f->room, f->nheap + 1));
    int64_t at = f->nheap++;
    struct heap_item item = {dist, leaf};
    for (; at > 0 && heap_before(&item, &f->heap[(at - 1) / 2]); at = (at - 1) / 2)
        f->heap[at] = f->heap[(at - 1) / 2];
    f->heap[at] = item;
    return COKE_OK;
}

static struct heap_item heap_pop(struct fill *f)
{
    struct heap_item top = f->heap[0], item = f->heap[--f->nheap];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < f->nheap; at = child) {
        if (child + 1 < f->nheap && heap_before(&f->heap[child + 1], &f->heap[child]))
            child++;
        if (!heap_before(&f->heap[child], &item))
            break;
        f->heap[at] = f->heap[child];
    }
    f->heap[at] = item;
    return top;
}

/* Leaf `to` can be reached from `from` at this distance, by a move of the point. */
static int relax(struct fill *f, int32_t from, int32_t to, double dist, int32_t point)
{
    if (f->stamp[to] == -f->search || (f->stamp[to] == f->search && f->dist[to] <= dist))
        return COKE_OK;
    f->stamp[to] = f->search;
    f->dist[to] = dist;
    f->via[to] = point;
    f->link[to] = from;
    return heap_push(f, dist, to);
}

/* inward: leaves that could give a point to `leaf`; else leaves that could take one of its. */
static int relax_leaf(struct fill *f, int32_t leaf, int inward)
{
    const struct ck_tree_scan *s = f->s;
    double dist = f->dist[leaf];
    f->budget -= s->start[leaf + 1] - s->start[leaf];
    for (int64_t a = s->start[leaf]; a < s->start[leaf + 1]; a++) {
        int32_t point = s->arc[a].point, label = s->label[point];
        if (inward && label != leaf)
            CK_RETURN_IF(relax(f, leaf, label, dist + loss_of(f, point, leaf), point));
        if (inward || label != leaf)
            continue;
        for (int64_t c = s->first[point]; c < s->first[point + 1]; c++)
            if (s->choice[c].k != leaf)
                CK_RETURN_IF(relax(f, leaf, s->choice[c].k,
                                   dist + loss_of(f, point, s->choice[c].k), point));
    }
    return COKE_OK;
}

/* Follows the links from the end of the path back to its start, moving a point on each step. */
static void apply_path(struct fill *f, int32_t end, int32_t start, int inward)
{
    for (int32_t at = end; at != start; at = f->link[at])
        move_point(f, f->via[at], inward ? f->link[at] : at);
}

/* *found = 1: one point less is missing from (inward) or too many in `start`. */
static int search_path(struct fill *f, int32_t start, int inward, int *found)
{
    f->search++;
    f->nheap = 0;
    *found = 0;
    f->stamp[start] = f->search;
    f->dist[start] = 0;
    CK_RETURN_IF(heap_push(f, 0, start));
    for (int visit = 0; visit < VISITS && f->nheap > 0 && f->budget > 0;) {
        struct heap_item top = heap_pop(f);
        if (f->stamp[top.leaf] == -f->search)
            continue;
        f->stamp[top.leaf] = -f->search;
        visit++;
        if (top.leaf != start &&
            (inward ? can_give(f->r, top.leaf) : can_take(f->r, top.leaf))) {
            apply_path(f, top.leaf, start, inward);
            *found = 1;
            return COKE_OK;
        }
        CK_RETURN_IF(relax_leaf(f, top.leaf, inward));
    }
    return COKE_OK;
}

/* All leaves outside their bounds, one path at a time, until one finds none. */
static int make_paths(struct fill *f)
{
    int64_t leaves = f->r->tree->k, paths = 0;
    for (int inward = 0; inward < 2; inward++)
        for (int64_t k = 0; k < leaves; k++) {
            int found = 1;
            while (found && (inward ? below(f->r, k) : above(f->r, k))) {
                if (paths++ % REPORT_PATHS == 0)
                    CK_RETURN_IF(ck_tree_scan_report(f->s, k, leaves));
                CK_RETURN_IF(search_path(f, (int32_t)k, inward, &found));
            }
        }
    return COKE_OK;
}

/* ---- all of it ---- */

static int any_violation(const struct ck_tree_repair *r)
{
    for (int64_t k = 0; k < r->tree->k; k++)
        if (below(r, k) || above(r, k))
            return 1;
    return 0;
}

int ck_tree_fill(struct ck_tree_scan *s)
{
    struct fill f = {.s = s, .r = s->r};
    size_t k = (size_t)s->r->tree->k;
    int rc = COKE_ENOMEM;
    f.dist = ck_calloc_array(k, sizeof *f.dist);
    f.stamp = ck_calloc_array(k, sizeof *f.stamp);
    f.via = ck_calloc_array(k, sizeof *f.via);
    f.link = ck_calloc_array(k, sizeof *f.link);
    f.budget = 64 * s->narcs + (1 << 24);
    if (!f.dist || !f.stamp || !f.via || !f.link)
        goto done;
    CK_TRY(make_moves(&f));
    CK_TRY(make_paths(&f));
    for (int64_t i = 0; i < s->n; i++)
        ck_labels_set(s->r->labels, s->id[i], s->label[i]);
    if (any_violation(s->r))
        CK_TRY(ck_tree_fill_beyond(s));
done:
    ck_free(f.dist);
    ck_free(f.stamp);
    ck_free(f.via);
    ck_free(f.link);
    ck_free(f.heap);
    return rc;
}
