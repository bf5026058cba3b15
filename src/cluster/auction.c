/* auction.c - sizes within their bounds by an auction in which clusters bid for points.
 *
 * A cluster that lacks points claims the cheapest ones from the others and raises its price to
 * what they cost plus epsilon; who loses points to it may claim in turn. A cluster with points to
 * spare at a price above its rest price lowers the price and releases points to their second
 * choices. Prices first only fall, then only rise, so that both end. As each point moves by
 * itself, equal points spread over centers that tie, which no price alone could bring about.
 *
 * Two clusters that compete for the same points raise their prices by epsilon at a time; epsilon
 * therefore doubles with the visits to a cluster. Phases start from the prices of the phase
 * before, which are nearly right, with the small epsilon again. (Bertsekas, Auction algorithms;
 * here the clusters bid, because bounds from below are theirs.) */
#include "cluster/auction.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

enum {
    PHASES = 4,
    PATIENCE = 6, /* visits to a cluster after which its epsilon doubles */
    DOUBLINGS = 30,
};

struct bid {
    float cost; /* price at which the point would change sides */
    int32_t into;
    int64_t arc;
};

struct auction {
    struct ck_exact *e;
    double epsilon;
    struct bid *bid;      /* [longest list of arcs] */
    int32_t *queue;       /* [k] ring of clusters to visit */
    int64_t head, queued; /* first entry, entries */
    int32_t *visits;      /* [k] in this phase */
    int64_t end;          /* in arcs scanned */
};

static int64_t upper(const struct ck_exact *e, int64_t k)
{
    return e->max_size ? e->max_size[k] : INT64_MAX / 4;
}

static void enqueue(struct auction *u, int64_t k)
{
    if (u->e->state[k])
        return;
    u->e->state[k] = 1;
    u->queue[(u->head + u->queued++) % u->e->k] = (int32_t)k;
}

static int64_t dequeue(struct auction *u)
{
    int64_t k = u->queue[u->head];
    u->head = (u->head + 1) % u->e->k;
    u->queued--;
    u->e->state[k] = 0;
    return k;
}

/* Brings the `count` cheapest bids to the front. */
static void select_cheapest(struct bid *v, int64_t n, int64_t count)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        float pivot = v[(low + high) / 2].cost;
        int64_t i = low, j = high;
        while (i <= j) {
            while (v[i].cost < pivot)
                i++;
            while (v[j].cost > pivot)
                j--;
            if (i <= j) {
                struct bid t = v[i];
                v[i++] = v[j];
                v[j--] = t;
            }
        }
        if (count - 1 <= j)
            high = j;
        else if (count - 1 >= i)
            low = i;
        else
            break;
    }
}

/* Halfway between the last of the first `count` bids and the first of the others. */
static double middle(const struct bid *v, int64_t n, int64_t count)
{
    float last = -INFINITY, next = INFINITY;
    for (int64_t i = 0; i < count; i++)
        last = v[i].cost > last ? v[i].cost : last;
    for (int64_t i = count; i < n; i++)
        next = v[i].cost < next ? v[i].cost : next;
    return next < INFINITY ? ((double)last + (double)next) / 2 : (double)last;
}

static void relabel(struct ck_exact *e, int64_t i, int32_t k, float score)
{
    e->size[e->label[i]]--;
    e->size[k]++;
    e->label[i] = k;
    e->score[i] = score;
}

/* How far a price moves beyond what the points cost; room: from the price to its limit. */
static double step_of(const struct auction *u, int64_t k, double room)
{
    int doublings = u->visits[k] / PATIENCE;
    double step = ldexp(u->epsilon, doublings < DOUBLINGS ? doublings : DOUBLINGS);
    return fmax(u->epsilon, fmin(step, room / 8));
}

/* ---- falling prices ---- */

/* Of the choices of point i but `not`, the one with the best value; among those within epsilon of
 * it the one whose cluster lacks most points. Returns its index. */
