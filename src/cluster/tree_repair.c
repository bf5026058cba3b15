/* tree_repair.c - labels of a clustering of two levels that keep all sizes: scans and prices. */
#include "cluster/tree_repair.h"
#include "core/error.h"

#include <math.h>
#include <string.h>

enum {
    SCANS = 8,  /* at most, with lists */
    SWEEPS = 6, /* over the leaves after each */
    LARGE = 1 << 22,
};

/* Of the total: prices that lose less than this are good enough. */
static const double ENOUGH = 2e-5;

/* As ck_repair_total. */
static double total(const struct ck_tree_repair *r)
{
    int euclidean = r->scan->frame.metric == COKE_METRIC_EUCLIDEAN;
    return euclidean ? fmax(0, r->square / 2 - r->primal) : fabs(r->primal);
}

/* Only differences of prices matter to labels. Without upper bounds the lowest is 0. */
static void make_prices_valid(struct ck_tree_repair *r)
{
    float lowest = INFINITY, limit = 2.1f * (float)r->scan->longest;
    for (int64_t k = 0; k < r->tree->k; k++)
        lowest = fminf(lowest, r->price[k]);
    for (int64_t k = 0; k < r->tree->k; k++)
        r->price[k] = r->max_size ? fmaxf(-limit, fminf(r->price[k], limit))
                                  : fminf(r->price[k] - lowest, limit);
}

/* Rows that leaves lack or have too many. */
static int64_t violation(const struct ck_tree_repair *r)
{
    int64_t sum = r->missing;
    for (int64_t k = 0; r->max_size && k < r->tree->k; k++)
        sum += r->size[k] > r->max_size[k] ? r->size[k] - r->max_size[k] : 0;
    return sum;
}

/* What the prices of the scan lose to the certificate: rows above a bound that has a price. */
static double slackness(const struct ck_tree_repair *r)
{
    double sum = 0;
    for (int64_t k = 0; k < r->tree->k; k++) {
        double p = (double)r->price[k];
        sum += fabs(p * (double)(r->size[k] - (p >= 0 ? r->min_size[k] : r->max_size[k])));
    }
    return sum;
}

/* Scans and sweeps until few rows are misplaced, or more of them no longer help. */
static int find_prices(struct ck_tree_scan *s)
{
    struct ck_tree_repair *r = s->r;
    int64_t n = r->scan->rows->n;
    double last = INFINITY;
    double arcs = n > LARGE ? 0.75 : 2; /* per row: memory */
    for (int scan = 1;; scan++) {
        CK_RETURN_IF(ck_tree_scan_choose_margin(s, arcs));
        CK_RETURN_IF(ck_tree_scan_run(s, 1));
        double now = slackness(r) + (double)s->margin * (double)violation(r);
        if (now <= ENOUGH * total(r) || scan == SCANS || (scan > 3 && now > 0.75 * last))
            return COKE_OK;
        last = now;
        CK_RETURN_IF(ck_tree_price_sweeps(s, SWEEPS));
    }
}

/* Do labels differ from the nearest candidates? */
static int has_prices(const struct ck_tree_repair *r)
{
    for (int64_t k = 0; k < r->tree->k; k++)
        if (r->price[k] != 0)
            return 1;
    return r->moved > 0;
}

int ck_tree_repair_run(struct ck_tree_repair *r)
{
    struct ck_tree_scan s;
    int rc = COKE_OK;
    r->dual = r->exact ? INFINITY : NAN;
    CK_TRY(ck_tree_scan_init(&s, r));
    if (r->exact) {
        make_prices_valid(r);
        CK_TRY(find_prices(&s));
        CK_TRY(ck_tree_fill(&s));
    } else {
        CK_TRY(ck_tree_scan_run(&s, 0));
    }
    if (!has_prices(r))
        r->nearest = r->primal; /* every label is the nearest candidate */
    else
        CK_TRY(ck_tree_scan_nearest(&s));
done:
    ck_tree_widen(r->tree, NULL);
    ck_tree_scan_release(&s);
    return rc;
}
