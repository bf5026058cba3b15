/* exact.c - min-cost flow specialised to sizes of clusters: successive shortest paths.
 *
 * Nodes are the clusters and a pool. Moving point i from k to l costs
 *     s(i,k) - s(i,l) + price_k - price_l  >= 0,
 * a cluster above its least size sends the surplus to the pool at price_k - price_pool. At the
 * start every flow whose cost is not 0 is taken back, which leaves some nodes with too much and
 * others with too little; each search then goes backwards from a node in need to the nearest
 * one with too much, raises prices by the distance, and moves one point per hop. */
#include "cluster/exact.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

struct ck_heap_item {
    double dist;
    int32_t node;
};

enum { UNSEEN, OPEN, CLOSED };

int ck_exact_init(struct ck_exact *e, int64_t k, const int64_t *least, const int64_t *most)
{
    memset(e, 0, sizeof *e);
    e->k = k;
    e->least = least;
    e->most = most;
    size_t nodes = (size_t)k + 1;
    e->price = ck_calloc_array(nodes, sizeof *e->price);
    e->size = ck_calloc_array(nodes, sizeof *e->size);
    e->above = ck_calloc_array(nodes, sizeof *e->above);
    e->excess = ck_calloc_array(nodes, sizeof *e->excess);
    e->node_price = ck_calloc_array(nodes, sizeof *e->node_price);
    e->dist = ck_calloc_array(nodes, sizeof *e->dist);
    e->next = ck_calloc_array(nodes, sizeof *e->next);
    e->moves = ck_calloc_array(nodes, sizeof *e->moves);
    e->state = ck_calloc_array(nodes, sizeof *e->state);
    e->seen = ck_calloc_array(nodes, sizeof *e->seen);
    if (e->price && e->size && e->above && e->excess && e->node_price && e->dist && e->next &&
        e->moves && e->state && e->seen)
        return COKE_OK;
    ck_exact_release(e);
    return COKE_ENOMEM;
}

void ck_exact_release(struct ck_exact *e)
{
    ck_free(e->price);
    ck_free(e->size);
    ck_free(e->above);
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

static int64_t room_above(const struct ck_exact *e, int64_t k)
{
    return (e->most ? e->most[k] : INT64_MAX / 2) - e->least[k];
}

/* Flows that agree with the prices (complementary slackness), and what they leave over. */
static void balance(struct ck_exact *e)
{
    int64_t lowest = 0, flow = 0;
    int64_t points = 0;
    memcpy(e->size, e->base, (size_t)e->k * sizeof *e->size);
    for (int64_t i = 0; i < e->n; i++)
        e->size[e->label[i]]++;
    for (int64_t k = 0; k < e->k; k++) {
        int64_t most = room_above(e, k), over = e->size[k] - e->least[k];
        points += e->size[k];
        lowest += e->least[k];
        e->node_price[k] = e->price[k];
        if (e->price[k] > 0)
            e->above[k] = 0;
        else if (e->price[k] < 0)
            e->above[k] = most;
        else
            e->above[k] = over < 0 ? 0 : over > most ? most : over;
        e->excess[k] = over - e->above[k];
        flow += e->above[k];
    }
    e->node_price[e->k] = 0;
    e->excess[e->k] = flow - (points - lowest);
}

/* ---- the heap: smallest distance first, then the lowest node --------------------------------
 */

static int before(struct ck_heap_item a, struct ck_heap_item b)
{
    return a.dist < b.dist || (a.dist == b.dist && a.node < b.node);
}

static int push(struct ck_exact *e, double dist, int32_t node)
{
    if (e->nheap == e->room) {
        int64_t room = e->room ? 2 * e->room : 1024;
        void *p = ck_realloc_array(e->heap, (size_t)room, sizeof *e->heap);
        if (!p)
            return COKE_ENOMEM;
        e->heap = p;
        e->room = room;
    }
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

/* ---- one search
 * ---------------------------------------------------------------------------------- */

struct search {
    double limit; /* distance of the nearest node with too much, so far */
    int32_t source;
};

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
        return COKE_OK; /* the path ends here: nothing beyond it is nearer */
    }
    return push(e, dist, (int32_t)from);
}