static int64_t best_choice(const struct auction *u, int64_t i, int64_t not, double *value)
{
    const struct ck_exact *e = u->e;
    double best = -INFINITY;
    int64_t chosen = -1, most = INT64_MIN;
    for (int64_t c = e->first[i]; c < e->first[i + 1]; c++)
        if (e->choice[c].k != not )
            best = fmax(best, (double)e->choice[c].score + e->price[e->choice[c].k]);
    for (int64_t c = e->first[i]; c < e->first[i + 1]; c++) {
        int32_t k = e->choice[c].k;
        int64_t lack = e->min_size[k] - e->size[k];
        if (k == not || (double)e->choice[c].score + e->price[k] < best - u->epsilon)
            continue;
        if (lack > most) {
            most = lack;
            chosen = c;
        }
    }
    *value = best;
    return chosen;
}

/* Points beyond what cluster k should have at its price. */
static int64_t surplus(const struct ck_exact *e, int64_t k)
{
    if (e->price[k] <= e->low[k])
        return 0;
    return e->size[k] - (e->price[k] > ck_exact_rest(e, k) ? e->min_size[k] : upper(e, k));
}

/* Lowers the price of k until its surplus leaves, to the rest price or the edge at most. */
static void release(struct auction *u, int64_t k)
{
    struct ck_exact *e = u->e;
    int64_t many = surplus(e, k), n = 0;
    double floor = e->price[k] > ck_exact_rest(e, k) ? ck_exact_rest(e, k) : e->low[k], second;
    e->scanned += e->start[k + 1] - e->start[k];
    for (int64_t a = e->start[k]; a < e->start[k + 1]; a++) {
        int32_t i = e->arc[a].point;
        if (e->label[i] != k)
            continue;
        int64_t c = best_choice(u, i, k, &second);
        e->scanned += e->first[i + 1] - e->first[i];
        /* the fall of the price at which i leaves */
        double fall = (double)e->score[i] + e->price[k] - second;
        if (c >= 0 && fall <= e->price[k] - floor)
            u->bid[n++] = (struct bid){(float)fall, (int32_t)(c - e->first[i]), a};
    }
    int64_t leave = n < many ? n : many;
    if (leave > 0 && leave < n)
        select_cheapest(u->bid, n, leave);
    double fall = n <= many ? e->price[k] - floor : middle(u->bid, n, leave);
    e->price[k] = fmax(floor, e->price[k] - fmax(0, fall) - step_of(u, k, e->price[k] - floor));
    u->visits[k]++;
    for (int64_t b = 0; b < leave; b++) {
        int32_t i = e->arc[u->bid[b].arc].point;
        /* spread points that tie: the sizes have changed since the bid */
        int64_t c = best_choice(u, i, k, &second);
        relabel(e, i, e->choice[c].k, e->choice[c].score);
        if (surplus(e, e->choice[c].k) > 0)
            enqueue(u, e->choice[c].k);
    }
    if (leave > 0 && surplus(e, k) > 0)
        enqueue(u, k);
}

/* ---- rising prices ---- */

/* Points that cluster k should have, but lacks, at its price. */
static int64_t lack(const struct ck_exact *e, int64_t k)
{
    return (e->price[k] < ck_exact_rest(e, k) ? upper(e, k) : e->min_size[k]) - e->size[k];
}

/* Bids for all points that k could win below `limit`: those of clusters that would then lack
 * points cost epsilon more. At the edge of the box only what others can spare may be taken. */
static int64_t collect(struct auction *u, int64_t k, double limit)
{
    struct ck_exact *e = u->e;
    int64_t n = 0;
    e->scanned += e->start[k + 1] - e->start[k];
    for (int64_t a = e->start[k]; a < e->start[k + 1]; a++) {
        int32_t i = e->arc[a].point, from = e->label[i];
        double cost = (double)e->score[i] - (double)e->arc[a].score + e->price[from];
        cost += e->size[from] <= e->min_size[from] ? u->epsilon : 0;
        if (from != k && cost <= limit)
            u->bid[n++] = (struct bid){(float)cost, from, a};
    }
    return n;
}

