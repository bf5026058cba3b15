/* bucket.c - gradient all-reduce in buckets, overlapped with the backward pass.
 *
 * All processes begin the sums in bucket order, whatever the order of readiness, because the
 * operations of a channel must match across processes. */
#include "dist/bucket.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

struct bucket {
    int first, last;   /* spans first .. last - 1 */
    int missing;       /* number of them that are not ready yet */
    struct ck_sum sum; /* owns the packed copy of the spans */
};

struct ck_buckets {
    struct ck_group *group;   /* borrowed */
    struct ck_span_f32 *span; /* [spans] */
    int *home;                /* [spans] bucket of each */
    int spans;
    struct bucket *bucket; /* [n] */
    int n;
    int begun;     /* the first `begun` buckets have started their sums */
    int collected; /* and the first `collected` are past the scatter stage */
    double first;  /* start time of the first sum, seconds */
};

/* Assigns the spans to buckets in order; returns the number of buckets. */
static int cut(struct ck_buckets *b, int64_t room)
{
    int n = 0;
    int64_t filled = 0;
    for (int i = 0; i < b->spans; i++) {
        if (i == 0 || filled + b->span[i].n > room) {
            b->bucket[n++].first = i;
            filled = 0;
        }
        filled += b->span[i].n;
        b->home[i] = n - 1;
        b->bucket[n - 1].last = i + 1;
    }
    return n;
}

static int64_t numbers(const struct ck_buckets *b, const struct bucket *bucket)
{
    int64_t n = 0;
    for (int i = bucket->first; i < bucket->last; i++)
        n += b->span[i].n;
    return n;
}

int ck_buckets_new(struct ck_buckets **out, struct ck_group *group,
                   const struct ck_span_f32 *span, int n, int64_t room)
{
    int rc = COKE_OK;
    struct ck_buckets *b = ck_calloc_array(1, sizeof *b);
    *out = NULL;
    if (!b)
        return COKE_ENOMEM;
    b->group = group;
    b->spans = n;
    b->span = ck_alloc_array((size_t)n, sizeof *b->span);
    b->home = ck_alloc_array((size_t)n, sizeof *b->home);
    b->bucket = ck_calloc_array((size_t)n, sizeof *b->bucket);
    if (!b->span || !b->home || !b->bucket)
        CK_LEAVE(COKE_ENOMEM);
    memcpy(b->span, span, (size_t)n * sizeof *span);
    b->n = cut(b, room);
    for (int i = 0; i < b->n; i++)
        CK_TRY(ck_sum_init(&b->bucket[i].sum, group, numbers(b, &b->bucket[i])));
    *out = b;
    b = NULL;
done:
    ck_buckets_free(b);
    return rc;
}

void ck_buckets_free(struct ck_buckets *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->n; i++)
        ck_sum_release(&b->bucket[i].sum);
    ck_free(b->span);
    ck_free(b->home);
    ck_free(b->bucket);
    ck_free(b);
}

int ck_buckets_count(const struct ck_buckets *b)
{
    return b->n;
}

void ck_buckets_begin(struct ck_buckets *b)
{
    b->begun = b->collected = 0;
    for (int i = 0; i < b->n; i++) {
        b->bucket[i].missing = b->bucket[i].last - b->bucket[i].first;
        b->bucket[i].sum.stage = CK_SUM_IDLE;
    }
}

static void pack(const struct ck_buckets *b, struct bucket *bucket)
{
    float *at = bucket->sum.data;
    for (int i = bucket->first; i < bucket->last; at += b->span[i].n, i++)
        memcpy(at, b->span[i].data, (size_t)b->span[i].n * sizeof *at);
}

static void unpack(const struct ck_buckets *b, const struct bucket *bucket)
{
    const float *at = bucket->sum.data;
    for (int i = bucket->first; i < bucket->last; at += b->span[i].n, i++)
        memcpy(b->span[i].data, at, (size_t)b->span[i].n * sizeof *at);
}

/* Advances the sums in progress. Second stages must begin in bucket order, too: a bucket enters
 * its second stage only after the one before it. */
static int advance(struct ck_buckets *b, int wait)
{
    for (int moves = 1; b->collected < b->begun && moves;) {
        struct ck_sum *s = &b->bucket[b->collected].sum;
        CK_RETURN_IF(ck_sum_advance(s, b->group, wait));
        moves = s->stage > CK_SUM_SCATTER;
        b->collected += moves;
    }
    for (int i = 0; i < b->collected; i++)
        CK_RETURN_IF(ck_sum_advance(&b->bucket[i].sum, b->group, wait));
    return COKE_OK;
}

/* Begins sums in bucket order: a complete bucket waits for those before it. all: do not wait
 * for readiness. */
static int begin_sums(struct ck_buckets *b, int all)
{
    while (b->begun < b->n && (all || b->bucket[b->begun].missing == 0)) {
        struct bucket *next = &b->bucket[b->begun];
        pack(b, next);
        if (b->begun == 0)
            b->first = ck_clock_seconds();
        CK_RETURN_IF(ck_sum_begin(&next->sum, b->group));
        b->begun++;
    }
    return COKE_OK;
}

int ck_buckets_ready(struct ck_buckets *b, int i)
{
    b->bucket[b->home[i]].missing--;
    CK_RETURN_IF(begin_sums(b, 0));
    return advance(b, 0);
}

int ck_buckets_finish(struct ck_buckets *b)
{
    double begun = ck_clock_seconds();
    CK_RETURN_IF(begin_sums(b, 1));
    CK_RETURN_IF(advance(b, 1));
    ck_group_note_overlap(b->group, begun > b->first ? begun - b->first : 0,
                          ck_clock_seconds() - begun);
    for (int i = 0; i < b->n; i++)
        unpack(b, &b->bucket[i]);
    return COKE_OK;
}
