/* repair_prices.c - prices of the size bounds from batches of rows in random order, where every row
 * lowers the price of the cluster that it joins.
 *
 * A price follows the difference between the rows that a cluster should receive and those that
 * it does. The step falls as 1/t (Robbins and Monro), so that the prices come as close as the
 * rows seen so far allow. Copies would all join the same cluster: their values get a random part. One
 * batch is assigned at fixed prices on all threads; counts are integers, so that prices depend
 * neither on the team nor on the processes. */
#include "cluster/repair_scan.h"
#include "cluster/order.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/workers.h"

#include <math.h>
#include <stdatomic.h>

enum { LEAST_BATCH = 1024, MOST_BATCH = 1 << 14 };

struct pricing {
    struct ck_repair_scan *p;
    struct ck_order order;
    int64_t batch, first, n;  /* positions of the present batch in the order */
    int64_t from, to;         /* the part of this process */
    int64_t *count;           /* [k + 1] rows per cluster, then usable rows */
    _Atomic int32_t *arrived; /* [k] the same, while threads count */
    _Atomic int64_t usable;
    float jitter;          /* values that differ by less are in random order; 0 = exact */
    double *lower, *upper; /* [k] duals of the two bounds */
    double done;           /* rows so far */
};

/* Labels of rows whose centers tie: the best value plus a random number below the jitter, so that
 * equal rows spread over equal centers. */
static int assign_jittered(const struct pricing *a, struct ck_repair_worker *w,
                           const int64_t *id, int n, int32_t *label)
{
    const struct ck_repair *r = a->p->r;
    float score[CK_ASSIGN_BLOCK], best[CK_ASSIGN_BLOCK];
    w->near.n = 0;
    CK_RETURN_IF(ck_assign_near_block(r->assigner, w->x, n, a->jitter, label, score, &w->near));
    for (int i = 0; i < n; i++)
        best[i] = -INFINITY;
    for (int64_t at = 0; at < w->near.n; at++) {
        const struct ck_near *c = &w->near.item[at];
        float value =
            c->score + r->price[c->k] + a->jitter * ck_repair_random(r, id[c->row], c->k);
        if (value > best[c->row]) {
            best[c->row] = value;
            label[c->row] = c->k;
        }
    }
    return COKE_OK;
}

/* Assigns one block; rows that are bad are skipped. */
static void assign_block(void *arg, int64_t chunk, int worker)
{
    struct pricing *a = arg;
    struct ck_repair_scan *p = a->p;
    struct ck_repair_worker *w = &p->worker[worker];
    int64_t at = a->from + chunk * CK_ASSIGN_BLOCK, id[CK_ASSIGN_BLOCK];
    int want = (int)(a->to - at < CK_ASSIGN_BLOCK ? a->to - at : CK_ASSIGN_BLOCK), n = 0;
    int32_t label[CK_ASSIGN_BLOCK];
    ck_order_rows(&a->order, (uint64_t)(a->first + at), want, id);
    for (int i = 0; i < want; i++)
        if (!ck_scan_is_bad(p->r->scan, id[i]))
            id[n++] = id[i];
    int rc = ck_scan_get(p->r->scan, id, n, w->x);
    if (!rc && a->jitter > 0)
        rc = assign_jittered(a, w, id, n, label);
    else if (!rc)
        ck_assign_block(p->r->assigner, w->x, n, label, NULL);
    if (rc) {
        ck_first_error_keep(&p->error, rc);
        return;
    }
    for (int i = 0; i < n; i++)
        a->arrived[label[i]]++;
    a->usable += n;
}

