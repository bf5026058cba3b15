/* exact.c - min-cost flow specialised to cluster sizes: successive shortest paths.
 *
 * Nodes are the clusters and a pool. Moving point i from k to l costs
 *     s(i,k) - s(i,l) + price_k - price_l  >= 0,
 * a cluster above its minimum size sends the surplus to the pool at price_k - price_pool. At the
 * start every flow whose cost is not 0 is taken back, which leaves some nodes with a surplus and
 * others with a deficit. Each search then runs backwards from a node with a deficit to the
 * nearest one with a surplus (Dijkstra), raises prices by the distance, and moves one point per
 * hop. */
#include "cluster/exact.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"

#include <math.h>
#include <string.h>

struct ck_heap_item {
    double dist;
    int32_t node;
};

enum { UNSEEN, OPEN, CLOSED };

enum { AHEAD = 16 }; /* prefetch distance in arcs */

static const int64_t PLENTY = INT64_MAX / 4;

int ck_exact_init(struct ck_exact *e, int64_t k, const int64_t *min_size,
                  const int64_t *max_size)
{
    memset(e, 0, sizeof *e);
    e->k = k;
    e->min_size = min_size;
    e->max_size = max_size;
    size_t nodes = (size_t)k + 1;
    e->price = ck_calloc_array(nodes, sizeof *e->price);
    e->low = ck_calloc_array(nodes, sizeof *e->low);
    e->high = ck_calloc_array(nodes, sizeof *e->high);
    e->size = ck_calloc_array(nodes, sizeof *e->size);
    e->above = ck_calloc_array(nodes, sizeof *e->above);
    e->over = ck_calloc_array(nodes, sizeof *e->over);
    e->fake = ck_calloc_array(nodes, sizeof *e->fake);
    e->excess = ck_calloc_array(nodes, sizeof *e->excess);
    e->node_price = ck_calloc_array(nodes, sizeof *e->node_price);
    e->dist = ck_calloc_array(nodes, sizeof *e->dist);
    e->next = ck_calloc_array(nodes, sizeof *e->next);
    e->moves = ck_calloc_array(nodes, sizeof *e->moves);
    e->state = ck_calloc_array(nodes, sizeof *e->state);
    e->seen = ck_calloc_array(nodes, sizeof *e->seen);
    if (e->price && e->low && e->high && e->size && e->above && e->over && e->fake &&
        e->excess && e->node_price && e->dist && e->next && e->moves && e->state && e->seen)
        return COKE_OK;
    ck_exact_release(e);
    return COKE_ENOMEM;
}

void ck_exact_release(struct ck_exact *e)
{
    ck_free(e->price);
    ck_free(e->low);
    ck_free(e->high);
    ck_free(e->size);
    ck_free(e->above);
    ck_free(e->over);
    ck_free(e->fake);
    ck_free(e->excess);
    ck_free(e->node_price);
    ck_free(e->dist);
    ck_free(e->next);
    ck_free(e->moves);
    ck_free(e->state);
    ck_free(e->seen);
    ck_free(e->heap);
    memset(e, 0, sizeof *e);
}

/* ---- flows between a cluster and the pool ---- */

static int64_t room_above(const struct ck_exact *e, int64_t k)
{
    return (e->max_size ? e->max_size[k] : PLENTY) - e->min_size[k];
}

/* The price at which a size between min_size and max_size is neither gain nor loss: 0, or the
 * edge of the box nearest to 0. */
double ck_exact_rest(const struct ck_exact *e, int64_t k)
{
    return e->low[k] > 0 ? e->low[k] : e->high[k] < 0 ? e->high[k] : 0;
}

/* The cheapest unit that cluster k can still send to the pool (sell), or call back (buy): its
 * price, the flow it changes, and how many there are. Prices rise in the order over, above,
 * fake. */
struct exchange {
    double price;
    int64_t *flow;
    int64_t room;
};

