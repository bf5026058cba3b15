/* repair.c - a scan over all rows with fixed centers and prices, then the exact optimum.
 *
 * A row whose best center leads by more than `margin` at the prices of the scan cannot change
 * its label until prices have moved by that much against each other; only the others, the
 * active ones, go to the solver, each with the centers within the margin. The solver keeps
 * prices within a box, inside which no other center can win. If an edge of the box limits a
 * price, one more scan starts from the new prices. So memory is O(n + k + active rows), never
 * n x k, and the result is the optimum over all centers, proven by its prices. */
#include "cluster/repair_scan.h"
#include "cluster/exact.h"
#include "cluster/narrow.h"
#include "cluster/newton.h"
#include "cluster/repair_twins.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

enum {
    NARROW = 32, /* the first exact attempt uses a box of margin / NARROW */
    LISTED = 8,  /* centers per row in most scans */
    TRUST = 6,   /* margins by which prices move between scans */
    ENOUGH_ARCS = 1 << 25,
    PATIENCE = 12, /* scans that may end without an exact solution */
    MAX_PASSES = 100,
};

double ck_repair_total(const struct ck_repair *r)
{
    if (r->scan->frame.metric == COKE_METRIC_EUCLIDEAN)
        return fmax(0, r->square / 2 - r->primal);
    return fabs(r->primal);
}

int ck_repair_is_tight(const struct ck_repair *r)
{
    int64_t all = 0;
    for (int64_t k = 0; k < r->k; k++)
        all += r->min_size[k];
    return r->max_size || (double)all > 0.9 * (double)r->scan->rows->n;
}

/* f32 rounds a score, a bias and their sum to 2^-24 of the longest row each; the box is
 * narrower by this much. */
static const double ROUNDING = 1e-6;

/* Distances of centers that coincide: of means of equal rows, and as a part of the tolerance. Inner
 * centers have lengths of about 1. */
static const double TWINS = 2.5e-7, TWIN_PART = 0.05;

/* The last scale of Newton's method, relative to the longest row. */
static const double SMALLEST = 1e-7;

/* A center outside the list of a row labelled k is behind by more than margin + fall[k] at the
 * prices of the scan; it stays behind as long as no price rises by more than the margin and
 * that of k falls by no more than fall[k]. */
static void set_box(const struct ck_repair_scan *p, struct ck_exact *e)
{
    for (int64_t k = 0; k < e->k; k++) {
        e->price[k] = (double)p->bias[k];
        e->low[k] = e->price[k] - (double)p->fall[k];
        double rise = (double)(p->margin / CK_REPAIR_CALM + p->rise[k]);
        e->high[k] = e->price[k] + fmax(0, rise - ROUNDING * p->r->scan->longest);
    }
}

/* Only differences of prices matter to the labels. Without upper bounds the lowest price is 0:
 * some cluster is above its minimum, or all prices may fall together. And no price needs to
 * exceed the largest difference of two similarities, which would win every row. */
void ck_repair_make_prices_valid(struct ck_repair *r)
{
    float lowest = INFINITY, limit = 2.1f * (float)r->scan->longest;
    for (int64_t k = 0; k < r->k; k++)
        lowest = fminf(lowest, r->price[k]);
    for (int64_t k = 0; k < r->k; k++)
        r->price[k] = r->max_size ? fmaxf(-limit, fminf(r->price[k], limit))
                                  : fminf(r->price[k] - lowest, limit);
}

/* Where the box limited a price, moves the price further in that direction, by twice as much
 * each consecutive time. */
void ck_repair_move_box(struct ck_repair_scan *p, const struct ck_exact *e)
{
    struct ck_repair *r = p->r;
    for (int64_t k = 0; k < e->k; k++) {
        int way = ck_exact_at_edge(e, k);
        float step = p->push[k] * (float)way > 0 ? 2 * fabsf(p->push[k]) : 0;
        p->push[k] = (float)way * fmaxf(step, p->margin);
        r->price[k] = (float)e->price[k] + p->push[k];
        if (!r->max_size)
            r->price[k] = fmaxf(r->price[k], 0);
    }
    ck_repair_make_prices_valid(r);
}

/* D(price) = sum_i max_k (s_ik + price_k) - sum_k price_k * (min_size or max_size): an upper
 * bound of every assignment within the bounds. Rows without a choice are in `primal` already. */