static void claim(struct auction *u, int64_t k)
{
    struct ck_exact *e = u->e;
    int below = e->price[k] < ck_exact_rest(e, k);
    double limit = below ? ck_exact_rest(e, k) : e->high[k];
    double step = step_of(u, k, limit - e->price[k]);
    int64_t need = lack(e, k), n = collect(u, k, limit - (below ? 0 : step));
    int64_t take = n < need ? n : need;
    if (take > 0 && take < n)
        select_cheapest(u->bid, n, take);
    double price = n <= need ? limit : middle(u->bid, n, take) + step;
    e->price[k] = fmin(limit, fmax(price, e->price[k]));
    u->visits[k]++;
    for (int64_t b = 0; b < take; b++) {
        const struct ck_arc *arc = &e->arc[u->bid[b].arc];
        int32_t from = e->label[arc->point];
        relabel(e, arc->point, (int32_t)k, arc->score);
        if (lack(e, from) > 0 && e->price[from] < e->high[from])
            enqueue(u, from);
    }
    if (lack(e, k) > 0 && below)
        enqueue(u, k);
}

/* ---- phases ---- */

static int drain(struct auction *u, void (*visit)(struct auction *, int64_t),
                 int64_t (*asked)(const struct ck_exact *, int64_t))
{
    struct ck_exact *e = u->e;
    for (int64_t k = 0; k < e->k; k++)
        if (asked(e, k) > 0)
            enqueue(u, k);
    while (u->queued > 0) {
        int64_t k = dequeue(u);
        if (e->scanned < u->end && asked(e, k) > 0)
            visit(u, k);
        CK_RETURN_IF(ck_exact_poll(e));
    }
    return COKE_OK;
}

/* Points whose label is more than epsilon behind their best get that. */
static void settle(struct auction *u)
{
    struct ck_exact *e = u->e;
    for (int64_t i = 0; i < e->n; i++) {
        double best;
        int64_t c = best_choice(u, i, -1, &best);
        if ((double)e->score[i] + e->price[e->label[i]] < best - u->epsilon)
            relabel(e, i, e->choice[c].k, e->choice[c].score);
    }
}

static int64_t longest(const struct ck_exact *e)
{
    int64_t most = 1;
    for (int64_t k = 0; k < e->k; k++)
        if (e->start[k + 1] - e->start[k] > most)
            most = e->start[k + 1] - e->start[k];
    return most;
}

/* A phase whose steps did not grow is the last: its labels are within epsilon. */
static int run_phase(struct auction *u, int *grew)
{
    struct ck_exact *e = u->e;
    memset(u->visits, 0, (size_t)e->k * sizeof *u->visits);
    settle(u);
    CK_RETURN_IF(drain(u, release, surplus));
    memset(u->visits, 0, (size_t)e->k * sizeof *u->visits);
    CK_RETURN_IF(drain(u, claim, lack));
    *grew = 0;
    for (int64_t k = 0; k < e->k; k++)
        *grew |= u->visits[k] >= PATIENCE;
    return COKE_OK;
}

int ck_auction_run(struct ck_exact *e, double epsilon, int64_t work)
{
    struct auction u = {.e = e, .epsilon = epsilon};
    int rc = COKE_OK, grew = 1;
    u.end = e->scanned + work;
    u.bid = ck_alloc_array((size_t)longest(e), sizeof *u.bid);
    u.queue = ck_calloc_array((size_t)e->k, sizeof *u.queue);
    u.visits = ck_calloc_array((size_t)e->k, sizeof *u.visits);
    if (!u.bid || !u.queue || !u.visits)
        CK_LEAVE(COKE_ENOMEM);
    memset(e->state, 0, (size_t)e->k);
    memcpy(e->size, e->base, (size_t)e->k * sizeof *e->size);
    for (int64_t i = 0; i < e->n; i++)
        e->size[e->label[i]]++;
    for (int phase = 0; phase < PHASES && grew && e->scanned < u.end; phase++)
        CK_TRY(run_phase(&u, &grew));
done:
    memset(e->state, 0, (size_t)e->k);
    ck_free(u.bid);
    ck_free(u.queue);
    ck_free(u.visits);
    return rc;
}
