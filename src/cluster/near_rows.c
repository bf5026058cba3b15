/* near_rows.c - after the labels are final: the second choice of each row. */
#include "cluster/near_rows.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK = 1024,
    ROUND_CHUNKS = 64
}; /* rows per task; tasks between two progress reports */

/* What one thread works with. */
struct worker {
    float *x; /* [CK_ASSIGN_BLOCK + CK_TILE][ld] */
    struct ck_near_list near;
    float margin; /* of the second choice: wide enough for most rows of the last block */
};

/* A scan of those rows that are wanted, in blocks. */
struct scan {
    const struct ck_repair *r;
    int64_t first_chunk;
    struct worker *worker; /* [team] */
    int workers;
    struct ck_first_error error;
    int (*wanted)(const struct scan *s, int64_t i);
    int (*block)(struct scan *s, struct worker *w, int64_t *id,
                 int n); /* rows id are in w->x */
    int32_t *second;     /* this or margin may be NULL */
    float *margin;
};

/* ---- the scan ---- */

static void run_chunk(void *arg, int64_t at, int worker)
{
    struct scan *s = arg;
    struct worker *w = &s->worker[worker];
    int64_t first = (s->first_chunk + at) * CHUNK, id[CK_ASSIGN_BLOCK];
    int64_t end = first + CHUNK < s->r->scan->rows->n ? first + CHUNK : s->r->scan->rows->n;
    int n = 0, rc = COKE_OK;
    for (int64_t i = first; i < end && !rc; i++) {
        if (s->wanted(s, i))
            id[n++] = i;
        if (n == CK_ASSIGN_BLOCK || (i == end - 1 && n > 0)) {
            rc = ck_scan_get(s->r->scan, id, n, w->x);
            if (!rc)
                rc = s->block(s, w, id, n);
            n = 0;
        }
    }
    ck_first_error_keep(&s->error, rc);
}

/* The part of this process, in rounds, so that a stop is noticed between them. */
static int run_part(struct scan *s, const struct ck_share *share)
{
    int64_t n = s->r->scan->rows->n, chunks = (n + CHUNK - 1) / CHUNK;
    int64_t end = ck_share_first(chunks, share->rank + 1, share->size);
    s->first_chunk = ck_share_first(chunks, share->rank, share->size);
    for (; s->first_chunk < end; s->first_chunk += ROUND_CHUNKS) {
        int64_t left = end - s->first_chunk, done = (s->first_chunk + ROUND_CHUNKS) * CHUNK;
        ck_parallel(left < ROUND_CHUNKS ? left : ROUND_CHUNKS, run_chunk, s);
        CK_RETURN_IF(ck_first_error_raise(&s->error));
        CK_RETURN_IF(
            ck_progress(s->r->callbacks, &(struct coke_progress){.phase = "final",
                                                                 .epoch = s->r->epochs,
                                                                 .epochs = s->r->epochs,
                                                                 .done = done < n ? done : n,
                                                                 .total = n}));
    }
    return COKE_OK;
}

static int reserve(struct scan *s)
{
    s->workers = ck_threads();
    s->worker = ck_calloc_array((size_t)s->workers, sizeof *s->worker);
    if (!s->worker)
        return COKE_ENOMEM;
    for (int w = 0; w < s->workers; w++) {
        s->worker[w].margin = 0x1p-6f * (float)s->r->scan->longest;
        s->worker[w].x = ck_calloc_array(CK_ASSIGN_BLOCK + CK_TILE,
                                         (size_t)s->r->scan->ld * sizeof *s->worker[w].x);
        if (!s->worker[w].x)
            return COKE_ENOMEM;
    }
    return COKE_OK;
}

static int run(struct scan *s, const struct ck_share *share)
{
    int rc = COKE_OK;
    CK_TRY(reserve(s));
    ck_assigner_widen(s->r->assigner, NULL, NULL, NULL);
    ck_assigner_settle(s->r->assigner, NULL);
    CK_TRY(run_part(s, share));
done:
    for (int w = 0; s->worker && w < s->workers; w++) {
        ck_free(s->worker[w].x);
        ck_free(s->worker[w].near.item);
    }
    ck_free(s->worker);
    return rc;
}

/* ---- second choice ---- */

static int is_labeled(const struct scan *s, int64_t i)
{
    return ck_labels_get(s->r->labels, i) >= 0;
}

/* The best of the listed centers of row `row` that is not its label; -1 = none is listed. *at is
 * the first entry of the row, and then that of the next. */
static int32_t best_other(const struct ck_near_list *near, int row, int32_t label, int64_t *at,
                          float *score)
{
    int32_t best = -1;
    for (; *at < near->n && near->item[*at].row == row; ++*at) {
        const struct ck_near *e = &near->item[*at];
        if (e->k != label && (best < 0 || e->score > *score)) {
            best = e->k;
            *score = e->score;
        }
    }
    return best;
}

/* Rows whose list has nobody but their label stay, at the front of id and x, for a wider
 * margin. Returns their number. */
static int take_seconds(struct scan *s, struct worker *w, int64_t *id, int n)
{
    const int ld = s->r->scan->ld;
    int64_t at = 0;
    int left = 0;
    for (int i = 0; i < n; i++) {
        float score = 0;
        int32_t other =
            best_other(&w->near, i, ck_labels_get(s->r->labels, id[i]), &at, &score);
        if (other < 0) {
            memmove(w->x + (int64_t)left * ld, w->x + (int64_t)i * ld,
                    (size_t)ld * sizeof *w->x);
            id[left++] = id[i];
            continue;
        }
        if (s->second)
            s->second[id[i]] = other;
        if (s->margin)
            s->margin[id[i]] = s->r->scores[id[i]] - score;
    }
    return left;
}

/* The margin does not change the result: scores are exact, and a list that has a second center
 * has the best one. It follows the data, so that lists are short and few rows need two. */
static int second_block(struct scan *s, struct worker *w, int64_t *id, int n)
{
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK], margin = w->margin;
    int left = n;
    for (; left > 0; margin *= 4) {
        int asked = left;
        w->near.n = 0;
        CK_RETURN_IF(
            ck_assign_near_block(s->r->assigner, w->x, left, margin, label, score, &w->near));
        left = take_seconds(s, w, id, left);
        if (asked == n && 2 * left > n)
            w->margin *= 2;
        if (asked == n && w->near.n > (int64_t)16 * n)
            w->margin /= 2;
    }
    return COKE_OK;
}

int ck_second_choice(const struct ck_repair *r, int32_t *second, float *margin)
{
    struct scan s = {.r = r,
                     .wanted = is_labeled,
                     .block = second_block,
                     .second = second,
                     .margin = margin};
    struct ck_share alone = ck_share_alone();
    for (int64_t i = 0; i < r->scan->rows->n; i++) {
        if (second)
            second[i] = -1;
        if (margin)
            margin[i] = NAN;
    }
    return r->k > 1 ? run(&s, &alone) : COKE_OK;
}