double ck_repair_dual_value(const struct ck_repair_scan *p, const struct ck_exact *e,
                            double primal, double value)
{
    double dual = primal + value;
    double *best = ck_alloc_array((size_t)p->n, sizeof *best);
    for (int64_t i = 0; best && i < p->n; i++)
        best[i] = (double)e->score[i] + e->price[e->label[i]];
    for (int64_t k = 0; best && k < e->k; k++)
        for (int64_t a = p->start[k]; a < p->start[k + 1]; a++) {
            double *b = &best[p->arc[a].point];
            *b = fmax(*b, (double)p->arc[a].score + e->price[k]);
        }
    for (int64_t i = 0; best && i < p->n; i++)
        dual += (p->active_mark[i] & CK_ROW_CUT ? 0 : best[i]) - (double)e->score[i];
    for (int64_t k = 0; k < e->k; k++) {
        int64_t bound = e->price[k] >= 0 ? e->min_size[k] : e->max_size[k];
        dual += e->price[k] * (double)(p->base[k] - bound);
    }
    if (!best)
        return NAN;
    ck_free(best);
    /* The two sums round differently: a dual slightly below the primal is equal to it. */
    return dual < primal && primal - dual < 1e-9 * (fabs(primal) + 1) ? primal : dual;
}

struct ck_repair_misfit ck_repair_misfit(const struct ck_repair *r, const int64_t *size)
{
    struct ck_repair_misfit m = {0};
    for (int64_t k = 0; k < r->k; k++) {
        int64_t lack = r->min_size[k] - size[k];
        int64_t over = r->max_size ? size[k] - r->max_size[k] : 0;
        m.below += lack > 0;
        m.above += over > 0;
        m.missing += lack > 0 ? lack : 0;
        m.surplus += over > 0 ? over : 0;
    }
    return m;
}

int64_t ck_repair_off_bounds(const struct ck_repair *r, const int64_t *size)
{
    struct ck_repair_misfit m = ck_repair_misfit(r, size);
    return m.missing + m.surplus;
}

void ck_repair_count_violations(struct ck_repair *r)
{
    struct ck_repair_misfit m = ck_repair_misfit(r, r->size);
    r->below = m.below;
    r->above = m.above;
    r->missing = m.missing;
}

/* Copies sizes, prices, labels and scores of the active rows to the result; the other rows have
 * theirs from the scan. */
void ck_repair_keep_solution(struct ck_repair_scan *p, const struct ck_exact *e)
{
    struct ck_repair *r = p->r;
    memcpy(r->size, e->size, (size_t)r->k * sizeof *r->size);
    for (int64_t k = 0; k < r->k; k++)
        r->price[k] = (float)e->price[k];
    for (int64_t i = 0; i < p->n; i++) {
        ck_labels_set(r->labels, p->id[i], p->label[i]);
        if (r->scores)
            r->scores[p->id[i]] = p->score[i];
    }
}

/* The solver borrows the merged lists of the scan. */
void ck_repair_load_solver(struct ck_repair_scan *p, struct ck_exact *e)
{
    e->n = p->n;
    e->base = p->base;
    e->label = p->label;
    e->score = p->score;
    e->start = p->start;
    e->arc = p->arc;
    e->first = p->choices;
    e->choice = p->choice;
    ck_crowds_load(p, e);
    set_box(p, e);
}

double ck_repair_choice_primal(const struct ck_repair_scan *p)
{
    double sum = ck_crowds_primal(p);
    for (int64_t i = 0; i < p->n; i++)
        sum += (double)p->score[i];
    return sum;
}

/* Rows by which the labels of e are off their bounds, with crowds divided as the prices suggest. */
static int64_t misfit(struct ck_repair_scan *p, struct ck_exact *e)
{
    ck_crowds_divide(p, e, SMALLEST * p->r->scan->longest);
    int64_t off = ck_repair_off_bounds(p->r, e->size);
    ck_crowds_take_back(p, e);
    return off;
}

/* Newton's method brings the prices so near that few rows have a choice around them: the exact
 * solver needs only these. If that fails and a price is at an edge, the price will move further:
 * no exact solution then, unless PATIENCE scans have passed. */
static int find_optimum(struct ck_repair_scan *p, struct ck_exact *e, int *inside)
{
    const double few =
        0.02; /* missing rows, as a fraction, with which an attempt is worth it */
    double margin = (double)p->margin;
    CK_RETURN_IF(ck_newton_run(e, margin / 16, SMALLEST * p->r->scan->longest, margin / 2,
                               p->crowds.n > 0));
    *inside = 0;
    if ((double)misfit(p, e) > few * (double)p->r->total && p->full_scans <= PATIENCE)
        return COKE_OK;
    for (double width = margin / NARROW; width < margin && !*inside; width *= 4)
        CK_RETURN_IF(ck_exact_solve_narrow(e, width, inside));
    if (!*inside && (p->full_scans > PATIENCE || !ck_exact_at_edges(e)))
        CK_RETURN_IF(ck_exact_solve(e, inside));
    return COKE_OK;
}

