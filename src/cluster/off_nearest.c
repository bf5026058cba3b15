/* off_nearest.c - counts the rows whose label is not their nearest center. */
#include "cluster/off_nearest.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>
#include <stdatomic.h>

enum {
    CHUNK = 1024,
    ROUND_CHUNKS = 64
}; /* rows per task; tasks between two progress reports */

struct count {
    const struct ck_repair *r;
    float lowest; /* of the prices */
    int64_t first_chunk;
    float **x;                 /* [team][CK_ASSIGN_BLOCK + CK_TILE][ld] */
    struct ck_near_list *near; /* [team] */
    _Atomic int64_t off;
    struct ck_first_error error;
};

static int is_priced(const struct count *c, int64_t i)
{
    int32_t label = ck_labels_get(c->r->labels, i);
    return label >= 0 && c->r->price[label] > c->lowest;
}

/* The margin lists the nearest center of each row, and those that tie with it but for the
 * rounding of f32: centers of equal rows differ in their last bits. */
static int count_block(struct count *c, int worker, const int64_t *id, int n)
{
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    struct ck_near_list *near = &c->near[worker];
    float margin = 1e-6f * (float)c->r->scan->longest;
    near->n = 0;
    CK_RETURN_IF(ck_scan_get(c->r->scan, id, n, c->x[worker]));
    CK_RETURN_IF(
        ck_assign_near_block(c->r->assigner, c->x[worker], n, margin, label, score, near));
    int64_t off = n;
    for (int64_t at = 0; at < near->n; at++)
        off -= near->item[at].k == ck_labels_get(c->r->labels, id[near->item[at].row]);
    c->off += off;
    return COKE_OK;
}

static void count_chunk(void *arg, int64_t at, int worker)
{
    struct count *c = arg;
    int64_t first = (c->first_chunk + at) * CHUNK, id[CK_ASSIGN_BLOCK];
    int64_t end = first + CHUNK < c->r->scan->rows->n ? first + CHUNK : c->r->scan->rows->n;
    int n = 0, rc = COKE_OK;
    for (int64_t i = first; i < end && !rc; i++) {
        if (is_priced(c, i))
            id[n++] = i;
        if (n == CK_ASSIGN_BLOCK || (i == end - 1 && n > 0)) {
            rc = count_block(c, worker, id, n);
            n = 0;
        }
    }
    ck_first_error_keep(&c->error, rc);
}

/* The part of this process, in rounds, so that a stop is noticed between them. */
static int count_part(struct count *c, const struct ck_share *share)
{
    int64_t n = c->r->scan->rows->n, chunks = (n + CHUNK - 1) / CHUNK;
    int64_t end = ck_share_first(chunks, share->rank + 1, share->size);
    c->first_chunk = ck_share_first(chunks, share->rank, share->size);
    for (; c->first_chunk < end; c->first_chunk += ROUND_CHUNKS) {
        int64_t left = end - c->first_chunk, done = (c->first_chunk + ROUND_CHUNKS) * CHUNK;
        ck_parallel(left < ROUND_CHUNKS ? left : ROUND_CHUNKS, count_chunk, c);
        CK_RETURN_IF(ck_first_error_raise(&c->error));
        CK_RETURN_IF(
            ck_progress(c->r->callbacks, &(struct coke_progress){.phase = "final",
                                                                 .epoch = c->r->epochs,
                                                                 .epochs = c->r->epochs,
                                                                 .done = done < n ? done : n,
                                                                 .total = n}));
    }
    return COKE_OK;
}

static int reserve(struct count *c, int workers)
{
    c->x = ck_calloc_array((size_t)workers, sizeof *c->x);
    c->near = ck_calloc_array((size_t)workers, sizeof *c->near);
    if (!c->x || !c->near)
        return COKE_ENOMEM;
    for (int w = 0; w < workers; w++) {
        c->x[w] =
            ck_calloc_array(CK_ASSIGN_BLOCK + CK_TILE, (size_t)c->r->scan->ld * sizeof **c->x);
        if (!c->x[w])
            return COKE_ENOMEM;
    }
    return COKE_OK;
}

static void release(struct count *c, int workers)
{
    for (int w = 0; w < workers; w++) {
        if (c->x)
            ck_free(c->x[w]);
        if (c->near)
            ck_free(c->near[w].item);
    }
    ck_free(c->x);
    ck_free(c->near);
}

/* All processes have the same prices, so all skip the scan or none. */
int ck_off_nearest(const struct ck_repair *r, int64_t *count)
{
    struct count c = {.r = r, .lowest = INFINITY};
    struct ck_share share = r->share ? *r->share : ck_share_alone();
    int rc = COKE_OK, workers = ck_threads();
    float highest = -INFINITY;
    *count = 0;
    for (int64_t k = 0; k < r->k; k++) {
        c.lowest = fminf(c.lowest, r->price[k]);
        highest = fmaxf(highest, r->price[k]);
    }
    if (!(highest > c.lowest))
        return COKE_OK;
    CK_TRY(reserve(&c, workers));
    ck_assigner_widen(r->assigner, NULL, NULL, NULL);
    ck_assigner_settle(r->assigner, NULL);
    CK_TRY(count_part(&c, &share));
    *count = c.off;
    if (share.size > 1)
        CK_TRY(share.sum_i64(share.arg, count, 1));
done:
    release(&c, workers);
    return rc;
}
