/* tree_share.c - several processes divide the scans of a repair: each searches its batches, and
 * labels, sums and rows with a choice are gathered on all. */
#include "cluster/tree_repair.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"

#include <string.h>

static int64_t batches_before(const struct ck_tree_scan *s, int rank)
{
    return ck_share_first(s->batches, rank, s->share.size);
}

static int64_t rows_before(const struct ck_tree_scan *s, int rank)
{
    int64_t row = batches_before(s, rank) * CK_TREE_BATCH, n = s->r->scan->rows->n;
    return row < n ? row : n;
}

static int gather_parts(struct ck_tree_scan *s, int64_t *bytes)
{
    for (int r = 0; r < s->share.size; r++)
        bytes[r] = (batches_before(s, r + 1) - batches_before(s, r)) * (int64_t)sizeof *s->part;
    return s->share.gather(s->share.arg, s->part + batches_before(s, s->share.rank), s->part,
                           bytes);
}

/* Parts are multiples of CK_SHARE_WORD: batches are, and labels.c pads the end. */
static int gather_labels(struct ck_tree_scan *s, int64_t *bytes)
{
    struct ck_labels *l = s->r->labels;
    int64_t label = l->wide ? (int64_t)sizeof *l->wide : (int64_t)sizeof *l->narrow;
    char *all = l->wide ? (char *)l->wide : (char *)l->narrow;
    for (int r = 0; r < s->share.size; r++)
        bytes[r] = (rows_before(s, r + 1) - rows_before(s, r)) * label;
    int64_t *end = &bytes[s->share.size - 1];
    *end = (*end + CK_SHARE_WORD - 1) / CK_SHARE_WORD * CK_SHARE_WORD;
    return s->share.gather(s->share.arg, all + rows_before(s, s->share.rank) * label, all,
                           bytes);
}

/* Points and arcs of the batches before those of process `rank`. */
static void points_before(const struct ck_tree_scan *s, int rank, int64_t *points,
                          int64_t *arcs)
{
    *points = *arcs = 0;
    for (int64_t b = 0; b < batches_before(s, rank); b++) {
        *points += s->part[b].active;
        *arcs += s->part[b].arcs;
    }
}

/* Moves this process's items [n] to their place `at` in an array for all, and gathers it. */
static int gather_array(const struct ck_tree_scan *s, void *items, int64_t at, int64_t n,
                        int64_t size, const int64_t *bytes)
{
    char *all = items;
    memmove(all + at * size, all, (size_t)(n * size));
    return s->share.gather(s->share.arg, all + at * size, all, bytes);
}

/* counts [size + 1][2]: points and arcs before each process. */
static int gather_points(struct ck_tree_scan *s, int64_t *counts, int64_t *bytes)
{
    int ranks = s->share.size, me = s->share.rank;
    for (int r = 0; r <= ranks; r++)
        points_before(s, r, &counts[2 * r], &counts[2 * r + 1]);
    int64_t points = counts[2 * ranks], arcs = counts[2 * ranks + 1];
    int64_t at = counts[2 * me], arc_at = counts[2 * me + 1];
    CK_RETURN_IF(CK_VEC_RESERVE(s->id, s->id_room, points + 1));
    CK_RETURN_IF(CK_VEC_RESERVE(s->label, s->label_room, points + 1));
    CK_RETURN_IF(CK_VEC_RESERVE(s->first, s->first_room, points + 1));
    CK_RETURN_IF(CK_VEC_RESERVE(s->choice, s->choice_room, arcs + 1));
    for (int64_t i = 0; i < s->n; i++)
        s->first[i] += arc_at;
    for (int r = 0; r < ranks; r++)
        bytes[r] = (counts[2 * r + 2] - counts[2 * r]) * (int64_t)sizeof *s->id;
    CK_RETURN_IF(gather_array(s, s->id, at, s->n, (int64_t)sizeof *s->id, bytes));
    CK_RETURN_IF(gather_array(s, s->first, at, s->n, (int64_t)sizeof *s->first, bytes));
    for (int r = 0; r < ranks; r++)
        bytes[r] = (counts[2 * r + 2] - counts[2 * r]) * (int64_t)sizeof *s->label;
    CK_RETURN_IF(gather_array(s, s->label, at, s->n, (int64_t)sizeof *s->label, bytes));
    for (int r = 0; r < ranks; r++)
        bytes[r] = (counts[2 * r + 3] - counts[2 * r + 1]) * (int64_t)sizeof *s->choice;
    CK_RETURN_IF(
        gather_array(s, s->choice, arc_at, s->narcs, (int64_t)sizeof *s->choice, bytes));
    s->n = points;
    s->narcs = arcs;
    s->first[points] = arcs;
    return COKE_OK;
}

int ck_tree_scan_gather(struct ck_tree_scan *s, int what)
{
    int rc = COKE_OK;
    size_t ranks = (size_t)s->share.size;
    int64_t *bytes = ck_alloc_array(ranks, sizeof *bytes);
    int64_t *counts = ck_alloc_array(2 * ranks + 2, sizeof *counts);
    if (!bytes || !counts)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(gather_parts(s, bytes));
    if (what & CK_TREE_LABELS)
        CK_TRY(gather_labels(s, bytes));
    if (what & CK_TREE_POINTS)
        CK_TRY(gather_points(s, counts, bytes));
done:
    ck_free(bytes);
    ck_free(counts);
    return rc;
}
