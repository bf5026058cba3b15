/* repair_near.c - labels within all size bounds, near the optimum.
 *
 * A scan lists the rows with a choice at the present prices. If many rows are missing, Newton's
 * method on these lists leads to the prices of the next scan; if few are, the exact solver ends
 * on what is left of the lists in a narrow box. Many copies of a row count as one point
 * (repair_crowds.c). Where copies are of many different rows, prices come from batches of rows, and
 * an auction within a limit of work takes the place of both. Clusters whose lists are too short get
 * the cheapest rows of all others (repair_fill.c). The dual at any prices bounds the optimum,
 * whatever was cut short: the gap is rigorous. */
#include "cluster/auction.h"
#include "cluster/narrow.h"
#include "cluster/newton.h"
#include "cluster/repair_scan.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

enum {
    SWEEPS = 30,            /* over the prices; a few suffice mostly */
    NARROW = 32,            /* the first exact attempt uses a box of margin / NARROW */
    ROUNDS = 10,            /* scans with tight bounds */
    LEAST_WORK = 1 << 23,   /* arcs that the auction may scan, */
    PER_ARC = 2000,         /* and one more for so many products of a scan */
    ROW_BYTES = 16,         /* memory for lists per row, */
    LEAST_BYTES = 64 << 20, /* but not less than this in total */
    ARC_BYTES = 40,         /* of an entry with its part of the row's data */
};

/* The fraction of the rows that the labels before the repair lack; 1 = not known. */
static double missing(const struct ck_repair *r)
{
    int64_t all = 0;
    if (!r->expected)
        return 1;
    for (int64_t k = 0; k < r->k; k++)
        all += r->min_size[k];
    return (double)ck_repair_off_bounds(r, r->expected) / fmax(1, (double)all);
}

/* Crowds are taken out. Copies that are not in one remain. */
static int find_copies(struct ck_repair_scan *p)
{
    CK_RETURN_IF(ck_repair_has_copies(p, &p->copies));
    if (!p->copies)
        return COKE_OK;
    CK_RETURN_IF(ck_crowds_find(p, CK_CROWDS_NEAR));
    if (p->crowds.n == 0)
        return COKE_OK;
    CK_RETURN_IF(ck_repair_has_copies(p, &p->copies));
    if (p->copies)
        ck_crowds_release(&p->crowds);
    return COKE_OK;
}

/* Prices move on the lists of each scan by Newton's method. */
static int by_newton(const struct ck_repair_scan *p)
{
    return p->crowds.n > 0 || (!p->copies && ck_repair_is_tight(p->r));
}

/* Rows that are copies of each other reach a border of two clusters all at once, which no step of
 * Newton's method foresees. Then prices come from batches of rows, spread over centers that tie at
 * random. Of such centers the one with the highest dual gets all rows of a batch in the epochs,
 * and their duals are far apart: prices start from 0. Where bounds leave slack, batches are also
 * the way from duals that left many rows missing. */
static int start_prices(struct ck_repair_scan *p, struct ck_exact *e)
{
    const double few = 0.1;
    struct ck_repair *r = p->r;
    double lead;
    CK_RETURN_IF(find_copies(p));
    if (p->crowds.n)
        return ck_repair_crowd_prices(p, e);
    if (!p->copies && (ck_repair_is_tight(r) || missing(r) < few))
        return COKE_OK;
    CK_RETURN_IF(ck_repair_scan_lead(p, &lead));
    if (p->copies)
        memset(r->price, 0, (size_t)r->k * sizeof *r->price);
    if (lead > 0)
        CK_RETURN_IF(ck_repair_refine_prices(p, lead, p->copies));
    ck_repair_make_prices_valid(r);
    return COKE_OK;
}

/* Entries per row that the lists should have, as far as the memory allows. first: another scan
 * may follow, so that short lists are tried where few rows are missing. */