/* The next prices: as far as the lists are trusted, or, if that leads nowhere, by doubled steps
 * where an edge limits a price. */
static int move_on(struct ck_repair_scan *p, struct ck_exact *e)
{
    p->trust = TRUST * (double)p->margin;
    if (p->full_scans <= PATIENCE)
        CK_RETURN_IF(ck_repair_free_prices(p, e, SMALLEST * p->r->scan->longest));
    if (p->full_scans > PATIENCE || ck_repair_price_change(p) < (double)p->margin / NARROW)
        ck_repair_move_box(p, e);
    return COKE_OK;
}

/* Near copies in one crowd only lead to prices, at which the next scan tells them apart; crowds of
 * equal rows remain. The prices are those of Newton's method, in the middle of the optimal range:
 * the exact solver's are at its end, where no near copy can move without others. */
static int tell_apart(struct ck_repair_scan *p, struct ck_exact *e)
{
    p->trust = TRUST * (double)p->margin;
    CK_RETURN_IF(ck_repair_free_prices(p, e, SMALLEST * p->r->scan->longest));
    p->guide = p->margin;
    p->full_scans = 0;
    ck_crowds_release(&p->crowds);
    return ck_crowds_find(p, 0);
}

/* *inside = 1: the solution is final. Else the next prices are in r->price. */
static int solve(struct ck_repair_scan *p, struct ck_exact *e, int *inside)
{
    struct ck_repair *r = p->r;
    double before = ck_repair_choice_primal(p);
    ck_repair_load_solver(p, e);
    CK_RETURN_IF(find_optimum(p, e, inside));
    if (p->crowds.apart > 0 && (*inside || p->full_scans > 2 * PATIENCE)) {
        *inside = 0;
        return tell_apart(p, e);
    }
    if (!*inside)
        return move_on(p, e);
    r->primal += ck_repair_choice_primal(p) - before;
    ck_crowds_give(p, e);
    r->dual = ck_repair_dual_value(p, e, r->primal, ck_crowds_excess(p, e));
    if (isnan(r->dual))
        return COKE_ENOMEM;
    ck_repair_keep_solution(p, e);
    return p->crowds.n ? ck_crowds_settle(p) : COKE_OK;
}

/* Looks for crowds and, if there are any, for prices that suit them. Where nearly all rows are near
 * copies, these differ on the scale of the prices themselves: then only equal rows are crowds. */
static int find_crowds(struct ck_repair_scan *p, struct ck_exact *e)
{
    const double most = 0.95;
    int copies;
    CK_RETURN_IF(ck_repair_has_copies(p, &copies));
    if (copies)
        CK_RETURN_IF(ck_crowds_find(p, CK_CROWDS_NEAR));
    if (p->crowds.apart > 0 && p->crowds.total > most * (double)p->r->scan->rows->n) {
        ck_crowds_release(&p->crowds);
        CK_RETURN_IF(ck_crowds_find(p, 0));
    }
    if (p->crowds.n == 0)
        return COKE_OK;
    memset(p->calm, 0, (size_t)p->r->k);
    return ck_repair_crowd_prices(p, e);
}

void ck_repair_find_calm(struct ck_repair_scan *p, const int64_t *size, const int64_t *min_size,
                         double spare)
{
    struct ck_repair *r = p->r;
    for (int64_t k = 0; k < r->k && !r->max_size; k++) {
        p->calm[k] = (double)size[k] > spare * (double)min_size[k];
        r->price[k] = p->calm[k] ? 0 : r->price[k];
    }
}

/* Initial prices from a sample of 128 rows per cluster; they need not be exact. Sizes in a smaller
 * sample vary too much. */
static int sample_prices(struct ck_repair_scan *p, struct ck_exact *e)
{
    const double per_cluster = 128, most = 0.3;
    struct ck_repair *r = p->r;
    double each = (double)r->scan->rows->n / (double)r->k;
    if (ck_repair_is_tight(r))
        return COKE_OK;
    if (each * most < per_cluster) {
        if (r->expected)
            ck_repair_find_calm(p, r->expected, r->min_size, 2);
        return COKE_OK;
    }
    CK_RETURN_IF(ck_repair_sample_prices(p, e, per_cluster / each, 4));
    ck_repair_find_calm(p, e->size, p->min_size, 1.25);
    p->reach = 1; /* the prices are nearly right: shorter lists suffice */
    return COKE_OK;
}

