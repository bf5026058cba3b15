/* repair_fill.c - moves single rows, cheapest first, until all sizes are within their bounds.
 *
 * A scan finds, for the rows of clusters that can give, the cheapest cluster that takes. Of the
 * rows that come to a cluster this way its cheapest ones are candidates; they move in order of
 * their cost, as long as both clusters allow it. Clusters that are still short take part in the
 * next round alone. Where few rows must move, rounds begin with a sample, whose cheapest rows
 * suffice if the gap stays within the tolerance. Moves are ordered by (cost, row), so that they
 * depend neither on the team nor on the processes. */
#include "cluster/repair_scan.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct move {
    float cost; /* fall of score + price */
    int32_t into;
    int64_t row;
};

struct fill {
    struct ck_repair_scan *p;
    int64_t *give, *take;         /* [k] rows that a cluster can lose, may receive */
    struct ck_assigner *assigner; /* of the takers alone */
    float *center;                /* [takers][ld] */
    float *bias;                  /* [takers] prices */
    int32_t *into;                /* [n] where a row goes at the least cost, -1 = nowhere */
    float *cost;                  /* [n] */
    int32_t *taker;               /* [takers] */
    int64_t takers;
    double fraction; /* of the rows that the round looks at */
    double allowed;  /* the total may fall by this */
    int round;
    int64_t first_chunk;
};

enum { CHOOSY = 4 }; /* rounds in which rows go where it costs least */

/* Among the takers that tie for a row, a random one, so that equal rows spread. */
static const struct ck_near *choose(const struct fill *f, int64_t id,
                                    const struct ck_near *near, int64_t n)
{
    const struct ck_near *chosen = near;
    for (int64_t i = 1; i < n; i++)
        if (ck_repair_random(f->p->r, id, f->taker[near[i].k]) * (float)(i + 1) < 1)
            chosen = &near[i];
    return chosen;
}

static void consider(struct fill *f, int64_t id, const float *x, int32_t into, float score)
{
    const struct ck_repair *r = f->p->r;
    int32_t from = ck_labels_get(r->labels, id);
    f->into[id] = into;
    f->cost[id] =
        ck_assigner_score(r->assigner, x, from) + r->price[from] - score - r->price[into];
}

/* After CHOOSY rounds many rows agree on few takers: then each row considers a random one. */
static int random_moves(struct fill *f, int worker, const int64_t *id, int n)
{
    struct ck_repair_scan *p = f->p;
    const float *x = p->worker[worker].x;
    CK_RETURN_IF(ck_scan_get(p->r->scan, id, n, p->worker[worker].x));
    for (int i = 0; i < n; i++, x += p->r->scan->ld) {
        float u = ck_repair_random(p->r, id[i], f->round);
        int32_t into = f->taker[(int64_t)((double)u * (double)f->takers)];
        consider(f, id[i], x, into, ck_assigner_score(p->r->assigner, x, into));
    }
    return COKE_OK;
}

/* Sets into and cost of n rows. */
static int block_moves(struct fill *f, int worker, const int64_t *id, int n)
{
    struct ck_repair_scan *p = f->p;
    struct ck_repair_worker *w = &p->worker[worker];
    int32_t label[CK_ASSIGN_BLOCK];
    float score[CK_ASSIGN_BLOCK];
    w->near.n = 0;
    CK_RETURN_IF(ck_scan_get(p->r->scan, id, n, w->x));
    CK_RETURN_IF(ck_assign_near_block(f->assigner, w->x, n, p->tie, label, score, &w->near));
    for (int64_t at = 0, end; at < w->near.n; at = end) {
        int row = w->near.item[at].row;
        for (end = at; end < w->near.n && w->near.item[end].row == row;)
            end++;
        const struct ck_near *to = choose(f, id[row], &w->near.item[at], end - at);
        consider(f, id[row], w->x + (int64_t)row * p->r->scan->ld, f->taker[to->k], to->score);
    }
    return COKE_OK;
}

static int is_seen(const struct fill *f, int64_t i)
{
    return f->fraction == 1 ||
           ck_rng_in_sample((uint64_t)f->p->r->sample, (uint64_t)i, f->fraction);
}

static void run_chunk(void *arg, int64_t at, int worker)
{
    struct fill *f = arg;
    const struct ck_repair *r = f->p->r;
    int64_t first = (f->first_chunk + at) * CK_REPAIR_CHUNK, id[CK_ASSIGN_BLOCK];
    int64_t end =
        first + CK_REPAIR_CHUNK < r->scan->rows->n ? first + CK_REPAIR_CHUNK : r->scan->rows->n;
    int n = 0, rc = COKE_OK;
    for (int64_t i = first; i < end && !rc; i++) {
        int32_t label = ck_labels_get(r->labels, i);
        f->into[i] = -1;
        if (label >= 0 && f->give[label] > 0 && is_seen(f, i))
            id[n++] = i;
        if (n == CK_ASSIGN_BLOCK || (i == end - 1 && n > 0)) {
            rc = f->round < CHOOSY ? block_moves(f, worker, id, n)
                                   : random_moves(f, worker, id, n);
            n = 0;
        }
    }
    ck_first_error_keep(&f->p->error, rc);
}

