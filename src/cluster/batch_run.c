/* batch_run.c - one batch of rows through one or several heads. */
#include "cluster/batch_run.h"
#include "cluster/kmeans_internal.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/workers.h"

/* Shared by the threads of a team; each takes blocks of the batch. */
struct loop {
    const struct ck_batch *b;
    int block; /* rows that a thread takes at a time */
    struct ck_first_error error;
};

/* Reads a block, if there is a source, and assigns it for all heads while it is in cache. */
static void assign_block(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct loop *l = arg;
    const struct ck_batch *b = l->b;
    const struct ck_row_batch *r = b->rows;
    int64_t at = b->from + chunk * l->block;
    int n = (int)(b->to - at < l->block ? b->to - at : l->block);
    float *x = r->x + at * b->head[0]->ld;
    if (r->source && r->source->name)
        r->source->name(r->source->arg, at, n);
    int rc = r->source ? r->source->read(r->source->arg, at, n, x) : COKE_OK;
    if (rc) {
        ck_first_error_keep(&l->error, rc);
        return;
    }
    for (int h = 0; h < b->heads; h++) {
        int32_t *label = r->label + h * r->n + at;
        float *score = r->score ? r->score + h * r->n + at : NULL;
        if (b->head[h]->tree) {
            ck_tree_route(b->head[h]->tree, at - b->from, x, n);
            continue;
        }
        ck_assign_block(b->head[h]->assigner, x, n, label, score);
        if (score && b->head[h]->o.metric == COKE_METRIC_EUCLIDEAN)
            ck_kmeans_squares(b->head[h], x, n, label, score);
    }
}

/* Euclidean: squared distances in place of scores, of a block of routed rows. */
struct routed {
    const struct ck_batch *b;
    int h;
};

static void square_block(void *arg, int64_t block, int worker)
{
    (void)worker;
    const struct routed *q = arg;
    const struct ck_row_batch *r = q->b->rows;
    int64_t at = q->b->from + block * CK_ASSIGN_BLOCK, left = q->b->to - at;
    int n = (int)(left < CK_ASSIGN_BLOCK ? left : CK_ASSIGN_BLOCK);
    const struct coke_kmeans *km = q->b->head[q->h];
    ck_kmeans_squares(km, r->x + at * km->ld, n, r->label + q->h * r->n + at,
                      r->score + q->h * r->n + at);
}

/* A head of two levels: its rows are read and routed to groups, which meet many rows at once. */
static void assign_routed(const struct ck_batch *b, int h)
{
    const struct ck_row_batch *r = b->rows;
    int64_t at = h * r->n + b->from;
    ck_tree_assign(b->head[h]->tree, r->x + b->from * b->head[h]->ld, b->to - b->from,
                   r->label + at, r->score ? r->score + at : NULL);
    if (r->score && b->head[h]->o.metric == COKE_METRIC_EUCLIDEAN)
        ck_parallel((b->to - b->from + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK, square_block,
                    &(struct routed){b, h});
}

/* A source that must be read in order runs on one thread; small batches get smaller blocks. */
static int assign(const struct ck_batch *b)
{
    int in_order = b->rows->source && b->rows->source->in_order;
    int64_t mine = b->to - b->from;
    struct loop l = {.b = b};
    l.block = in_order ? CK_ASSIGN_BLOCK : ck_assign_chunk_rows(mine);
    int64_t blocks = (mine + l.block - 1) / l.block;
    if (in_order)
        for (int64_t i = 0; i < blocks; i++)
            assign_block(&l, i, 0);
    else
        ck_parallel(blocks, assign_block, &l);
    CK_RETURN_IF(ck_first_error_raise(&l.error));
    for (int h = 0; h < b->heads; h++)
        if (b->head[h]->tree)
            assign_routed(b, h);
    return COKE_OK;
}

/* Reading rows and exchanging labels come before the first change of a head; only the sums of
 * several processes can fail later. */
int ck_batch_run(struct coke_kmeans *const *head, int heads, const struct ck_row_batch *rows,
                 const struct ck_share *share, struct ck_batch_scratch *scratch)
{
    struct ck_batch b = {.head = head, .heads = heads, .rows = rows, .scratch = scratch};
    b.share = share ? *share : ck_share_alone();
    b.from = ck_share_first(rows->n, b.share.rank, b.share.size);
    b.to = ck_share_first(rows->n, b.share.rank + 1, b.share.size);
    for (int h = 0; h < heads; h++)
        CK_RETURN_IF(ck_kmeans_reserve(head[h], rows->n));
    for (int h = 0; h < heads; h++)
        ck_kmeans_begin(head[h]);
    CK_RETURN_IF(assign(&b));
    int shared = b.share.size > 1;
    if (shared)
        CK_RETURN_IF(ck_batch_exchange(&b));
    for (int h = 0; h < heads; h++)
        if (shared && ck_batch_prefers_sums(&b))
            CK_RETURN_IF(ck_batch_apply_sums(&b, h));
        else
            ck_kmeans_apply(head[h], rows->x, rows->ids, rows->n, rows->label + h * rows->n);
    return COKE_OK;
}