static struct exchange sell(const struct ck_exact *e, int64_t k)
{
    if (e->fake[k] > 0)
        return (struct exchange){e->high[k], &e->fake[k], e->fake[k]};
    if (e->above[k] < room_above(e, k))
        return (struct exchange){ck_exact_rest(e, k), &e->above[k],
                                 room_above(e, k) - e->above[k]};
    return (struct exchange){e->low[k], &e->over[k], PLENTY};
}

static struct exchange buy(const struct ck_exact *e, int64_t k)
{
    if (e->over[k] > 0)
        return (struct exchange){e->low[k], &e->over[k], e->over[k]};
    if (e->above[k] > 0)
        return (struct exchange){ck_exact_rest(e, k), &e->above[k], e->above[k]};
    return (struct exchange){e->high[k], &e->fake[k], PLENTY};
}

/* Sets flows that agree with the prices (complementary slackness) and the excess they leave.
 * O(n + k). */
static void balance(struct ck_exact *e)
{
    int64_t lowest = 0, flow = 0, points = 0;
    memcpy(e->size, e->base, (size_t)e->k * sizeof *e->size);
    for (int64_t i = 0; i < e->n; i++)
        e->size[e->label[i]]++;
    for (int64_t k = 0; k < e->k; k++) {
        int64_t room = room_above(e, k), over = e->size[k] - e->min_size[k];
        points += e->size[k];
        lowest += e->min_size[k];
        e->node_price[k] = e->price[k];
        e->over[k] = e->fake[k] = 0;
        if (e->price[k] > ck_exact_rest(e, k))
            e->above[k] = 0;
        else if (e->price[k] < ck_exact_rest(e, k))
            e->above[k] = room;
        else
            e->above[k] = over < 0 ? 0 : over > room ? room : over;
        e->excess[k] = over - e->above[k];
        flow += e->above[k];
    }
    e->node_price[e->k] = 0;
    e->excess[e->k] = flow - (points - lowest);
}

/* ---- the heap: smallest distance first, then the lowest node ---- */

static int before(struct ck_heap_item a, struct ck_heap_item b)
{
    return a.dist < b.dist || (a.dist == b.dist && a.node < b.node);
}

static int push(struct ck_exact *e, double dist, int32_t node)
{
    CK_RETURN_IF(CK_VEC_RESERVE(e->heap, e->room, e->nheap + 1));
    struct ck_heap_item it = {dist, node};
    int64_t at = e->nheap++;
    for (; at > 0 && before(it, e->heap[(at - 1) / 2]); at = (at - 1) / 2)
        e->heap[at] = e->heap[(at - 1) / 2];
    e->heap[at] = it;
    return COKE_OK;
}

static struct ck_heap_item pop(struct ck_exact *e)
{
    struct ck_heap_item top = e->heap[0], last = e->heap[--e->nheap];
    int64_t at = 0;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= e->nheap)
            break;
        if (child + 1 < e->nheap && before(e->heap[child + 1], e->heap[child]))
            child++;
        if (!before(e->heap[child], last))
            break;
        e->heap[at] = e->heap[child];
        at = child;
    }
    e->heap[at] = last;
    return top;
}

/* ---- one search ---- */

struct search {
    double limit; /* distance of the nearest node with a surplus so far */
    int32_t source;
};

/* Relaxes the edge from -> to (the search runs backwards). Nodes beyond the limit are never
 * pushed. */
static int reach(struct ck_exact *e, struct search *s, int64_t from, int64_t to, double dist,
                 int64_t arc)
{
    if (dist >= s->limit || e->state[from] == CLOSED ||
        (e->state[from] == OPEN && dist >= e->dist[from]))
        return COKE_OK;
    if (e->state[from] == UNSEEN) {
        e->state[from] = OPEN;
        e->seen[e->nseen++] = (int32_t)from;
    }
    e->dist[from] = dist;
    e->next[from] = (int32_t)to;
    e->moves[from] = arc;
    if (e->excess[from] > 0) {
        s->limit = dist;
        s->source = (int32_t)from;
        return COKE_OK; /* the path ends here: no need to expand it */
    }
    return push(e, dist, (int32_t)from);
}

