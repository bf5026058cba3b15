/* repair_near.c - labels within all size bounds, near the optimum, at the cost of about two scans.
 *
 * Prices are refined online if the last epoch left many rows missing, then one scan lists the
 * rows with a choice. The solver moves prices and rows on these lists, within a limit of work.
 * Clusters whose lists are too short get the cheapest rows of all others (repair_fill.c). The
 * dual at the last prices bounds the optimum, whatever was cut short: the gap is rigorous. */
#include "cluster/auction.h"
#include "cluster/repair_scan.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

enum {
    SWEEPS = 3,
    LEAST_WORK = 1 << 23,   /* arcs that the auction may scan, */
    PER_ARC = 2000,         /* and one more for so many products of a scan */
    ROW_BYTES = 16,         /* memory for lists per row, */
    LEAST_BYTES = 64 << 20, /* but not less than this in total */
    ARC_BYTES = 40,         /* of an entry with its part of the row's data */
};

/* The fraction of the rows that the online labels of the last epoch lack; 1 = not known. */
static double missing(const struct ck_repair *r)
{
    int64_t all = 0;
    if (!r->expected)
        return 1;
    struct ck_repair_misfit m = ck_repair_misfit(r, r->expected);
    for (int64_t k = 0; k < r->k; k++)
        all += r->min_size[k];
    return (double)(m.missing + m.surplus) / fmax(1, (double)all);
}

/* No slack: sizes are bounded on both sides, or the minimum sizes leave few rows free. */
static int is_tight(const struct ck_repair *r)
{
    int64_t all = 0;
    for (int64_t k = 0; k < r->k; k++)
        all += r->min_size[k];
    return r->max_size || (double)all > 0.9 * (double)r->scan->rows->n;
}

/* The averaged duals are good prices where few rows were missing and few tie. Of centers that
 * tie the one with the highest dual gets all rows of a batch, and their duals are far apart:
 * then prices start from 0. */
static int start_prices(struct ck_repair_scan *p, int *ties)
{
    const double few = 0.02, many = 0.1;
    struct ck_repair *r = p->r;
    double part = missing(r), lead;
    CK_RETURN_IF(ck_repair_scan_lead(p, &lead, ties));
    if (*ties)
        memset(r->price, 0, (size_t)r->k * sizeof *r->price);
    if (lead > 0 && (part >= few || *ties))
        CK_RETURN_IF(ck_repair_refine_prices(p, part < many && !*ties ? 0.5 : 1, lead, *ties));
    ck_repair_make_prices_valid(r);
    return COKE_OK;
}

/* Entries per row that the memory allows, at most `wanted`. */
static double choices(const struct ck_repair *r, double wanted)
{
    double n = (double)r->scan->rows->n;
    double bytes = fmax(ROW_BYTES * n, LEAST_BYTES);
    return fmin(wanted, fmax(1.2, bytes / ARC_BYTES / n));
}

static int64_t violations(const struct ck_repair *r)
{
    struct ck_repair_misfit m = ck_repair_misfit(r, r->size);
    return m.missing + m.surplus;
}

/* Products of one scan. */
static double scan_cost(const struct ck_repair *r)
{
    return (double)r->scan->rows->n * (double)r->k * (double)r->scan->ld;
}

/* The lowest bound so far, and its prices. */
struct proof {
    double dual;
    float *price; /* [k] */
};

static void keep_lower(const struct ck_repair *r, struct proof *best, double dual)
{
    if (dual >= best->dual)
        return;
    best->dual = dual;
    memcpy(best->price, r->price, (size_t)r->k * sizeof *best->price);
}

/* The bound at the prices of the scan itself, whose labels are the best at these. */
static double dual_of_scan(const struct ck_repair *r)
{
    double dual = r->primal;
    for (int64_t k = 0; k < r->k; k++) {
        int64_t bound = r->price[k] >= 0 ? r->min_size[k] : r->max_size[k];
        dual += (double)r->price[k] * (double)(r->size[k] - bound);
    }
    return dual;
}

/* Solves on the lists of the last scan and keeps the labels. A list that was cut does not bound
 * its row: such rows are scanned again. */
static int solve_lists(struct ck_repair_scan *p, struct ck_exact *e, struct proof *best)
{
    struct ck_repair *r = p->r;
    double before = 0, after = 0, value, dual;
    keep_lower(r, best, dual_of_scan(r));
    ck_repair_load_solver(p, e);
    for (int64_t i = 0; i < p->n; i++)
        before += (double)p->score[i];
    CK_RETURN_IF(ck_exact_approach(e, SWEEPS));
    CK_RETURN_IF(ck_auction_run(e, e->tie, LEAST_WORK + (int64_t)(scan_cost(r) / PER_ARC)));
    for (int64_t i = 0; i < p->n; i++)
        after += (double)p->score[i];
    r->primal += after - before;
    ck_repair_keep_solution(p, e);
    CK_RETURN_IF(ck_repair_scan_value(p, &value));
    dual = ck_repair_dual_value(p, e, r->primal, value);
    if (isnan(dual))
        return COKE_ENOMEM;
    keep_lower(r, best, dual);
    return COKE_OK;
}

/* Scans with lists: one, two if the bounds leave no slack, and more where a scan takes
 * little time. */
static int most_rounds(const struct ck_repair *r, int ties)
{
    const double cheap = 4e9; /* multiplications */
    return (is_tight(r) ? 2 : 1) + (ties ? 0 : (int)fmin(10, floor(cheap / scan_cost(r))));
}

static int run_rounds(struct ck_repair_scan *p, struct ck_exact *e, struct proof *best)
{
    struct ck_repair *r = p->r;
    double wanted = is_tight(r) ? 12 : 6;
    int ties;
    CK_RETURN_IF(start_prices(p, &ties));
    int rounds = most_rounds(r, ties);
    p->tie = (float)(0.1 * r->tolerance * r->scan->longest);
    for (int round = 0; round < rounds; round++) {
        CK_RETURN_IF(ck_repair_scan_choose_margin(p, choices(r, wanted)));
        CK_RETURN_IF(ck_repair_scan_run(p));
        if (round == 0)
            ck_repair_count_violations(r);
        /* a row may lose a quarter of what the tolerance allows it on average */
        e->tie = 0.25 * r->tolerance * ck_repair_total(r) / fmax(1, (double)r->total);
        p->tie = (float)e->tie;
        CK_RETURN_IF(solve_lists(p, e, best));
        int reached = best->dual - r->primal <= r->tolerance * ck_repair_total(r);
        if (round == rounds - 1 || (reached && !violations(r)))
            break;
        ck_repair_move_box(p, e);
    }
    return violations(r) ? ck_repair_fill(p) : COKE_OK;
}

int ck_repair_near(struct ck_repair_scan *p, struct ck_exact *e)
{
    struct ck_repair *r = p->r;
    struct proof best = {.dual = INFINITY};
    best.price = ck_alloc_array((size_t)r->k, sizeof *best.price);
    int rc = best.price ? run_rounds(p, e, &best) : COKE_ENOMEM;
    if (!rc) {
        memcpy(r->price, best.price, (size_t)r->k * sizeof *r->price);
        r->dual = fmax(best.dual, r->primal); /* the two sums round differently */
    }
    ck_free(best.price);
    return rc;
}
