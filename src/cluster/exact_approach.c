/* exact_approach.c - prices near the optimum, one at a time, and the best labels at any prices. */
#include "cluster/exact.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

enum { AHEAD = 16 }; /* prefetch distance in arcs */

/* A point's two best values at the present prices. */
struct leader {
    float best, second;
    int32_t k; /* of the best */
};

/* O(choices of i). Rounded to float: the approach needs no exact values. */
static struct leader find_leader(const struct ck_exact *e, int64_t i)
{
    struct leader l = {-INFINITY, -INFINITY, -1};
    for (int64_t c = e->first[i]; c < e->first[i + 1]; c++) {
        float v = (float)((double)e->choice[c].score + e->price[e->choice[c].k]);
        if (v > l.best) {
            l.second = l.best;
            l.best = v;
            l.k = e->choice[c].k;
        } else if (v > l.second) {
            l.second = v;
        }
    }
    return l;
}

/* The rank-th smallest (from 0) of v [n], by partitioning. */
static float select_rank(float *v, int64_t n, int64_t rank)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        float pivot = v[(low + high) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j) {
                float t = v[i];
                v[i++] = v[j];
                v[j--] = t;
            }
        }
        if (rank <= j)
            high = j;
        else if (rank >= i)
            low = i;
        else
            break;
    }
    return v[rank];
}

/* A price at which `wanted` of the n points join: the present one if it does that, else halfway
 * between the last point that joins and the first that does not. */
static double price_for(float *asked, int64_t n, int64_t wanted, double present)
{
    float last = select_rank(asked, n, wanted - 1), next = INFINITY;
    for (int64_t i = wanted; i < n; i++)
        next = asked[i] < next ? asked[i] : next;
    if ((double)last < present && present < (double)next)
        return present;
    return next < INFINITY ? ((double)last + (double)next) / 2 : (double)last;
}

/* The price at which the size of cluster k meets its bounds with the other prices fixed. asked:
 * scratch, at least as long as the arcs of k. */
static double right_price(const struct ck_exact *e, int64_t k, const struct leader *leader,
                          float *asked)
{
    int64_t n = e->start[k + 1] - e->start[k];
    int64_t low = e->min_size[k] - e->base[k], high = low + ck_exact_room_above(e, k);
    double rest = ck_exact_rest(e, k), price = rest;
    if (low <= 0 && high >= n)
        return rest; /* the size is feasible for any subset of the points */
    for (int64_t a = 0; a < n; a++) {
        const struct ck_arc *arc = &e->arc[e->start[k] + a];
        if (a + AHEAD < n)
            __builtin_prefetch(&leader[arc[AHEAD].point]);
        const struct leader *l = &leader[arc->point]; /* what k must exceed to win the point */
        asked[a] = (l->k == k ? l->second : l->best) - arc->score;
    }
    if (low > n)
        return e->high[k];
    if (low > 0)
        price = fmax(price, price_for(asked, n, low, e->price[k]));
    if (high < n && price == rest) {
        if (high <= 0)
            return e->low[k];
        price = fmin(price, price_for(asked, n, high, e->price[k]));
    }
    return fmin(fmax(price, e->low[k]), e->high[k]);
}

/* The choice of point i that is best at the present prices; *tied: others are within e->tie. */
static int64_t best_choice(const struct ck_exact *e, int64_t i, int *tied)
{
    double best = -INFINITY, second = -INFINITY;
    int64_t at = e->first[i];
    for (int64_t c = e->first[i]; c < e->first[i + 1]; c++) {
        double v = (double)e->choice[c].score + e->price[e->choice[c].k];
        if (v > best) {
            second = best;
            best = v;
            at = c;
        } else if (v > second) {
            second = v;
        }
    }
    *tied = second >= best - e->tie;
    return at;
}

/* Of the choices of point i within e->tie of `at`: the one whose cluster lacks most points, or,
 * if none lacks any, `at` itself unless its cluster is full. */
