/* repair_sample.c - prices of the size bounds from scans of a sample.
 *
 * Lists of near centers tell how prices move between neighbors, and the next scan follows what
 * surplus moved on from there. Far from the optimum that takes several scans, for which a fraction
 * of the rows suffices: a surplus of many clusters is seen in few rows of each. */
#include "cluster/newton.h"
#include "cluster/repair_scan.h"
#include "core/error.h"

#include <math.h>

enum { CHOICES = 4 };

/* Bounds for a sample of `rows` rows, rounded so that they stay feasible. */
static void scale_bounds(struct ck_repair_scan *p, int64_t rows)
{
    struct ck_repair *r = p->r;
    double usable = (double)(r->scan->rows->n - r->scan->nbad);
    for (int64_t k = 0; k < r->k; k++) {
        p->min_size[k] = (int64_t)floor((double)r->min_size[k] * (double)rows / usable);
        p->max_size[k] =
            r->max_size ? (int64_t)ceil((double)r->max_size[k] * (double)rows / usable) : 0;
    }
}

int ck_repair_free_prices(struct ck_repair_scan *p, struct ck_exact *e, double to)
{
    struct ck_repair *r = p->r;
    double limit = 2.1 * r->scan->longest;
    for (int64_t k = 0; k < r->k; k++) {
        e->low[k] = fmax(r->max_size ? -limit : 0, (double)p->bias[k] - p->trust);
        e->high[k] = fmin(limit, (double)p->bias[k] + p->trust);
    }
    double wide = p->crowds.n ? fmax((double)p->margin, p->trust / 3) : (double)p->margin;
    CK_RETURN_IF(ck_newton_run(e, wide / 16, to, wide / 2, 0));
    for (int64_t k = 0; k < r->k; k++)
        r->price[k] = (float)e->price[k];
    ck_repair_make_prices_valid(r);
    return COKE_OK;
}

double ck_repair_price_change(const struct ck_repair_scan *p)
{
    double sum = 0;
    for (int64_t k = 0; k < p->r->k; k++)
        sum += pow((double)(p->r->price[k] - p->bias[k]), 2);
    return sqrt(sum / (double)p->r->k);
}

int ck_repair_sample_prices(struct ck_repair_scan *p, struct ck_exact *e, double fraction,
                            int rounds)
{
    struct ck_repair *r = p->r;
    const double first = 1; /* how far prices may move where crowds decide them */
    int rc = COKE_OK;
    p->fraction = fraction;
    e->min_size = p->min_size;
    e->max_size = r->max_size ? p->max_size : NULL;
    for (int round = 0; round < rounds; round++) {
        CK_TRY(ck_repair_scan_choose_margin(p, p->crowds.n ? 3 * CHOICES : CHOICES));
        CK_TRY(ck_repair_scan_run(p));
        p->trust = fmax(3 * (double)p->margin, p->crowds.n ? ldexp(first, -round) : 0);
        scale_bounds(p, r->total);
        ck_repair_load_solver(p, e);
        CK_TRY(ck_repair_free_prices(p, e, (double)p->margin / 64));
        if (ck_repair_price_change(p) < (double)p->margin / 8)
            break;
    }
done:
    p->fraction = 1;
    e->min_size = r->min_size;
    e->max_size = r->max_size;
    return rc;
}

int ck_repair_crowd_prices(struct ck_repair_scan *p, struct ck_exact *e)
{
    return ck_repair_sample_prices(p, e, 0.2, 6);
}
