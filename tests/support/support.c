/* support.c - the best assignment with sizes, found slowly, to test the fast solver against. */
#include "support.h"

/* Every point in its nearest cluster is the optimum without bounds. Then, as long as a bound
 * is broken, one unit moves along the cheapest path in the graph of clusters (an edge k -> l
 * costs what the cheapest point of k loses by going to l), which keeps the assignment optimal
 * for the sizes it has. A source may give (its size is above what it must keep), a sink may
 * take; at least one of the two ends is there to mend a broken bound. */

struct slow {
    const double *s;
    int64_t n, k;
    const int64_t *least, *most;
    int32_t *label;
    int64_t *size;
    double *cost;   /* [k][k] */
    int64_t *point; /* [k][k] */
    double *dist;
    int64_t *from;
};

static int64_t upper(const struct slow *p, int64_t k)
{
    return p->most ? p->most[k] : p->n;
}

static void price_edges(struct slow *p)
{
    for (int64_t e = 0; e < p->k * p->k; e++)
        p->cost[e] = INFINITY;
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t l = 0; l < p->k; l++) {
            int64_t e = p->label[i] * p->k + l;
            double c = p->s[i * p->k + p->label[i]] - p->s[i * p->k + l];
            if (l != p->label[i] && c < p->cost[e]) {
                p->cost[e] = c;
                p->point[e] = i;
            }
        }
}

/* Cheapest paths from `source` to everywhere (Bellman-Ford). */
static void find_paths(struct slow *p, int64_t source)
{
    for (int64_t v = 0; v < p->k; v++)
        p->dist[v] = v == source ? 0 : INFINITY;
    for (int changed = 1, round = 0; changed && round <= p->k; round++) {
        changed = 0;
        for (int64_t u = 0; u < p->k; u++)
            for (int64_t v = 0; v < p->k; v++)
                if (p->dist[u] + p->cost[u * p->k + v] < p->dist[v] - 1e-13) {
                    p->dist[v] = p->dist[u] + p->cost[u * p->k + v];
                    p->from[v] = u;
                    changed = 1;
                }
    }
}

static int mend_once(struct slow *p, int need_sink)
{
    double best = INFINITY;
    int64_t best_source = -1, best_sink = -1;
    price_edges(p);
    for (int64_t a = 0; a < p->k; a++) {
        int over = p->size[a] > upper(p, a);
        if (need_sink ? p->size[a] <= p->least[a] : !over)
            continue;
        find_paths(p, a);
        for (int64_t b = 0; b < p->k; b++) {
            int under = p->size[b] < p->least[b];
            if (b == a || (need_sink ? !under : p->size[b] >= upper(p, b)))
                continue;
            if (p->dist[b] < best) {
                best = p->dist[b];
                best_source = a;
                best_sink = b;
            }
        }
    }
    if (best_source < 0)
        return 0;
    find_paths(p, best_source);
    int64_t hop[4096], hops = 0;
    for (int64_t v = best_sink; v != best_source; v = p->from[v])
        hop[hops++] = v;
    for (int64_t at = best_source; hops > 0; at = hop[--hops])
        p->label[p->point[at * p->k + hop[hops - 1]]] = (int32_t)hop[hops - 1];
    p->size[best_source]--;
    p->size[best_sink]++;
    return 1;
}

static int count_broken(const struct slow *p, int which)
{
    int broken = 0;
    for (int64_t k = 0; k < p->k; k++)
        broken += which ? p->size[k] < p->least[k] : p->size[k] > upper(p, k);
    return broken;
}

double slow_best(const double *s, int64_t n, int64_t k, const int64_t *least,
                 const int64_t *most, int32_t *label)
{
    struct slow p = {.s = s, .n = n, .k = k, .least = least, .most = most};
    p.label = test_array((size_t)n, sizeof *p.label);
    p.size = test_array((size_t)k, sizeof *p.size);
    p.cost = test_array((size_t)(k * k), sizeof *p.cost);
    p.point = test_array((size_t)(k * k), sizeof *p.point);
    p.dist = test_array((size_t)k, sizeof *p.dist);
    p.from = test_array((size_t)k, sizeof *p.from);
    for (int64_t i = 0; i < n; i++) {
        for (int32_t l = 1; l < k; l++)
            if (s[i * k + l] > s[i * k + p.label[i]])
                p.label[i] = l;
        p.size[p.label[i]]++;
    }
    int possible = 1;
    while (possible && count_broken(&p, 0))
        possible = mend_once(&p, 0);
    while (possible && count_broken(&p, 1))
        possible = mend_once(&p, 1);
    double total = possible ? 0 : NAN;
    for (int64_t i = 0; i < n; i++) {
        total += s[i * k + p.label[i]];
        if (label)
            label[i] = p.label[i];
    }
    free(p.label);
    free(p.size);
    free(p.cost);
    free(p.point);
    free(p.dist);
    free(p.from);
    return total;
}