/* Rounding may leave a cost slightly below 0. */
static double no_less_than_zero(double cost)
{
    return cost > 0 ? cost : 0;
}

/* Edges from every cluster into the pool: O(k). */
static int scan_pool(struct ck_exact *e, struct search *s, double dist)
{
    int rc = COKE_OK;
    for (int64_t k = 0; k < e->k && !rc; k++) {
        double cost = e->node_price[k] - e->node_price[e->k] - sell(e, k).price;
        rc = reach(e, s, k, e->k, dist + no_less_than_zero(cost), -1);
    }
    return rc;
}

/* Edges into cluster `to`: from the pool, and from the present cluster of each point that has
 * an arc to it. */
static int scan_cluster(struct ck_exact *e, struct search *s, int64_t to, double dist)
{
    double price = e->node_price[to];
    double cost = buy(e, to).price + e->node_price[e->k] - price;
    int rc = reach(e, s, e->k, to, dist + no_less_than_zero(cost), -1);
    if (s->limit <= dist)
        return rc;
    e->scanned += e->start[to + 1] - e->start[to];
    for (int64_t a = e->start[to]; a < e->start[to + 1] && !rc; a++) {
        int32_t i = e->arc[a].point;
        int32_t from = e->label[i];
        if (from == to)
            continue;
        cost = (double)e->score[i] - (double)e->arc[a].score + e->node_price[from] - price;
        rc = reach(e, s, from, to, dist + no_less_than_zero(cost), a);
    }
    return rc;
}

static void forget_search(struct ck_exact *e)
{
    for (int64_t i = 0; i < e->nseen; i++)
        e->state[e->seen[i]] = UNSEEN;
    e->nseen = e->nheap = 0;
}

/* Raises the prices of the nodes nearer than `reached` by the difference, which keeps all
 * reduced costs >= 0. */
static void raise_prices(struct ck_exact *e, double reached)
{
    for (int64_t i = 0; i < e->nseen; i++) {
        int32_t v = e->seen[i];
        if (e->dist[v] < reached)
            e->node_price[v] += reached - e->dist[v];
    }
}

/* Units that fit through the path: one if it moves a point, many if it only exchanges with the
 * pool. */
static int64_t path_room(const struct ck_exact *e, int32_t source, int32_t sink)
{
    int64_t room = e->excess[source] < -e->excess[sink] ? e->excess[source] : -e->excess[sink];
    for (int32_t v = source; v != sink && room > 1; v = e->next[v]) {
        if (v != e->k && e->next[v] != e->k)
            return 1;
        int64_t there = v == e->k ? buy(e, e->next[v]).room : sell(e, v).room;
        room = there < room ? there : room;
    }
    return room;
}

/* Selling undoes `fake`, buying undoes `above` and `over`. */
static void exchange_units(struct exchange x, const int64_t *fake, int sells, int64_t units)
{
    int undoes = sells ? x.flow == fake : x.flow != fake;
    *x.flow += undoes ? -units : units;
}

static void move_along(struct ck_exact *e, int32_t source, int32_t sink)
{
    int64_t units = path_room(e, source, sink);
    e->excess[source] -= units;
    e->excess[sink] += units;
    for (int32_t v = source; v != sink; v = e->next[v]) {
        int32_t to = e->next[v];
        if (v == e->k) {
            exchange_units(buy(e, to), &e->fake[to], 0, units);
        } else if (to == e->k) {
            exchange_units(sell(e, v), &e->fake[v], 1, units);
        } else {
            const struct ck_arc *arc = &e->arc[e->moves[v]];
            e->label[arc->point] = to;
            e->score[arc->point] = arc->score;
            e->size[v]--;
            e->size[to]++;
        }
    }
}

/* Brings at least one unit to `sink`. Every node can reach the pool, and a surplus exists as
 * long as there is a deficit, so a path always exists. */
