/* exact.h - the best assignment that keeps all sizes: max sum_i s(i, label_i) subject to
 * least[k] <= size_k <= most[k], by shortest augmenting paths on the graph of clusters.
 *
 * A point enters with the few centers that can matter for it (its arcs) as long as prices stay
 * within a box around those it was looked at with; the caller moves the box until the optimum
 * lies inside (repair.c). */
#ifndef CK_EXACT_H
#define CK_EXACT_H

#include <stdint.h>

struct ck_arc {
    int32_t point;
    float score; /* s(point, k) */
};

struct ck_choice {
    int32_t k;
    float score;
};

struct ck_exact {
    int64_t n, k;                       /* points that have a choice, clusters */
    const int64_t *base;                /* [k] points that have none, by cluster */
    const int64_t *min_size, *max_size; /* [k]; most NULL = no upper bounds */
    int32_t *label;                     /* [n] in and out, borrowed */
    float *score;                       /* [n] s(i, label_i), borrowed */
    double *price;                      /* [k] what a unit of cluster k's bound is worth */
    double *low, *high;                 /* [k] the box: low <= price <= high */

    /* arcs into cluster k: arc[start[k]] .. arc[start[k + 1] - 1], by ascending point; borrowed
     */
    const int64_t *start;
    const struct ck_arc *arc;
    /* the same arcs by point: choice[first[i]] .. choice[first[i + 1] - 1] */
    const int64_t *first;
    const struct ck_choice *choice;

    /* Nodes are the clusters, then the pool, where sizes above the least flow. At the box's
     * edges the pool buys and sells at the edge's price: `fake` units instead of points that
     * are missing, `over` units above the most. */
    int64_t *size;      /* [k] */
    int64_t *above;     /* [k] flow to the pool within most - least */
    int64_t *over;      /* [k] and beyond */
    int64_t *fake;      /* [k] flow from the pool */
    int64_t *excess;    /* [k + 1] > 0: must give, < 0: must get */
    double *node_price; /* [k + 1] */
    double *dist;       /* [k + 1] */
    int32_t *next;      /* [k + 1] next node on the way to the one in need */
    int64_t *moves;     /* [k + 1] arc to move a point along, -1 = flow of the pool */
    uint8_t *state;     /* [k + 1] */
    int32_t *seen;      /* [k + 1] nodes with a finite distance */
    int64_t nseen;
    struct ck_heap_item *heap;
    int64_t nheap, room;
    int64_t searches;
};

int ck_exact_init(struct ck_exact *e, int64_t k, const int64_t *min_size,
                  const int64_t *max_size);
void ck_exact_release(struct ck_exact *e);

/* Moves one price after another, inside the box, to where its cluster's size is right with the
 * others as they are, and gives every point its best
 * label. Near the optimum
 * after a few sweeps. */
int ck_exact_approach(struct ck_exact *e, int sweeps);
/* Is the price of k at the upper (1) or lower (-1) edge of the box? */
int ck_exact_at_edge(const struct ck_exact *e, int64_t k);
/* Is any? */
int ck_exact_at_edges(const struct ck_exact *e);

/* Solves from the present prices, inside the box, and labels; each point's label must be its
 * best arc at these prices. *inside = 1: no edge of the box holds a price back, so this is the
 * optimum over all prices. */
int ck_exact_solve(struct ck_exact *e, int *inside);

#endif