static int any_calm(const struct ck_repair_scan *p)
{
    for (int64_t k = 0; k < p->r->k; k++)
        if (p->calm[k])
            return 1;
    return 0;
}

/* Choices per row that memory allows where many tie. */
static double most_choices(const struct ck_repair_scan *p)
{
    return fmax(64, ENOUGH_ARCS / (double)p->r->scan->rows->n);
}

/* Sets the margin for lists of so many choices, or at prices for near copies the one that led to
 * these: their own lists are longer, at any margin. Crowds cost a visit to all rows: they are
 * looked for once, if rows tie so that lists are too long even at the least margin, or the first
 * scan failed. */
static int choose_margin(struct ck_repair_scan *p, struct ck_exact *e, double choices, int pass,
                         int *looked)
{
    if (p->guide > 0 && p->full_scans <= PATIENCE) {
        CK_RETURN_IF(ck_repair_scan_choose_margin(p, most_choices(p)));
        p->margin = fminf(p->margin, p->guide);
        return COKE_OK;
    }
    CK_RETURN_IF(ck_repair_scan_choose_margin(p, choices));
    if (*looked || (pass == 0 && p->listed <= choices))
        return COKE_OK;
    *looked = 1;
    CK_RETURN_IF(find_crowds(p, e));
    return p->crowds.n ? ck_repair_scan_choose_margin(p, LISTED) : COKE_OK;
}

/* Scans and solves until the optimum lies inside the box. If the box limits prices again and
 * again, lists become longer and the box wider. Calm clusters allow short lists in the first
 * scan; if that fails, no cluster is calm. */
static int find_exactly(struct ck_repair_scan *p, struct ck_exact *e)
{
    struct ck_repair *r = p->r;
    int inside = 0, looked = 0;
    CK_RETURN_IF(sample_prices(p, e));
    double choices = any_calm(p) ? 2 : LISTED;
    for (int pass = 0; !inside; pass++) {
        if (pass == 1) {
            memset(p->calm, 0, (size_t)r->k);
            choices = LISTED;
        }
        if (p->full_scans > PATIENCE && choices < most_choices(p))
            choices *= 2;
        if (pass == MAX_PASSES)
            return ck_fail(COKE_EFAIL, "repair: no proven optimum after %d scans", MAX_PASSES);
        CK_RETURN_IF(choose_margin(p, e, choices, pass, &looked));
        CK_RETURN_IF(ck_repair_scan_run(p));
        p->full_scans++;
        if (pass == 0)
            ck_repair_count_violations(r);
        CK_RETURN_IF(solve(p, e, &inside));
    }
    return COKE_OK;
}

/* Between searches of the solver: a stop is noticed, and the display shows that it runs. */
static int poll_callbacks(void *arg)
{
    const struct ck_repair *r = arg;
    return ck_repair_scan_report(r, "repair", 0, 0);
}

static int run_all(struct ck_repair *r)
{
    int rc = COKE_OK;
    struct ck_repair_scan p;
    struct ck_exact e = {0};
    CK_TRY(ck_repair_scan_init(&p, r));
    CK_TRY(ck_exact_init(&e, r->k, r->min_size, r->max_size));
    e.tie = 1e-9 * r->scan->longest;
    e.poll = poll_callbacks;
    e.poll_arg = r;
    r->dual = NAN;
    if (!r->exact) {
        CK_TRY(ck_repair_scan_run(&p));
        ck_repair_count_violations(r);
    } else {
        ck_repair_make_prices_valid(r);
        CK_TRY(r->tolerance > 0 ? ck_repair_near(&p, &e) : find_exactly(&p, &e));
    }
    CK_TRY(ck_repair_scan_nearest(&p));
done:
    ck_assigner_widen(r->assigner, NULL, NULL, NULL);
    ck_exact_release(&e);
    ck_repair_scan_release(&p);
    return rc;
}

/* Centers nearer to each other than rounding, or a part of the tolerance, count as one, if these
 * are many. */
int ck_repair_run(struct ck_repair *r)
{
    struct ck_twins t = {0};
    double limit = fmax(TWINS, TWIN_PART * r->tolerance);
    int rc = r->exact ? ck_twins_find(&t, r, limit) : COKE_OK;
    if (!rc)
        rc = r->exact && 4 * t.groups < 3 * r->k ? ck_twins_run(&t, r, run_all) : run_all(r);
    ck_twins_release(&t);
    return rc;
}