/* Counts the batch at the present prices, over all processes. */
static int count_batch(struct pricing *a)
{
    struct ck_repair_scan *p = a->p;
    int64_t k = p->r->k;
    ck_assigner_settle(p->r->assigner, p->r->price);
    a->from = ck_share_first(a->n, p->share.rank, p->share.size);
    a->to = ck_share_first(a->n, p->share.rank + 1, p->share.size);
    a->usable = 0;
    ck_parallel((a->to - a->from + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK, assign_block, a);
    CK_RETURN_IF(ck_first_error_raise(&p->error));
    for (int64_t i = 0; i < k; i++) {
        a->count[i] = a->arrived[i];
        a->arrived[i] = 0;
    }
    a->count[k] = a->usable;
    return p->share.size > 1 ? p->share.sum_i64(p->share.arg, a->count, k + 1) : COKE_OK;
}

/* step: change of a price per row that is missing or too many. */
static void move_prices(struct pricing *a, double step)
{
    struct ck_repair *r = a->p->r;
    double share = (double)a->count[r->k] / (double)(r->scan->rows->n - r->scan->nbad);
    for (int64_t k = 0; k < r->k; k++) {
        double lack = (double)r->min_size[k] * share - (double)a->count[k];
        a->lower[k] = fmax(0, a->lower[k] + step * lack);
        r->price[k] = (float)a->lower[k];
        if (!r->max_size)
            continue;
        double surplus = (double)a->count[k] - (double)r->max_size[k] * share;
        a->upper[k] = fmax(0, a->upper[k] + step * surplus);
        r->price[k] = (float)(a->lower[k] - a->upper[k]);
    }
}

static void release(struct pricing *a)
{
    ck_free(a->count);
    ck_free(a->arrived);
    ck_free(a->lower);
    ck_free(a->upper);
}

static int reserve(struct pricing *a, const struct ck_repair *r)
{
    size_t k = (size_t)r->k;
    a->count = ck_calloc_array(k + 1, sizeof *a->count);
    a->arrived = ck_calloc_array(k, sizeof *a->arrived);
    a->lower = ck_calloc_array(k, sizeof *a->lower);
    a->upper = ck_calloc_array(k, sizeof *a->upper);
    if (!a->count || !a->arrived || !a->lower || !a->upper)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < r->k; i++) {
        a->lower[i] = fmax(0, (double)r->price[i]);
        a->upper[i] = fmax(0, -(double)r->price[i]);
    }
    return COKE_OK;
}

/* With density rows per unit of price at the border of a cluster, a price is right when it has
 * moved by 1 / density per row that was missing: the step after t of all rows is 1/(density t),
 * at most 1/(density FIRST). */
int ck_repair_refine_prices(struct ck_repair_scan *p, double lead, int spread)
{
    const double FIRST = 0.04;
    struct ck_repair *r = p->r;
    struct pricing a = {.p = p, .jitter = spread ? (float)lead : 0};
    int64_t n = r->scan->rows->n;
    int rc = COKE_OK;
    double each = (double)n / (double)r->k;
    CK_TRY(reserve(&a, r));
    ck_assigner_widen(r->assigner, NULL, NULL, NULL);
    ck_order_init(&a.order, ck_shuffle_resolve(CK_SHUFFLE_AUTO, r->scan->rows->bytes),
                  (uint64_t)r->sample, UINT32_MAX, (uint64_t)n);
    a.batch = r->k / 4 < LEAST_BATCH  ? LEAST_BATCH
              : r->k / 4 > MOST_BATCH ? MOST_BATCH
                                      : r->k / 4;
    for (; a.first < n; a.first += a.n) {
        a.n = n - a.first < a.batch ? n - a.first : a.batch;
        CK_TRY(count_batch(&a));
        a.done += (double)a.n;
        move_prices(&a, 8 * lead / each / fmax(a.done / (double)n, FIRST));
        CK_TRY(ck_repair_scan_report(r, "prices", a.first + a.n, n));
    }
    r->scans += 1;
done:
    release(&a);
    return rc;
}

/* Is row i of x [n][ld] within `limit` of another one? */
static int has_twin(const float *x, int i, int n, int ld, double limit)
{
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int c = 0; c < ld && sum <= limit * limit; c++)
            sum += pow((double)x[i * (int64_t)ld + c] - (double)x[j * (int64_t)ld + c], 2);
        if (j != i && sum <= limit * limit)
            return 1;
    }
    return 0;
}

int ck_repair_has_copies(struct ck_repair_scan *p, int *copies)
{
    enum { ROWS = 256 };
    const double near = 3e-4, many = 0.05;
    const struct ck_scan *scan = p->r->scan;
    int n = 0, found = 0, rc = COKE_ENOMEM;
    int64_t id[ROWS];
    float *x = ck_alloc_array(ROWS, (size_t)scan->ld * sizeof *x);
    *copies = 0;
    if (!x)
        return rc;
    for (int i = 0; i < ROWS; i++) {
        id[n] = (int64_t)ck_rng_below((uint64_t)p->r->sample, CK_RNG_SAMPLE, (uint64_t)i, 1,
                                      (uint64_t)scan->rows->n);
        int known = ck_scan_is_bad(scan, id[n]) || ck_crowds_have(&p->crowds, id[n]);
        for (int j = 0; j < n; j++)
            known |= id[j] == id[n];
        n += !known;
    }
    CK_TRY(ck_scan_get(scan, id, n, x));
    for (int i = 0; i < n; i++)
        found += has_twin(x, i, n, scan->ld, near);
    *copies = found > many * n;
done:
    ck_free(x);
    return rc;
}