/* Scans the rows of this process, then gathers what all found. */
static int find_moves(struct fill *f)
{
    enum { ROUND_CHUNKS = 64 };
    struct ck_repair_scan *p = f->p;
    int64_t end = ck_repair_scan_chunks_before(p, p->share.rank + 1), n = p->r->scan->rows->n;
    ck_assigner_free(f->assigner);
    f->assigner = NULL;
    CK_RETURN_IF(
        ck_assigner_subset(&f->assigner, p->r->assigner, f->taker, f->takers, f->center));
    ck_assigner_settle(f->assigner, f->bias);
    for (f->first_chunk = ck_repair_scan_chunks_before(p, p->share.rank); f->first_chunk < end;
         f->first_chunk += ROUND_CHUNKS) {
        int64_t left = end - f->first_chunk;
        ck_parallel(left < ROUND_CHUNKS ? left : ROUND_CHUNKS, run_chunk, f);
        CK_RETURN_IF(ck_first_error_raise(&p->error));
        int64_t done = (f->first_chunk + ROUND_CHUNKS) * CK_REPAIR_CHUNK;
        CK_RETURN_IF(ck_repair_scan_report(p->r, "repair", done < n ? done : n, n));
    }
    p->r->scans += f->fraction * (double)f->takers / (double)p->r->k;
    if (p->share.size == 1)
        return COKE_OK;
    CK_RETURN_IF(ck_repair_scan_share_words(p, f->into));
    return ck_repair_scan_share_words(p, f->cost);
}

static int by_cost(const void *a, const void *b)
{
    const struct move *x = a, *y = b;
    if (x->cost != y->cost)
        return (x->cost > y->cost) - (x->cost < y->cost);
    return (x->row > y->row) - (x->row < y->row);
}

/* The rows ordered by where they go (counting sort): those for k are row[start[k]] .. */
static void sort_by_target(const struct fill *f, int64_t *start, struct move *out)
{
    int64_t k = f->p->r->k, n = f->p->r->scan->rows->n;
    for (int64_t i = 0; i < n; i++)
        if (f->into[i] >= 0)
            start[f->into[i] + 2]++;
    for (int64_t c = 0; c < k; c++)
        start[c + 2] += start[c + 1];
    for (int64_t i = 0; i < n; i++)
        if (f->into[i] >= 0)
            out[start[f->into[i] + 1]++] = (struct move){f->cost[i], f->into[i], i};
}

/* Candidates: of each cluster's rows the cheapest, some more than it takes, because others may
 * need the same givers. Returns how many; they are at the front of `move`. */
static int64_t keep_cheapest(const struct fill *f, const int64_t *start, struct move *move)
{
    int64_t left = 0;
    for (int64_t k = 0; k < f->p->r->k; k++) {
        int64_t n = start[k + 1] - start[k], most = 2 * f->take[k] + 4;
        qsort(move + start[k], (size_t)n, sizeof *move, by_cost);
        n = n < most ? n : most;
        memmove(move + left, move + start[k], (size_t)n * sizeof *move);
        left += n;
    }
    return left;
}

/* The moves of the candidates move [n] that both clusters allow, to the front. Returns how many;
 * *loss: by how much the total falls. */
static int64_t plan_moves(struct fill *f, struct move *move, int64_t n, double *loss)
{
    const struct ck_repair *r = f->p->r;
    int64_t planned = 0;
    *loss = 0;
    for (int64_t i = 0; i < n; i++) {
        struct move m = move[i];
        int32_t from = ck_labels_get(r->labels, m.row);
        if (f->give[from] <= 0 || f->take[m.into] <= 0)
            continue;
        f->give[from]--;
        f->take[m.into]--;
        *loss += (double)(m.cost - r->price[from] + r->price[m.into]);
        move[planned++] = m;
    }
    return planned;
}

/* Reads the row: x is scratch [ld]. */
static int make_move(struct fill *f, const struct move *m, float *x)
{
    struct ck_repair *r = f->p->r;
    int32_t from = ck_labels_get(r->labels, m->row);
    CK_RETURN_IF(ck_scan_get(r->scan, &m->row, 1, x));
    float was = ck_assigner_score(r->assigner, x, from);
    float is = ck_assigner_score(r->assigner, x, m->into);
    r->size[from]--;
    r->size[m->into]++;
    r->primal += (double)is - (double)was;
    ck_labels_set(r->labels, m->row, m->into);
    f->p->mark[m->row] |= CK_ROW_MOVED;
    if (r->scores)
        r->scores[m->row] = is;
    return COKE_OK;
}

