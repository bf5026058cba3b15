/* dense.c - the best labels of few rows within size bounds: successive shortest paths.
 *
 * The nodes are the clusters and a reference, whose price is 0. A row may move from cluster a to b
 * at the loss of score + price; a cluster may hold more or fewer rows than its quota at the cost of
 * its price, within its bounds. Each path brings a row, or several quotas, from where there are too
 * many to where they lack. Prices stay such that no arc has a negative cost. */
#include "cluster/dense.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

int ck_dense_init(struct ck_dense *d, int64_t n, int64_t k, const int64_t *min_size,
                  const int64_t *max_size)
{
    *d = (struct ck_dense){.n = n, .k = k, .min_size = min_size, .max_size = max_size};
    size_t rows = (size_t)n, clusters = (size_t)k, nodes = clusters + 1;
    int bounded = min_size || max_size;
    size_t pairs = bounded ? clusters : 0;
    d->score = ck_alloc_array(rows, clusters * sizeof *d->score);
    d->label = ck_calloc_array(rows, sizeof *d->label);
    d->size = ck_alloc_array(clusters, sizeof *d->size);
    d->price = ck_calloc_array(clusters, sizeof *d->price);
    d->head = ck_alloc_array(clusters, sizeof *d->head);
    d->next = ck_alloc_array(rows, sizeof *d->next);
    d->prev = ck_alloc_array(rows, sizeof *d->prev);
    int good = d->score && d->label && d->size && d->price && d->head && d->next && d->prev;
    if (good && bounded) {
        d->loss = ck_alloc_array(pairs, clusters * sizeof *d->loss);
        d->row = ck_alloc_array(pairs, clusters * sizeof *d->row);
        d->quota = ck_alloc_array(clusters, sizeof *d->quota);
        d->excess = ck_alloc_array(nodes, sizeof *d->excess);
        d->far = ck_alloc_array(nodes, sizeof *d->far);
        d->from = ck_alloc_array(nodes, sizeof *d->from);
        d->done = ck_alloc_array(nodes, sizeof *d->done);
        good = d->loss && d->row && d->quota && d->excess && d->far && d->from && d->done;
    }
    if (!good)
        ck_dense_release(d);
    return good ? COKE_OK : COKE_ENOMEM;
}

void ck_dense_release(struct ck_dense *d)
{
    void *all[] = {d->score, d->label, d->size,  d->price,  d->head, d->next, d->prev,
                   d->loss,  d->row,   d->quota, d->excess, d->far,  d->from, d->done};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ck_free(all[i]);
    *d = (struct ck_dense){0};
}

/* ---- members ---- */

static void link_row(struct ck_dense *d, int64_t i, int32_t k)
{
    int32_t first = d->head[k];
    d->label[i] = k;
    d->next[i] = first;
    d->prev[i] = -1;
    if (first >= 0)
        d->prev[first] = (int32_t)i;
    d->head[k] = (int32_t)i;
    d->size[k]++;
}

static void unlink_row(struct ck_dense *d, int64_t i)
{
    int32_t k = d->label[i], next = d->next[i], prev = d->prev[i];
    if (next >= 0)
        d->prev[next] = prev;
    if (prev >= 0)
        d->next[prev] = next;
    else
        d->head[k] = next;
    d->size[k]--;
}

/* Backwards, so that the lists are in ascending order. */
void ck_dense_count(struct ck_dense *d)
{
    for (int64_t k = 0; k < d->k; k++) {
        d->head[k] = -1;
        d->size[k] = 0;
    }
    for (int64_t i = d->n - 1; i >= 0; i--)
        link_row(d, i, d->label[i]);
}

/* ---- the least losses ---- */

/* Row i of cluster a, as one that may leave it. */
static void offer(struct ck_dense *d, int64_t a, int64_t i)
{
    const float *score = d->score + i * d->k;
    double *loss = d->loss + a * d->k, own = (double)score[a];
    int32_t *row = d->row + a * d->k;
    for (int64_t b = 0; b < d->k; b++) {
        double x = own - (double)score[b];
        if (x < loss[b]) {
            loss[b] = x;
            row[b] = (int32_t)i;
        }
    }
}

static void list_losses(struct ck_dense *d)
{
    for (int64_t p = 0; p < d->k * d->k; p++) {
        d->loss[p] = INFINITY;
        d->row[p] = -1;
    }
    for (int64_t i = 0; i < d->n; i++)
        offer(d, d->label[i], i);
}

/* Row i has left cluster a: finds another one wherever it had the least loss. */
static void withdraw(struct ck_dense *d, int64_t a, int32_t i)
{
    double *loss = d->loss + a * d->k;
    int32_t *row = d->row + a * d->k;
    for (int64_t b = 0; b < d->k; b++) {
        if (row[b] != i)
            continue;
        row[b] = -1;
        loss[b] = INFINITY;
        for (int32_t m = d->head[a]; m >= 0; m = d->next[m]) {
            double x = (double)d->score[m * d->k + a] - (double)d->score[m * d->k + b];
            if (x < loss[b]) {
                loss[b] = x;
                row[b] = m;
            }
        }
    }
}

