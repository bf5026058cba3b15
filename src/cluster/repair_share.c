/* repair_share.c - several processes divide the scans of a repair: each scans its rows, and the
 * rows with a choice of clusters are gathered on all. All functions here are collective. */
#include "cluster/repair_scan.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

void ck_repair_scan_release_found(struct ck_repair_scan *p)
{
    for (int i = 0; p->worker && i < p->workers; i++) {
        ck_free(p->worker[i].found.item);
        ck_free(p->worker[i].found.arc);
        memset(&p->worker[i].found, 0, sizeof p->worker[i].found);
    }
}

static int gather(const struct ck_repair_scan *p, const void *mine, void *all,
                  const int64_t *bytes)
{
    return p->share.gather(p->share.arg, mine, all, bytes);
}

/* Each process has a contiguous run of chunks. */
int64_t ck_repair_scan_chunks_before(const struct ck_repair_scan *p, int rank)
{
    return ck_share_first(p->chunks, rank, p->share.size);
}

static int64_t rows_before(const struct ck_repair_scan *p, int rank)
{
    int64_t row = ck_repair_scan_chunks_before(p, rank) * CK_REPAIR_CHUNK,
            n = p->r->scan->rows->n;
    return row < n ? row : n;
}

/* Copies what the threads of this process found, in the order of the chunks, to out at `items`
 * and `arcs`; the parts then refer to worker 0, which gets the joined list. */
static void line_up(struct ck_repair_scan *p, struct ck_repair_found *out, int64_t items,
                    int64_t arcs)
{
    for (int64_t c = ck_repair_scan_chunks_before(p, p->share.rank);
         c < ck_repair_scan_chunks_before(p, p->share.rank + 1); c++) {
        struct ck_repair_part *part = &p->part[c];
        const struct ck_repair_found *f = &p->worker[part->worker].found;
        if (part->n) {
            memcpy(out->item + items, f->item + part->first, (size_t)part->n * sizeof *f->item);
            memcpy(out->arc + arcs, f->arc + part->first_arc,
                   (size_t)part->narcs * sizeof *f->arc);
        }
        part->worker = 0;
        part->first = items;
        part->first_arc = arcs;
        items += part->n;
        arcs += part->narcs;
    }
}

/* Gathers the rows with a choice of all processes, in the order of the rows: first their
 * numbers, then rows and arcs. */
static int share_lists(struct ck_repair_scan *p, int64_t *bytes)
{
    int rc = COKE_OK;
    struct ck_repair_found all = {0};
    int64_t mine[2] = {0}, *count = ck_alloc_array(2 * (size_t)p->share.size, sizeof *count);
    int64_t at[2] = {0}; /* where the entries of this process begin */
    if (!count)
        return COKE_ENOMEM;
    for (int w = 0; w < p->workers; w++) {
        mine[0] += p->worker[w].found.n;
        mine[1] += p->worker[w].found.narcs;
    }
    for (int r = 0; r < p->share.size; r++)
        bytes[r] = sizeof mine;
    CK_TRY(gather(p, mine, count, bytes));
    for (int r = 0; r < p->share.size; r++) {
        at[0] += r < p->share.rank ? count[2 * r] : 0;
        at[1] += r < p->share.rank ? count[2 * r + 1] : 0;
        all.n += count[2 * r];
        all.narcs += count[2 * r + 1];
    }
    all.room = all.n + 1;
    all.arcs_room = all.narcs + 1;
    all.item = ck_alloc_array((size_t)all.room, sizeof *all.item);
    all.arc = ck_alloc_array((size_t)all.arcs_room, sizeof *all.arc);
    if (!all.item || !all.arc)
        CK_LEAVE(COKE_ENOMEM);
    line_up(p, &all, at[0], at[1]);
    for (int r = 0; r < p->share.size; r++)
        bytes[r] = count[2 * r] * (int64_t)sizeof *all.item;
    CK_TRY(gather(p, all.item + at[0], all.item, bytes));
    for (int r = 0; r < p->share.size; r++)
        bytes[r] = count[2 * r + 1] * (int64_t)sizeof *all.arc;
    CK_TRY(gather(p, all.arc + at[1], all.arc, bytes));
    ck_repair_scan_release_found(p);
    p->worker[0].found = all;
    all = (struct ck_repair_found){0};
done:
    ck_free(all.item);
    ck_free(all.arc);
    ck_free(count);
    return rc;
}

/* Gathers labels and scores in place. */
static int share_rows(struct ck_repair_scan *p, int64_t *bytes)
{
    struct ck_labels *l = p->r->labels;
    size_t label = l->wide ? sizeof *l->wide : sizeof *l->narrow;
    char *all = l->wide ? (char *)l->wide : (char *)l->narrow;
    for (int r = 0; r < p->share.size; r++)
        bytes[r] = (rows_before(p, r + 1) - rows_before(p, r)) * (int64_t)label;
    /* Gathered parts are multiples of CK_SHARE_WORD: parts begin at multiples of a chunk, and
     * labels.c allocates the padding of the last one. */
    bytes[p->share.size - 1] =
        (bytes[p->share.size - 1] + CK_SHARE_WORD - 1) / CK_SHARE_WORD * CK_SHARE_WORD;
    CK_RETURN_IF(gather(p, all + (size_t)rows_before(p, p->share.rank) * label, all, bytes));
    if (!p->r->scores)
        return COKE_OK;
    for (int r = 0; r < p->share.size; r++)
        bytes[r] = (rows_before(p, r + 1) - rows_before(p, r)) * (int64_t)sizeof(float);
    CK_RETURN_IF(gather(p, p->r->scores + rows_before(p, p->share.rank), p->r->scores, bytes));
    return COKE_OK;
}

int ck_repair_scan_share_words(struct ck_repair_scan *p, void *words)
{
    char *all = words;
    int64_t *bytes = ck_alloc_array((size_t)p->share.size, sizeof *bytes);
    if (!bytes)
        return COKE_ENOMEM;
    for (int r = 0; r < p->share.size; r++)
        bytes[r] = (rows_before(p, r + 1) - rows_before(p, r)) * CK_SHARE_WORD;
    int rc = gather(p, all + rows_before(p, p->share.rank) * CK_SHARE_WORD, all, bytes);
    ck_free(bytes);
    return rc;
}

/* Sizes are summed, parts gathered. Labels only after a scan over all rows: those of a sample
 * are overwritten by the next scan, and a second scan sets none. */
int ck_repair_scan_merge_ranks(struct ck_repair_scan *p)
{
    int rc = COKE_OK;
    int64_t *bytes = ck_alloc_array((size_t)p->share.size, sizeof *bytes),
            *size = p->worker[0].size;
    if (!bytes)
        return COKE_ENOMEM;
    CK_TRY(share_lists(p, bytes));
    for (int w = 1; w < p->workers; w++)
        for (int64_t k = 0; k < p->r->k; k++) {
            size[k] += p->worker[w].size[k];
            p->worker[w].size[k] = 0;
        }
    CK_TRY(p->share.sum_i64(p->share.arg, size, p->r->k));
    for (int r = 0; r < p->share.size; r++)
        bytes[r] =
            (ck_repair_scan_chunks_before(p, r + 1) - ck_repair_scan_chunks_before(p, r)) *
            (int64_t)sizeof *p->part;
    CK_TRY(gather(p, p->part + ck_repair_scan_chunks_before(p, p->share.rank), p->part, bytes));
    if (!p->only_marked && p->fraction >= 1)
        CK_TRY(share_rows(p, bytes));
done:
    ck_free(bytes);
    return rc;
}
