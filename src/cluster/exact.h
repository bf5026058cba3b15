/* exact.h - the best assignment within all size bounds: max sum_i s(i, label_i) subject to
 * min_size[k] <= size_k <= max_size[k], by shortest augmenting paths on the graph of clusters.
 *
 * Each point comes with the few centers that can win it (its arcs) while prices stay within a
 * box around those of the scan that listed them; the caller moves the box until the optimum lies
 * inside (repair.c). One thread per struct. */
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
    int64_t n, k;                       /* points with a choice; clusters */
    const int64_t *base;                /* [k] points without, by cluster */
    const int64_t *min_size, *max_size; /* [k]; max_size NULL = no upper bounds */
    int32_t *label;                     /* [n] in and out, borrowed */
    float *score;                       /* [n] s(i, label_i), borrowed */
    double *price;                      /* [k] added to the scores of cluster k */
    double *low, *high;                 /* [k] the box: low <= price <= high */

    /* Arcs into cluster k: arc[start[k]] .. arc[start[k + 1] - 1], by ascending point. Borrowed,
     * like `first` and `choice`. */
    const int64_t *start;
    const struct ck_arc *arc;
    /* the same arcs by point: choice[first[i]] .. choice[first[i + 1] - 1] */
    const int64_t *first;
    const struct ck_choice *choice;
    /* Many equal points each, which may go to any cluster, whatever the box; only ck_newton_run and
     * ck_exact_solve know these. Borrowed; none: 0. */
    int64_t crowds;
    const double *crowd;      /* [crowds] points; for ck_newton_run */
    const float *crowd_score; /* [crowds][k] */
    int64_t *given; /* [crowds][k] points by cluster; for ck_exact_solve, in and out */

    /* Nodes are the clusters, then the pool, which takes the members above min_size, then the
     * crowds, through which their points pass from cluster to cluster. At the edges of the box the
     * pool buys and sells at the edge's price: `fake` units in place of missing points, `over`
     * units above max_size. Owned, with the prices and the box. */
    int64_t *size;      /* [k] */
    int64_t *above;     /* [k] flow to the pool, up to max_size - min_size */
    int64_t *over;      /* [k] flow to the pool beyond that */
    int64_t *fake;      /* [k] flow from the pool */
    int64_t nodes;      /* room for so many */
    int64_t *excess;    /* [nodes] > 0: surplus, < 0: deficit */
    double *node_price; /* [nodes]; of a crowd: its best value */
    double *dist;       /* [nodes] */
    int32_t *next;      /* [nodes] next node on the path to the one with a deficit */
    int64_t *moves; /* [nodes] arc of a point that moves, -1 = flow of the pool or a crowd */
    uint8_t *state; /* [nodes] */
    int32_t *seen;  /* [nodes] nodes with a finite distance */
    int64_t nseen;
    struct ck_heap_item *heap;
    int64_t nheap, room;
    int64_t searches;
    int64_t scanned;   /* arcs, or as much work: what was done so far */
    int64_t next_poll; /* the same: when to call poll again */

    double tie; /* values that differ by no more count as equal; set by the caller */
    /* Called with poll_arg every few milliseconds by everything that may take long; not COKE_OK: it
     * stops with that status. NULL = never. The caller's. */
    int (*poll)(void *arg);
    void *poll_arg;
};

/* Allocates what the struct owns; min_size and max_size [k] are borrowed. The caller sets the
 * points, the arcs, the prices and the box. */
int ck_exact_init(struct ck_exact *e, int64_t k, const int64_t *min_size,
                  const int64_t *max_size);
void ck_exact_release(struct ck_exact *e);

/* Moves one price after another, inside the box, to where the size of its cluster is right with
 * the other prices fixed, and gives every point its best label. Stops after `sweeps` rounds
 * over the clusters, or when no price moves; usually close to the optimum after a few. Points
 * whose best values are within e->tie of each other go where points are missing. */
int ck_exact_approach(struct ck_exact *e, int sweeps);
/* Gives every point its best label at the present prices, as ck_exact_approach does at its end. */
void ck_exact_take_labels(struct ck_exact *e);
/* Calls e->poll if enough was added to e->scanned since the last call. */
int ck_exact_poll(struct ck_exact *e);
/* The price at which a size between min_size and max_size is neither gain nor loss: 0, or the
 * edge of the box nearest to 0. */
double ck_exact_rest(const struct ck_exact *e, int64_t k);
/* Points that cluster k may have above min_size. */
int64_t ck_exact_room_above(const struct ck_exact *e, int64_t k);
/* The best value of the points of crowd i at the present prices. */
double ck_exact_crowd_value(const struct ck_exact *e, int64_t i);
/* Is the price of k at the upper (1) or lower (-1) edge of the box? */
int ck_exact_at_edge(const struct ck_exact *e, int64_t k);
/* Is any price at an edge? */
int ck_exact_at_edges(const struct ck_exact *e);

/* Solves from the present prices inside the box, and relabels; the label of each point must be
 * its best arc at these prices, while crowds may be given to any clusters. *inside = 1: no edge of
 * the box limits a price, so this is the optimum over all prices. */
int ck_exact_solve(struct ck_exact *e, int *inside);

#endif