static double choices(const struct ck_repair_scan *p, int first)
{
    const struct ck_repair *r = p->r;
    const double few = 0.02, very_few = 0.002;
    double n = (double)r->scan->rows->n, off = first && !by_newton(p) ? missing(r) : 1;
    double wanted = ck_repair_is_tight(r) ? 12 : off < very_few ? 2 : off < few ? 4 : 6;
    double bytes = fmax(ROW_BYTES * n, LEAST_BYTES);
    return fmin(wanted, fmax(1.2, bytes / ARC_BYTES / n));
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
static double dual_of_scan(const struct ck_repair_scan *p)
{
    const struct ck_repair *r = p->r;
    double dual = r->primal + p->crowds.apart;
    for (int64_t k = 0; k < r->k; k++) {
        int64_t bound = r->price[k] >= 0 ? r->min_size[k] : r->max_size[k];
        dual += (double)r->price[k] * (double)(r->size[k] - bound);
    }
    return dual;
}

/* The exact solution on the lists from labels that are nearly right, in boxes that become wider
 * until it lies inside. With slack in the bounds a price at an edge stays there. */
static int solve_nearby(struct ck_repair_scan *p, struct ck_exact *e, int *inside)
{
    const double few = 0.02, margin = (double)p->margin;
    int try = (double)ck_repair_off_bounds(p->r, e->size) <= few * (double)p->r->total &&
              (ck_repair_is_tight(p->r) || !ck_exact_at_edges(e));
    for (double width = margin / NARROW; try && width < margin && !*inside; width *= 4)
        CK_RETURN_IF(ck_exact_solve_narrow(e, width, inside));
    return COKE_OK;
}

/* Where the prices of the scan leave very few rows off, the solution is often so near that the
 * steps of Newton's method, which first lead away from it, are not needed. */
static int solve_at_once(const struct ck_repair_scan *p, struct ck_exact *e, int *inside)
{
    const double few = 0.004;
    const struct ck_repair *r = p->r;
    if (p->crowds.n || (double)ck_repair_off_bounds(r, r->size) > few * (double)r->total)
        return COKE_OK;
    ck_exact_take_labels(e);
    return ck_exact_solve_narrow(e, (double)p->margin / NARROW, inside);
}

/* Will ck_repair_fill come near enough? A row that it moves loses about as much as the lists are
 * wide, because the prices of the clusters that lack rows are at an edge of the box. */
static int fill_suffices(const struct ck_repair_scan *p, const struct ck_exact *e)
{
    double loss = (double)ck_repair_off_bounds(p->r, e->size) * (double)p->margin;
    return loss <= p->r->tolerance * ck_repair_total(p->r);
}

/* With crowds, whose prices are far apart, it loses more: an estimate, which also brings labels
 * that are above the bound below it. */
static double fill_loss(const struct ck_repair *r, double dual)
{
    double each = 0.15 * r->scan->longest;
    return fmax((double)ck_repair_off_bounds(r, r->size) * each, 2 * (r->primal - dual));
}

/* The row that costs least to bring from another cluster with rows to spare into k, of those that
 * list k; NULL = there is none. */
static const struct ck_arc *cheapest_listed(const struct ck_repair_scan *p,
                                            const struct ck_exact *e, int64_t k)
{
    const struct ck_arc *best = NULL;
    double least = INFINITY;
    for (int64_t a = e->start[k]; a < e->start[k + 1]; a++) {
        const struct ck_arc *arc = &e->arc[a];
        int32_t from = e->label[arc->point];
        double cost = (double)e->score[arc->point] + e->price[from] - (double)arc->score;
        if (from != k && e->size[from] > p->r->min_size[from] && cost < least) {
            least = cost;
            best = arc;
        }
    }
    return best;
}

/* Clusters that lack rows take the cheapest of their lists, as far as these go: the rest needs a
 * look at all rows (ck_repair_fill). No row outside its list would cost less. */
static void fill_from_lists(const struct ck_repair_scan *p, struct ck_exact *e)
{
    for (int64_t k = 0; k < e->k; k++)
        while (e->size[k] < p->r->min_size[k]) {
            const struct ck_arc *arc = cheapest_listed(p, e, k);
            if (!arc)
                break;
            e->size[e->label[arc->point]]--;
            e->size[k]++;
            e->label[arc->point] = (int32_t)k;
            e->score[arc->point] = arc->score;
        }
}

/* Where bounds leave slack, few prices matter, and one at a time is faster; the last few rows then
 * move at little cost. An auction within a limit of work takes over where nothing else succeeds. */
static int find_labels(struct ck_repair_scan *p, struct ck_exact *e)
{
    const struct ck_repair *r = p->r;
    const double margin = (double)p->margin;
    int inside = 0;
    if (!by_newton(p)) {
        CK_RETURN_IF(ck_exact_approach(e, SWEEPS));
        if (!p->copies && fill_suffices(p, e)) {
            fill_from_lists(p, e);
            return COKE_OK;
        }
        if (!p->copies)
            CK_RETURN_IF(solve_nearby(p, e, &inside));
    } else {
        double scale = (p->crowds.n ? 0.5 : 2) * e->tie;
        CK_RETURN_IF(solve_at_once(p, e, &inside));
        if (inside)
            return COKE_OK;
        CK_RETURN_IF(ck_newton_run(e, margin / 16, scale, margin / 2, p->crowds.n > 0));
        ck_crowds_divide(p, e, scale);
        CK_RETURN_IF(solve_nearby(p, e, &inside));
    }
    if (p->crowds.n && !inside)
        fill_from_lists(p, e);
    if (p->crowds.n || inside)
        return COKE_OK;
    return ck_auction_run(e, e->tie, LEAST_WORK + (int64_t)(scan_cost(r) / PER_ARC));
}

/* Solves on the lists of the last scan and keeps the labels. A list that was cut does not bound
 * its row: such rows are scanned again. */
static int solve_lists(struct ck_repair_scan *p, struct ck_exact *e, struct proof *best)
{
    struct ck_repair *r = p->r;
    double before = ck_repair_choice_primal(p), value, dual;
    keep_lower(r, best, dual_of_scan(p));
    ck_repair_load_solver(p, e);
    CK_RETURN_IF(find_labels(p, e));
    r->primal += ck_repair_choice_primal(p) - before;
    ck_repair_keep_solution(p, e);
    CK_RETURN_IF(ck_repair_scan_value(p, &value));
    dual = ck_repair_dual_value(p, e, r->primal, value + ck_crowds_excess(p, e));
    if (isnan(dual))
        return COKE_ENOMEM;
    keep_lower(r, best, dual);
    return p->crowds.n ? ck_crowds_settle(p) : COKE_OK;
}

/* Do the labels of the scan keep all bounds, near enough to the optimum? Rows of crowds have none
 * yet. */
static int scan_suffices(const struct ck_repair_scan *p, double dual)
{
    const struct ck_repair *r = p->r;
    return !p->crowds.n && ck_repair_off_bounds(r, r->size) == 0 &&
           dual - r->primal <= r->tolerance * ck_repair_total(r);
}

/* Scans with lists at most: they end when the gap is reached. */
static int most_rounds(const struct ck_repair_scan *p)
{
    const struct ck_repair *r = p->r;
    const double cheap = 4e9; /* multiplications */
    if (p->copies)
        return ck_repair_is_tight(r) ? 2 : 1;
    if (p->crowds.n)
        return ck_repair_is_tight(r) ? ROUNDS : 3;
    return (ck_repair_is_tight(r) ? ROUNDS : 1) + (int)fmin(10, floor(cheap / scan_cost(r)));
}

/* How far prices may move on the lists of a scan, which bound them only near by. */
struct trust {
    double off;       /* rows off their bounds in the last scan; with crowds its dual */
    double reach;     /* in margins */
    double scan_dual; /* of the present scan */
    double lowest;    /* of the scans before it */
};

/* A third of the way from the prices of the lowest bound to those of the last scan, which was
 * worse: lists around worse prices would lead even farther away. As the bound is convex, it falls
 * below the lowest one in the end. */
static void go_back(const struct ck_repair_scan *p, const struct proof *best)
{
    const float part = 0.35f;
    for (int64_t k = 0; k < p->r->k; k++)
        p->r->price[k] = best->price[k] + part * (p->bias[k] - best->price[k]);
}

/* Farther while that helps, not as far after a step that went too far. */
static int next_prices(struct ck_repair_scan *p, struct ck_exact *e, struct trust *t,
                       const struct proof *best)
{
    const double fine = 1.0 / 256; /* of a margin: the next scan changes more than that */
    const double less = 0.6, more = p->crowds.n ? 1.2 : 1.4, worse = p->crowds.n ? 1 : 1.5;
    double off = p->crowds.n ? t->scan_dual : (double)ck_repair_off_bounds(p->r, p->r->size);
    if (!by_newton(p)) {
        ck_repair_move_box(p, e);
        return COKE_OK;
    }
    int rose = t->scan_dual > t->lowest + 1e-9 * fabs(t->lowest);
    t->lowest = fmin(t->lowest, t->scan_dual);
    if (!p->crowds.n && rose) {
        t->reach *= less;
        go_back(p, best);
        return COKE_OK;
    }
    ck_crowds_take_back(p, e);
    if (t->off < INFINITY)
        t->reach *= off > worse * t->off ? less : more;
    t->off = off;
    p->trust = t->reach * (double)p->margin;
    return ck_repair_free_prices(p, e, fmax(2 * e->tie, fine * (double)p->margin));
}

static int run_rounds(struct ck_repair_scan *p, struct ck_exact *e, struct proof *best)
{
    struct ck_repair *r = p->r;
    const double near = 0.0125; /* fraction of rows off their bounds: solve from there on */
    const double least_tie = 1e-12 * r->scan->longest; /* where the total is 0 */
    struct trust trust = {.off = INFINITY, .lowest = INFINITY};
    CK_RETURN_IF(start_prices(p, e));
    if (r->expected && !by_newton(p) && !p->copies)
        ck_repair_find_calm(p, r->expected, r->min_size, 2);
    trust.reach = p->crowds.n ? 3 : 6;
    int rounds = most_rounds(p);
    p->tie = (float)(0.1 * r->tolerance * r->scan->longest);
    for (int round = 0; round < rounds; round++) {
        int first = round == 0 && rounds > 1;
        CK_RETURN_IF(ck_repair_scan_choose_margin(p, choices(p, first)));
        CK_RETURN_IF(ck_repair_scan_run(p));
        if (round == 0)
            ck_repair_count_violations(r);
        /* a row may lose a quarter of what the tolerance allows it on average */
        e->tie = 0.25 * r->tolerance * ck_repair_total(r) / fmax(1, (double)r->total);
        e->tie = fmax(e->tie, least_tie);
        p->tie = (float)e->tie;
        int last = round == rounds - 1;
        trust.scan_dual = dual_of_scan(p);
        if (scan_suffices(p, trust.scan_dual)) {
            keep_lower(r, best, trust.scan_dual);
            break;
        }
        if (!last && by_newton(p) && !p->crowds.n &&
            (double)ck_repair_off_bounds(r, r->size) > near * (double)r->total) {
            keep_lower(r, best, dual_of_scan(p));
            ck_repair_load_solver(p, e);
        } else {
            CK_RETURN_IF(solve_lists(p, e, best));
            /* what rows of a crowd are apart, no other scan will improve */
            double left = p->crowds.n ? fill_loss(r, best->dual) - p->crowds.apart : 0;
            int reached = best->dual - r->primal + left <= r->tolerance * ck_repair_total(r);
            if (last || (reached && (p->crowds.n || !ck_repair_off_bounds(r, r->size))))
                break;
        }
        CK_RETURN_IF(next_prices(p, e, &trust, best));
        memset(p->calm, 0, (size_t)r->k);
    }
    double left = r->tolerance * ck_repair_total(r) - (best->dual - r->primal);
    return ck_repair_off_bounds(r, r->size) ? ck_repair_fill(p, left) : COKE_OK;
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
