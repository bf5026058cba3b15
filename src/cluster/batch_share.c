/* batch_share.c - several processes divide a batch: each assigns a part of the rows, and all
 * move the centers by the same exact sums. */
#include "cluster/batch_run.h"
#include "cluster/kmeans_internal.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "core/workers.h"

#include <string.h>

void ck_batch_scratch_release(struct ck_batch_scratch *s)
{
    ck_free(s->bytes);
    ck_free(s->sum);
    ck_free(s->packed);
    memset(s, 0, sizeof *s);
}

static int64_t first_row(const struct ck_batch *b, int rank)
{
    return ck_share_first(b->rows->n, rank, b->share.size);
}

/* ---- labels and scores ---- */

/* Labels and scores of rows first .. last - 1 for all heads, consecutive. Scores are copied as
 * words of four bytes, like labels. */
static void pack(const struct ck_batch *b, int64_t first, int64_t last, int32_t *to)
{
    const struct ck_row_batch *r = b->rows;
    size_t bytes = (size_t)(last - first) * sizeof *to;
    for (int h = 0; h < b->heads; h++) {
        memcpy(to, r->label + h * r->n + first, bytes);
        to += last - first;
        if (!r->score)
            continue;
        memcpy(to, r->score + h * r->n + first, bytes);
        to += last - first;
    }
}

static void unpack(const struct ck_batch *b, int64_t first, int64_t last, const int32_t *from)
{
    const struct ck_row_batch *r = b->rows;
    size_t bytes = (size_t)(last - first) * sizeof *from;
    for (int h = 0; h < b->heads; h++) {
        memcpy(r->label + h * r->n + first, from, bytes);
        from += last - first;
        if (!r->score)
            continue;
        memcpy(r->score + h * r->n + first, from, bytes);
        from += last - first;
    }
}

/* Gathers labels and scores in one message per process for all heads. */
static int gather_labels(const struct ck_batch *b)
{
    struct ck_batch_scratch *s = b->scratch;
    int64_t words = b->heads * (b->rows->score ? 2 : 1);
    CK_RETURN_IF(CK_VEC_RESERVE(s->packed, s->packed_room, b->rows->n * words));
    pack(b, b->from, b->to, s->packed + b->from * words);
    CK_RETURN_IF(ck_share_gather_items(&b->share, s->packed, b->rows->n,
                                       words * (int64_t)sizeof *s->packed, s->bytes));
    for (int r = 0; r < b->share.size; r++)
        unpack(b, first_row(b, r), first_row(b, r + 1), s->packed + first_row(b, r) * words);
    return COKE_OK;
}

/* ---- rows ---- */

/* Computes the ids of the rows that other processes assign; those of this process are known. */
static void name_block(void *arg, int64_t block, int worker)
{
    (void)worker;
    const struct ck_batch *b = arg;
    const struct ck_row_source *source = b->rows->source;
    int64_t at = block * CK_ASSIGN_BLOCK, left = b->rows->n - at;
    int n = (int)(left < CK_ASSIGN_BLOCK ? left : CK_ASSIGN_BLOCK);
    if (at < b->from || at + n > b->to)
        source->name(source->arg, at, n);
}

static void name_rows(const struct ck_batch *b)
{
    struct ck_batch copy = *b;
    if (b->rows->source && b->rows->source->name)
        ck_parallel((b->rows->n + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK, name_block, &copy);
}

/* Without a source every process has all rows in x already. */
int ck_batch_exchange(const struct ck_batch *b)
{
    struct ck_batch_scratch *s = b->scratch;
    CK_RETURN_IF(CK_VEC_RESERVE(s->bytes, s->bytes_room, b->share.size));
    name_rows(b);
    CK_RETURN_IF(gather_labels(b));
    if (!b->rows->source || ck_batch_prefers_sums(b))
        return COKE_OK;
    return ck_share_gather_items(&b->share, b->rows->x, b->rows->n,
                                 b->head[0]->ld * (int64_t)sizeof(float), s->bytes);
}

/* ---- sums ---- */

/* Sums are int64 and at most one per cluster, rows are float; both have ld columns. Factor 2:
 * an all-reduce moves its data about twice. */
int ck_batch_prefers_sums(const struct ck_batch *b)
{
    int64_t clusters = 0;
    for (int h = 0; h < b->heads; h++)
        clusters += b->head[h]->k;
    return b->rows->source &&
           2 * clusters * (int64_t)sizeof(int64_t) < b->rows->n * (int64_t)sizeof(float);
}

int ck_batch_apply_sums(const struct ck_batch *b, int h)
{
    const struct ck_row_batch *r = b->rows;
    struct ck_batch_scratch *s = b->scratch;
    struct coke_kmeans *km = b->head[h];
    const int32_t *label = r->label + h * r->n;
    CK_RETURN_IF(CK_VEC_RESERVE(s->sum, s->sum_room, km->k * km->ld));
    int64_t touched = ck_kmeans_sum_rows(km, r->x, r->n, label, b->from, b->to, s->sum);
    CK_RETURN_IF(b->share.sum_i64(b->share.arg, s->sum, touched * km->ld));
    ck_kmeans_apply_sums(km, s->sum, r->ids, r->n, label);
    return COKE_OK;
}
