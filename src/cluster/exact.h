/* exact.h - the best assignment that keeps all sizes: max sum_i s(i, label_i) subject to
 * least[k] <= size_k <= most[k], by shortest augmenting paths on the graph of clusters.
 *
 * A point enters with the few centers that can matter for it (its arcs); the caller finds them
 * with the prices, and looks for more until none is missing (repair.c). */
#ifndef CK_EXACT_H
#define CK_EXACT_H

#include <stdint.h>

struct ck_arc {
    int32_t point;
    float score; /* s(point, k) */
};

struct ck_exact {
    int64_t n, k;                /* points that have a choice, clusters */
    const int64_t *base;         /* [k] points that have none, by cluster */
    const int64_t *least, *most; /* [k]; most NULL = no upper bounds */
    int32_t *label;              /* [n] in and out, borrowed */
    float *score;                /* [n] s(i, label_i), borrowed */
    double *price;               /* [k] what a unit of cluster k's bound is worth */

    /* arcs into cluster k: arc[start[k]] .. arc[start[k + 1] - 1], by ascending point; borrowed
     */
    const int64_t *start;
    const struct ck_arc *arc;

    /* nodes: the clusters, then `pool`, where sizes above the least flow */
    int64_t *size;      /* [k] */
    int64_t *above;     /* [k] flow to the pool: what the cluster may keep above least */
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
    int64_t augmentations;
};

int ck_exact_init(struct ck_exact *e, int64_t k, const int64_t *least, const int64_t *most);
void ck_exact_release(struct ck_exact *e);

/* Solves with the present arcs, from the present prices and labels; each point's label must be
 * its best arc at these prices. Returns COKE_OK with *stuck = 0 (optimal over the arcs), or
 * with *stuck = 1: some cluster can get no more points over the arcs there are; prices have
 * risen by `step` where more arcs are needed. */
int ck_exact_solve(struct ck_exact *e, double step, int *stuck);

#endif