static int scan_pool(struct ck_exact *e, struct search *s, double dist)
{
    for (int64_t k = 0; k < e->k; k++)
        if (e->above[k] < room_above(e, k)) {
            double cost = e->node_price[k] - e->node_price[e->k];
            int rc = reach(e, s, k, e->k, dist + (cost > 0 ? cost : 0), -1);
            if (rc)
                return rc;
        }
    return COKE_OK;
}

static int scan_cluster(struct ck_exact *e, struct search *s, int64_t to, double dist)
{
    int rc = COKE_OK;
    if (e->above[to] > 0) { /* the pool can hand back what the cluster sent */
        double cost = e->node_price[e->k] - e->node_price[to];
        rc = reach(e, s, e->k, to, dist + (cost > 0 ? cost : 0), -1);
        if (rc || s->limit <= dist)
            return rc;
    }
    double price = e->node_price[to];
    for (int64_t a = e->start[to]; a < e->start[to + 1]; a++) {
        int32_t i = e->arc[a].point;
        int32_t from = e->label[i];
        if (from == to)
            continue;
        double cost =
            (double)e->score[i] - (double)e->arc[a].score + e->node_price[from] - price;
        rc = reach(e, s, from, to, dist + (cost > 0 ? cost : 0), a);
        if (rc)
            return rc;
    }
    return COKE_OK;
}

static void forget_search(struct ck_exact *e)
{
    for (int64_t i = 0; i < e->nseen; i++)
        e->state[e->seen[i]] = UNSEEN;
    e->nseen = e->nheap = 0;
}

/* Prices of the nodes nearer than `reached` rise by the difference. */
static void raise_prices(struct ck_exact *e, double reached)
{
    for (int64_t i = 0; i < e->nseen; i++) {
        int32_t v = e->seen[i];
        if (e->dist[v] < reached)
            e->node_price[v] += reached - e->dist[v];
    }
}

static void move_along(struct ck_exact *e, int32_t source, int32_t sink)
{
    e->excess[source]--;
    e->excess[sink]++;
    for (int32_t v = source; v != sink; v = e->next[v]) {
        int32_t to = e->next[v];
        if (v == e->k) {
            e->above[to]--;
        } else if (to == e->k) {
            e->above[v]++;
        } else {
            const struct ck_arc *arc = &e->arc[e->moves[v]];
            e->label[arc->point] = to;
            e->score[arc->point] = arc->score;
            e->size[v]--;
            e->size[to]++;
        }
    }
    e->augmentations++;
}

/* Brings one unit to `sink`; *stuck = 1 if no node with too much can be reached. */
static int augment(struct ck_exact *e, int32_t sink, double step, int *stuck)
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
    if (!rc && s.source >= 0) {
        raise_prices(e, s.limit);
        move_along(e, s.source, sink);
    } else if (!rc) {
        *stuck = 1;
        for (int64_t i = 0; i < e->nseen; i++)
            e->node_price[e->seen[i]] += step;
    }
    forget_search(e);
    return rc;
}

/* Prices relative to the pool's; what rounding left of a zero is taken away. */
static void publish_prices(struct ck_exact *e)
{
    for (int64_t k = 0; k < e->k; k++) {
        double p = e->node_price[k] - e->node_price[e->k];
        e->price[k] = fabs(p) < 1e-9 ? 0 : p;
    }
}

int ck_exact_solve(struct ck_exact *e, double step, int *stuck)
{
    int rc = COKE_OK;
    *stuck = 0;
    balance(e);
    for (int64_t v = 0; v <= e->k && !rc; v++) {
        int blocked = 0;
        while (e->excess[v] < 0 && !blocked && !rc)
            rc = augment(e, (int32_t)v, step, &blocked);
        *stuck |= blocked;
    }
    publish_prices(e);
    return rc;
}
