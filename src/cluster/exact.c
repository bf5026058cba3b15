/* exact.c - min-cost flow specialised to cluster sizes: successive shortest paths.
 *
 * Nodes are the clusters and a pool. Moving point i from k to l costs
 *     s(i,k) - s(i,l) + price_k - price_l  >= 0,
 * a cluster above its minimum size sends the surplus to the pool at price_k - price_pool. At the
 * start every flow whose cost is not 0 is taken back, which leaves some nodes with a surplus and
 * others with a deficit. Each search then runs backwards from a node with a deficit to the
 * nearest one with a surplus (Dijkstra), raises prices by the distance, and moves one point per
 * hop.
 *
 * A crowd is a node of its own, whose price is the best value v of its points. A point leaves
 * cluster k for the crowd at s(k) + price_k - v, which is 0 where the crowd is, and goes on to l at
 * v - s(l) - price_l: so any number of its points moves at once. */
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

static const int64_t PLENTY = INT64_MAX / 4;

/* ---- memory ---- */

static void free_nodes(struct ck_exact *e)
{
    ck_free(e->excess);
    ck_free(e->node_price);
    ck_free(e->dist);
    ck_free(e->next);
    ck_free(e->moves);
    ck_free(e->state);
    ck_free(e->seen);
}

/* Room for the nodes that the problem has now. */
static int reserve_nodes(struct ck_exact *e)
{
    size_t nodes = (size_t)(e->k + 1 + e->crowds);
    if (e->nodes >= (int64_t)nodes)
        return COKE_OK;
    free_nodes(e);
    e->excess = ck_calloc_array(nodes, sizeof *e->excess);
    e->node_price = ck_calloc_array(nodes, sizeof *e->node_price);
    e->dist = ck_calloc_array(nodes, sizeof *e->dist);
    e->next = ck_calloc_array(nodes, sizeof *e->next);
    e->moves = ck_calloc_array(nodes, sizeof *e->moves);
    e->state = ck_calloc_array(nodes, sizeof *e->state);
    e->seen = ck_calloc_array(nodes, sizeof *e->seen);
    int ok =
        e->excess && e->node_price && e->dist && e->next && e->moves && e->state && e->seen;
    e->nodes = ok ? (int64_t)nodes : 0;
    return ok ? COKE_OK : COKE_ENOMEM;
}

int ck_exact_init(struct ck_exact *e, int64_t k, const int64_t *min_size,
                  const int64_t *max_size)
{
    memset(e, 0, sizeof *e);
    e->k = k;
    e->min_size = min_size;
    e->max_size = max_size;
    size_t n = (size_t)k + 1;
    e->price = ck_calloc_array(n, sizeof *e->price);
    e->low = ck_calloc_array(n, sizeof *e->low);
    e->high = ck_calloc_array(n, sizeof *e->high);
    e->size = ck_calloc_array(n, sizeof *e->size);
    e->above = ck_calloc_array(n, sizeof *e->above);
    e->over = ck_calloc_array(n, sizeof *e->over);
    e->fake = ck_calloc_array(n, sizeof *e->fake);
    if (e->price && e->low && e->high && e->size && e->above && e->over && e->fake &&
        !reserve_nodes(e))
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
    free_nodes(e);
    ck_free(e->heap);
    memset(e, 0, sizeof *e);
}

int ck_exact_poll(struct ck_exact *e)
{
    enum { BETWEEN = 1 << 22 };
    if (!e->poll || e->scanned < e->next_poll)
        return COKE_OK;
    e->next_poll = e->scanned + BETWEEN;
    return e->poll(e->poll_arg);
}

/* ---- flows between a cluster and the pool ---- */

int64_t ck_exact_room_above(const struct ck_exact *e, int64_t k)
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
    if (e->above[k] < ck_exact_room_above(e, k))
        return (struct exchange){ck_exact_rest(e, k), &e->above[k],
                                 ck_exact_room_above(e, k) - e->above[k]};
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

double ck_exact_crowd_value(const struct ck_exact *e, int64_t i)
{
    const float *score = e->crowd_score + i * e->k;
    double best = -INFINITY;
    for (int64_t k = 0; k < e->k; k++)
        best = fmax(best, (double)score[k] + e->price[k]);
    return best;
}

/* All points of crowd i that are not in a best cluster go to one. */
static void gather_crowd(struct ck_exact *e, int64_t i)
{
    const float *score = e->crowd_score + i * e->k;
    int64_t *given = e->given + i * e->k, best = 0;
    double value = ck_exact_crowd_value(e, i);
    while ((double)score[best] + e->price[best] < value)
        best++;
    for (int64_t k = 0; k < e->k; k++)
        if ((double)score[k] + e->price[k] < value) {
            given[best] += given[k];
            given[k] = 0;
        }
    for (int64_t k = 0; k < e->k; k++)
        e->size[k] += given[k];
    e->node_price[e->k + 1 + i] = value;
    e->excess[e->k + 1 + i] = 0;
}