static int64_t neediest_choice(const struct ck_exact *e, int64_t i, int64_t at)
{
    double best = (double)e->choice[at].score + e->price[e->choice[at].k];
    int64_t most = 0, into = at;
    int full = e->max_size && e->size[e->choice[at].k] >= e->max_size[e->choice[at].k];
    for (int64_t c = e->first[i]; c < e->first[i + 1]; c++) {
        int32_t k = e->choice[c].k;
        if ((double)e->choice[c].score + e->price[k] < best - e->tie)
            continue;
        int64_t lack = e->min_size[k] - e->size[k];
        if (lack > most) {
            most = lack;
            into = c;
        } else if (full && most == 0 && e->size[k] < e->max_size[k]) {
            full = 0;
            into = c;
        }
    }
    return into;
}

/* In double, unlike the leaders: ck_exact_solve needs labels that are best at these prices.
 * First the points with one best label, then those with a tie. */
void ck_exact_take_labels(struct ck_exact *e)
{
    memcpy(e->size, e->base, (size_t)e->k * sizeof *e->size);
    for (int round = 0; round < 2; round++)
        for (int64_t i = 0; i < e->n; i++) {
            int tied;
            int64_t c = best_choice(e, i, &tied);
            if (tied != round)
                continue;
            c = tied ? neediest_choice(e, i, c) : c;
            e->label[i] = e->choice[c].k;
            e->score[i] = e->choice[c].score;
            e->size[e->label[i]]++;
        }
}

/* Returns the leader of point i after its value at k changed from `was` to `now`. O(1) except
 * when the leader or second falls. */
static struct leader shift_leader(const struct ck_exact *e, int64_t i, int32_t k, float was,
                                  float now, struct leader l)
{
    if (now < was) /* another cluster may be first or second: check all */
        return l.k == k || was >= l.second ? find_leader(e, i) : l;
    if (l.k == k)
        l.best = now;
    else if (now > l.best)
        l = (struct leader){now, l.best, k};
    else if (now > l.second)
        l.second = now;
    return l;
}

/* Sets a price, updates the leaders, and marks the clusters whose points are affected. */
static void set_price(struct ck_exact *e, int64_t k, double price, struct leader *leader)
{
    double old = e->price[k];
    e->price[k] = price;
    for (int64_t a = e->start[k]; a < e->start[k + 1]; a++) {
        int32_t i = e->arc[a].point;
        if (a + AHEAD < e->start[k + 1])
            __builtin_prefetch(&leader[e->arc[a + AHEAD].point]);
        float was = (float)((double)e->arc[a].score + old);
        float now = (float)((double)e->arc[a].score + price);
        struct leader l = shift_leader(e, i, (int32_t)k, was, now, leader[i]);
        if (l.best == leader[i].best && l.second == leader[i].second)
            continue;
        leader[i] = l;
        for (int64_t c = e->first[i]; c < e->first[i + 1]; c++)
            e->state[e->choice[c].k] |= e->choice[c].k != k;
    }
}

/* One round over the clusters that are marked; *moved: did a price move? */
static int sweep(struct ck_exact *e, struct leader *leader, float *asked, int *moved)
{
    *moved = 0;
    for (int64_t k = 0; k < e->k; k++) {
        if (!e->state[k])
            continue;
        e->state[k] = 0;
        e->scanned += e->start[k + 1] - e->start[k];
        CK_RETURN_IF(ck_exact_poll(e));
        double price = right_price(e, k, leader, asked);
        if (fabs(price - e->price[k]) < 1e-9)
            continue;
        *moved = 1;
        set_price(e, k, price, leader);
    }
    return COKE_OK;
}

int ck_exact_approach(struct ck_exact *e, int sweeps)
{
    int rc = COKE_ENOMEM, moved = 1;
    int64_t longest = 1;
    for (int64_t k = 0; k < e->k; k++) {
        int64_t n = e->start[k + 1] - e->start[k];
        longest = n > longest ? n : longest;
    }
    float *asked = ck_alloc_array((size_t)longest, sizeof *asked);
    struct leader *leader = ck_alloc_array((size_t)e->n, sizeof *leader);
    if (!asked || !leader)
        goto done;
    for (int64_t i = 0; i < e->n; i++)
        leader[i] = find_leader(e, i);
    memset(e->state, 1, (size_t)e->k); /* 1 = to be visited: a neighbouring price moved */
    for (int i = 0; i < sweeps && moved; i++)
        CK_TRY(sweep(e, leader, asked, &moved));
    ck_exact_take_labels(e);
    rc = COKE_OK;
done:
    memset(e->state, 0, (size_t)e->k);
    ck_free(asked);
    ck_free(leader);
    return rc;
}