static int augment(struct ck_exact *e, int32_t sink)
{
    struct search s = {.limit = INFINITY, .source = -1};
    e->dist[sink] = 0;
    e->state[sink] = OPEN;
    e->seen[e->nseen++] = sink;
    int rc = push(e, 0, sink);
    while (!rc && e->nheap > 0) {
        struct ck_heap_item top = pop(e);
        if (top.dist >= s.limit)
            break;
        if (e->state[top.node] == CLOSED)
            continue;
        e->state[top.node] = CLOSED;
        rc = top.node == e->k ? scan_pool(e, &s, top.dist)
                              : scan_cluster(e, &s, top.node, top.dist);
    }
    if (!rc && s.source < 0)
        rc = ck_fail(COKE_EFAIL, "repair: no path to cluster %d", sink);
    if (!rc) {
        raise_prices(e, s.limit);
        move_along(e, s.source, sink);
    }
    e->searches++;
    forget_search(e);
    return rc;
}

/* Satisfies all deficits. */
static int augment_all(struct ck_exact *e)
{
    enum { BETWEEN_POLLS = 1 << 22 };
    int64_t next = e->scanned + BETWEEN_POLLS;
    for (int64_t v = 0; v <= e->k; v++)
        while (e->excess[v] < 0) {
            CK_RETURN_IF(augment(e, (int32_t)v));
            if (e->poll && e->scanned >= next) {
                CK_RETURN_IF(e->poll(e->poll_arg));
                next = e->scanned + BETWEEN_POLLS;
            }
        }
    return COKE_OK;
}

/* ---- approach: one price at a time ---- */

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
    int64_t low = e->min_size[k] - e->base[k], high = low + room_above(e, k);
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

int ck_exact_approach(struct ck_exact *e, int sweeps)
{
    int rc = COKE_ENOMEM;
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
    for (int sweep = 0, moved = 1; sweep < sweeps && moved; sweep++) {
        moved = 0;
        for (int64_t k = 0; k < e->k; k++) {
            if (!e->state[k])
                continue;
            e->state[k] = 0;
            double price = right_price(e, k, leader, asked);
            if (fabs(price - e->price[k]) < 1e-9)
                continue;
            moved = 1;
            set_price(e, k, price, leader);
        }
    }
    memset(e->state, UNSEEN, (size_t)e->k);
    ck_exact_take_labels(e);
    rc = COKE_OK;
done:
    ck_free(asked);
    ck_free(leader);
    return rc;
}

/* ---- solution ---- */

/* Prices relative to the pool's; values that only rounding keeps from zero become zero. */
static void publish_prices(struct ck_exact *e)
{
    for (int64_t k = 0; k < e->k; k++) {
        double p = e->node_price[k] - e->node_price[e->k];
        e->price[k] = fabs(p) < 1e-9 ? 0 : p;
    }
}

/* Does an edge of the box limit a price? While sizes are not exact yet, being at an edge is
 * enough. Without upper bounds a price of 0 is no edge: prices are never negative. */
int ck_exact_at_edge(const struct ck_exact *e, int64_t k)
{
    if (e->price[k] >= e->high[k])
        return 1;
    return e->price[k] <= e->low[k] && (e->max_size || e->low[k] > 0) ? -1 : 0;
}

int ck_exact_at_edges(const struct ck_exact *e)
{
    int any = 0;
    for (int64_t k = 0; k < e->k; k++)
        any |= ck_exact_at_edge(e, k) != 0;
    return any;
}

/* Fake or surplus units in the solution mean that the pool filled a gap at an edge price: then
 * the optimum lies outside the box. */
int ck_exact_solve(struct ck_exact *e, int *inside)
{
    balance(e);
    int rc = augment_all(e);
    publish_prices(e);
    *inside = 1;
    for (int64_t k = 0; k < e->k; k++)
        if (e->fake[k] || e->over[k] || (ck_exact_rest(e, k) > 0 && e->above[k] > 0) ||
            (ck_exact_rest(e, k) < 0 && e->above[k] < room_above(e, k)))
            *inside = 0;
    return rc;
}