/* Sets flows that agree with the prices (complementary slackness) and the excess they leave.
 * O(n + k), and k for each crowd. */
static void balance(struct ck_exact *e)
{
    int64_t lowest = 0, flow = 0, points = 0;
    memcpy(e->size, e->base, (size_t)e->k * sizeof *e->size);
    for (int64_t i = 0; i < e->n; i++)
        e->size[e->label[i]]++;
    for (int64_t i = 0; i < e->crowds; i++)
        gather_crowd(e, i);
    for (int64_t k = 0; k < e->k; k++) {
        int64_t room = ck_exact_room_above(e, k), over = e->size[k] - e->min_size[k];
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
    e->scanned += e->k;
    return rc;
}

/* Edges from the clusters that have points of a crowd into its node: O(k). */
static int scan_crowd(struct ck_exact *e, struct search *s, int64_t node, double dist)
{
    int64_t at = (node - e->k - 1) * e->k;
    int rc = COKE_OK;
    for (int64_t k = 0; k < e->k && !rc; k++) {
        if (e->given[at + k] == 0)
            continue;
        double cost = (double)e->crowd_score[at + k] + e->node_price[k] - e->node_price[node];
        rc = reach(e, s, k, node, dist + no_less_than_zero(cost), -1);
    }
    e->scanned += e->k;
    return rc;
}

/* Edges into cluster `to`: from the pool, the crowds, and the present cluster of each point that
 * has an arc to it. */
static int scan_cluster(struct ck_exact *e, struct search *s, int64_t to, double dist)
{
    double price = e->node_price[to];
    double cost = buy(e, to).price + e->node_price[e->k] - price;
    int rc = reach(e, s, e->k, to, dist + no_less_than_zero(cost), -1);
    if (s->limit <= dist)
        return rc;
    for (int64_t i = 0; i < e->crowds && !rc; i++) {
        int64_t node = e->k + 1 + i;
        cost = e->node_price[node] - (double)e->crowd_score[i * e->k + to] - price;
        rc = reach(e, s, node, to, dist + no_less_than_zero(cost), -1);
    }
    e->scanned += e->crowds + e->start[to + 1] - e->start[to];
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

/* Points of the crowd `node` in cluster k. */
static int64_t *given_to(const struct ck_exact *e, int64_t node, int64_t k)
{
    return &e->given[(node - e->k - 1) * e->k + k];
}

/* Units that fit through the edge from v to `to`: one if it moves a point, many if it exchanges
 * with the pool or moves points of a crowd. */
static int64_t edge_room(const struct ck_exact *e, int64_t v, int64_t to)
{
    if (v > e->k)
        return PLENTY;
    if (to > e->k)
        return *given_to(e, to, v);
    if (v == e->k)
        return buy(e, to).room;
    return to == e->k ? sell(e, v).room : 1;
}

/* Units that fit through all edges of the path. */
static int64_t path_room(const struct ck_exact *e, int32_t source, int32_t sink)
{
    int64_t room = e->excess[source] < -e->excess[sink] ? e->excess[source] : -e->excess[sink];
    for (int32_t v = source; v != sink && room > 1; v = e->next[v]) {
        int64_t there = edge_room(e, v, e->next[v]);
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
        } else if (to > e->k) {
            *given_to(e, to, v) -= units;
            e->size[v] -= units;
        } else if (v > e->k) {
            *given_to(e, v, to) += units;
            e->size[to] += units;
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
        rc = top.node == e->k  ? scan_pool(e, &s, top.dist)
             : top.node > e->k ? scan_crowd(e, &s, top.node, top.dist)
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
    for (int64_t v = 0; v <= e->k; v++)
        while (e->excess[v] < 0) {
            CK_RETURN_IF(augment(e, (int32_t)v));
            CK_RETURN_IF(ck_exact_poll(e));
        }
    return COKE_OK;
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
    CK_RETURN_IF(reserve_nodes(e));
    balance(e);
    int rc = augment_all(e);
    publish_prices(e);
    *inside = 1;
    for (int64_t k = 0; k < e->k; k++)
        if (e->fake[k] || e->over[k] || (ck_exact_rest(e, k) > 0 && e->above[k] > 0) ||
            (ck_exact_rest(e, k) < 0 && e->above[k] < ck_exact_room_above(e, k)))
            *inside = 0;
    return rc;
}