static void move_row(struct ck_dense *d, int32_t i, int32_t to)
{
    int32_t from = d->label[i];
    unlink_row(d, i);
    withdraw(d, from, i);
    link_row(d, i, to);
    offer(d, to, i);
}

/* ---- paths ---- */

static int64_t low(const struct ck_dense *d, int64_t k)
{
    return d->min_size ? d->min_size[k] : 0;
}

static int64_t high(const struct ck_dense *d, int64_t k)
{
    return d->max_size ? d->max_size[k] : d->n;
}

/* A cluster with a price above 0 asks for its smallest size, one below 0 for its largest; at 0 any
 * size between is right. */
static void set_quotas(struct ck_dense *d)
{
    d->excess[d->k] = -d->n;
    for (int64_t k = 0; k < d->k; k++) {
        int64_t least = low(d, k), most = high(d, k), size = d->size[k];
        if (d->price[k] > 0)
            size = least;
        else if (d->price[k] < 0)
            size = most;
        d->quota[k] = size < least ? least : size > most ? most : size;
        d->excess[k] = d->size[k] - d->quota[k];
        d->excess[d->k] += d->quota[k];
    }
}

/* The cost of the arc a -> b; INFINITY if there is none. Rounding must not make it negative. */
static double cost(const struct ck_dense *d, int64_t a, int64_t b)
{
    double x;
    if (a == d->k)
        x = d->quota[b] > low(d, b) ? -d->price[b] : INFINITY;
    else if (b == d->k)
        x = d->quota[a] < high(d, a) ? d->price[a] : INFINITY;
    else
        x = d->loss[a * d->k + b] + d->price[a] - d->price[b];
    return x > 0 ? x : 0;
}

static int64_t nearest(const struct ck_dense *d)
{
    int64_t best = -1;
    for (int64_t v = 0; v <= d->k; v++)
        if (!d->done[v] && (best < 0 || d->far[v] < d->far[best]))
            best = v;
    return best;
}

/* Dijkstra from all nodes with an excess; returns the first one that lacks something, -1 = there is
 * no excess. */
static int64_t find_path(struct ck_dense *d)
{
    int64_t k = d->k, v, sources = 0;
    for (v = 0; v <= k; v++) {
        d->far[v] = d->excess[v] > 0 ? 0 : INFINITY;
        d->from[v] = -1;
        d->done[v] = 0;
        sources += d->excess[v] > 0;
    }
    if (!sources)
        return -1;
    for (v = nearest(d); d->excess[v] >= 0; v = nearest(d)) {
        d->done[v] = 1;
        for (int64_t b = 0; b <= k; b++) {
            if (d->done[b])
                continue;
            double x = d->far[v] + cost(d, v, b);
            if (x < d->far[b]) {
                d->far[b] = x;
                d->from[b] = (int32_t)v;
            }
        }
    }
    return v;
}

/* Nodes nearer than the target t rise by their distance, the others by that of t, which keeps all
 * costs from becoming negative; the reference returns to 0. */
static void move_prices(struct ck_dense *d, int64_t t)
{
    double most = d->far[t], reference = fmin(d->far[d->k], most);
    for (int64_t k = 0; k < d->k; k++)
        d->price[k] += fmin(d->far[k], most) - reference;
}

/* A row goes alone; quotas go together, as many as all arcs of the path allow. */
static int64_t amount(const struct ck_dense *d, int64_t t)
{
    int64_t v = t, most = -d->excess[t];
    for (; d->from[v] >= 0; v = d->from[v]) {
        int64_t u = d->from[v], room = 1;
        if (u == d->k)
            room = d->quota[v] - low(d, v);
        else if (v == d->k)
            room = high(d, u) - d->quota[u];
        most = room < most ? room : most;
    }
    return d->excess[v] < most ? d->excess[v] : most;
}

static void follow_path(struct ck_dense *d, int64_t t)
{
    int64_t v = t, many = amount(d, t);
    d->excess[t] += many;
    for (; d->from[v] >= 0; v = d->from[v]) {
        int64_t u = d->from[v];
        if (u == d->k)
            d->quota[v] -= many;
        else if (v == d->k)
            d->quota[u] += many;
        else
            move_row(d, d->row[u * d->k + v], (int32_t)v);
    }
    d->excess[v] -= many;
}

void ck_dense_solve(struct ck_dense *d)
{
    if (!d->loss)
        return;
    list_losses(d);
    set_quotas(d);
    for (int64_t t = find_path(d); t >= 0; t = find_path(d)) {
        move_prices(d, t);
        follow_path(d, t);
    }
}