/* missing: rows that have to move. Those of a sample must not lose more on average than is allowed;
 * if they do, or few of them go anywhere, all rows take part from the next round on. */
static int make_moves(struct fill *f, int64_t missing)
{
    enum { BETWEEN_REPORTS = 256 }; /* rows from a disk take milliseconds */
    int64_t n = 0, rows = f->p->r->scan->rows->n;
    double loss;
    int rc = COKE_ENOMEM;
    for (int64_t i = 0; i < rows; i++)
        n += f->into[i] >= 0;
    int64_t *start = ck_calloc_array((size_t)f->p->r->k + 2, sizeof *start);
    struct move *move = ck_alloc_array((size_t)n, sizeof *move);
    if (!start || !move)
        goto done;
    rc = COKE_OK;
    sort_by_target(f, start, move);
    n = keep_cheapest(f, start, move);
    qsort(move, (size_t)n, sizeof *move, by_cost);
    n = plan_moves(f, move, n, &loss);
    if (f->fraction < 1 && (n == 0 || loss * (double)missing > f->allowed * (double)n)) {
        n = 0;
        loss = 0;
    }
    if (2 * n < missing)
        f->fraction = 1;
    f->allowed -= loss;
    for (int64_t i = 0; i < n; i++) {
        CK_TRY(make_move(f, &move[i], f->p->worker[0].x));
        if (i % BETWEEN_REPORTS == BETWEEN_REPORTS - 1)
            CK_TRY(ck_repair_scan_report(f->p->r, "repair", 0, 0));
    }
done:
    ck_free(start);
    ck_free(move);
    return rc;
}

/* Clusters short of rows take from all that have some to spare; when none is short, those above
 * their maximum give to all that have room. Returns how many rows must move. */
static int64_t set_quotas(struct fill *f)
{
    const struct ck_repair *r = f->p->r;
    struct ck_repair_misfit m = ck_repair_misfit(r, r->size);
    f->takers = 0;
    for (int64_t k = 0; k < r->k; k++) {
        int64_t missing = r->min_size[k] - r->size[k];
        int64_t above = r->max_size ? r->size[k] - r->max_size[k] : 0;
        f->take[k] = m.missing ? missing : -above;
        f->give[k] = m.missing ? -missing : above;
        f->take[k] = f->take[k] > 0 ? f->take[k] : 0;
        f->give[k] = f->give[k] > 0 ? f->give[k] : 0;
        if (f->take[k]) {
            f->bias[f->takers] = r->price[k];
            f->taker[f->takers++] = (int32_t)k;
        }
    }
    return m.missing ? m.missing : m.surplus;
}

static int reserve(struct fill *f)
{
    size_t k = (size_t)f->p->r->k, n = (size_t)f->p->r->scan->rows->n;
    f->give = ck_calloc_array(k, sizeof *f->give);
    f->take = ck_calloc_array(k, sizeof *f->take);
    f->bias = ck_calloc_array(k, sizeof *f->bias);
    f->center = ck_calloc_array(k, (size_t)f->p->r->scan->ld * sizeof *f->center);
    f->taker = ck_calloc_array(k, sizeof *f->taker);
    f->into = ck_calloc_array(n, sizeof *f->into);
    f->cost = ck_calloc_array(n, sizeof *f->cost);
    return f->give && f->take && f->bias && f->center && f->taker && f->into && f->cost
               ? COKE_OK
               : COKE_ENOMEM;
}

int ck_repair_fill(struct ck_repair_scan *p, double allowed)
{
    const double sample = 0.125, plenty = 64; /* rows of it per row that must move */
    struct fill f = {.p = p, .allowed = allowed};
    int64_t missing;
    int rc;
    CK_TRY(reserve(&f));
    missing = set_quotas(&f);
    f.fraction = plenty * (double)missing <= sample * (double)p->r->scan->rows->n && allowed > 0
                     ? sample
                     : 1;
    for (; missing > 0; missing = set_quotas(&f)) {
        CK_TRY(find_moves(&f));
        f.round += f.fraction == 1;
        CK_TRY(make_moves(&f, missing));
    }
done:
    ck_free(f.give);
    ck_free(f.take);
    ck_free(f.bias);
    ck_free(f.center);
    ck_assigner_free(f.assigner);
    ck_free(f.taker);
    ck_free(f.into);
    ck_free(f.cost);
    return rc;
}
