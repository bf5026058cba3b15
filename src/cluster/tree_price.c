/* tree_price.c - prices of the leaves from the rows with a choice, one leaf after another.
 *
 * Row i takes leaf k while price_k > t_i = (best other value of i) - s_ik. With the t_i in order,
 * the price that gives k its minimum is just above the m-th, m the rows it lacks; the price that
 * keeps its maximum is below another one. Each step is the best for one price while the others
 * stay; EPSILON beyond the exact point lets rows change hands where many tie, as in an auction. */
#include "cluster/tree_repair.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"

#include <math.h>
#include <stdlib.h>

static const double EPSILON = 2e-6;

enum { REPORT = 4096 }; /* leaves between reports */

struct sweep {
    struct ck_tree_scan *s;
    double *t; /* thresholds of one leaf */
    int64_t room;
    double margin; /* of the lists: how far prices may move from those of the scan */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* t [] of leaf k, sorted; returns their number, -1 = out of memory. */
static int64_t sort_thresholds(struct sweep *w, int64_t k)
{
    const struct ck_tree_scan *s = w->s;
    int64_t n = s->start[k + 1] - s->start[k];
    if (CK_VEC_RESERVE(w->t, w->room, n + 1))
        return -1;
    for (int64_t a = 0; a < n; a++) {
        const struct ck_arc *arc = &s->arc[s->start[k] + a];
        double other = -INFINITY;
        for (int64_t c = s->first[arc->point]; c < s->first[arc->point + 1]; c++)
            if (s->choice[c].k != k)
                other = fmax(other, (double)s->choice[c].score + s->price[s->choice[c].k]);
        w->t[a] = other - (double)arc->score;
    }
    qsort(w->t, (size_t)n, sizeof *w->t, ascending);
    return n;
}

/* A price between t[i - 1], whose row is taken, and t[i]; near the former, or with `under` near
 * the latter. */
static double between(const struct sweep *w, int64_t n, int64_t i, int under)
{
    double eps = EPSILON * w->s->r->scan->longest;
    if (i == 0)
        return w->t[0] - eps;
    if (i == n)
        return w->t[n - 1] + eps;
    double step = fmin(eps, (w->t[i] - w->t[i - 1]) / 2);
    return under ? w->t[i] - step : w->t[i - 1] + step;
}

/* The best price of leaf k while the others stay. */
static double price_of(const struct sweep *w, int64_t k, int64_t n)
{
    const struct ck_tree_repair *r = w->s->r;
    int64_t lacks = r->min_size[k] - w->s->base[k];
    double price = 0;
    if (lacks > n)
        price = INFINITY;
    else if (lacks > 0)
        price = fmax(price, between(w, n, lacks, 0));
    if (!r->max_size)
        return price;
    int64_t takes = r->max_size[k] - w->s->base[k];
    if (takes < 0)
        price = -INFINITY;
    else if (takes < n)
        price = fmin(price, between(w, n, takes, 1));
    return price;
}

/* The highest price of leaf k whose rows are all in the lists. */
static double top_of(const struct sweep *w, int64_t k)
{
    return (double)w->s->r->price[k] + w->margin + (double)w->s->rise[k];
}

static double bottom_of(const struct sweep *w, int64_t k)
{
    return (double)w->s->r->price[k] - w->margin;
}

/* After the sweeps. Leaves whose price is at its top lack rows and get longer lists, twice as wide
 * each consecutive time; a price beyond what lists show would overshoot. Prices at the bottom fall
 * further. */
static void leave_box(struct sweep *w)
{
    struct ck_tree_scan *s = w->s;
    struct ck_tree_repair *r = s->r;
    double limit = 2.1 * r->scan->longest;
    for (int64_t k = 0; k < r->tree->k; k++) {
        int way = (s->price[k] >= top_of(w, k)) - (s->price[k] <= bottom_of(w, k));
        if (way < 0 && s->price[k] <= 0 && !r->max_size)
            way = 0;
        float last = s->push[k] * (float)way > 0 ? 2 * fabsf(s->push[k]) : 0;
        s->push[k] = (float)way * fmaxf(last, 2 * s->margin);
        s->rise[k] = fmaxf(0, fminf(s->push[k], 0.25f * (float)r->scan->longest));
        double price = s->price[k] + (double)(last > 0 && way < 0 ? s->push[k] : 0);
        price = fmin(fmax(price, r->max_size ? -limit : 0), limit);
        r->price[k] = (float)price;
    }
}

int ck_tree_price_sweeps(struct ck_tree_scan *s, int sweeps)
{
    struct ck_tree_repair *r = s->r;
    int64_t leaves = r->tree->k;
    struct sweep w = {.s = s, .margin = (double)s->margin};
    int rc = COKE_OK;
    for (int64_t k = 0; k < leaves; k++)
        s->price[k] = (double)r->price[k];
    for (int sweep = 0; sweep < sweeps; sweep++) {
        double most = 0;
        for (int64_t k = 0; k < leaves; k++) {
            if (k % REPORT == 0)
                CK_TRY(ck_tree_scan_report(s, sweep * leaves + k, sweeps * leaves));
            /* leaves that have enough without any choice, often the largest, need no price */
            int64_t n = r->max_size || s->base[k] < r->min_size[k] ? sort_thresholds(&w, k) : 0;
            if (n < 0)
                CK_LEAVE(COKE_ENOMEM);
            double price = price_of(&w, k, n);
            price = fmin(fmax(price, bottom_of(&w, k)), top_of(&w, k));
            most = fmax(most, fabs(price - s->price[k]));
            s->price[k] = price;
        }
        if (most <= 4 * EPSILON * r->scan->longest)
            break;
    }
    leave_box(&w);
done:
    ck_free(w.t);
    return rc;
}
