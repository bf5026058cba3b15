/* tree_repair.h - labels of a clustering of two levels that keep all sizes, and a certificate.
 *
 * Rows are assigned within their candidates (tree.h). Prices are found by scans over all rows and
 * sweeps over the rows with a choice; what is missing then is completed along the cheapest paths,
 * and finally by rows beyond their candidates. The cost is bounded: a fixed number of scans, and
 * paths that visit a fixed number of leaves. The certificate is valid whatever the prices are. */
#ifndef CK_TREE_REPAIR_H
#define CK_TREE_REPAIR_H

#include "cluster/exact.h"
#include "cluster/labels.h"
#include "cluster/scan.h"
#include "cluster/tree.h"
#include "core/share.h"

/* Input and results. Everything is the caller's and borrowed for the call. */
struct ck_tree_repair {
    const struct ck_scan *scan;
    struct ck_tree *tree;
    const float *center;                /* [k][ld] that the tree reads */
    const int64_t *min_size, *max_size; /* [k]; max_size NULL = unbounded */
    int exact;                          /* 0: only labels at the given prices */
    uint64_t seed;                      /* of the sample that sizes the lists */
    const struct coke_callbacks *callbacks;
    int64_t epochs;               /* epochs run before, for progress reports */
    const struct ck_share *share; /* processes that divide the rows; NULL = this one has all */

    float *price;             /* [k] in: averaged duals; out: prices of the certificate */
    struct ck_labels *labels; /* out */
    int64_t *size;            /* [k] out */

    /* results; sums over rows */
    int64_t below, above, missing; /* before completion: clusters outside their bounds, and rows
                                    * that they lack */
    int64_t moved;                 /* labels changed after the last scan */
    int64_t beyond;                /* of these, to leaves beyond the row's candidates */
    int64_t not_nearest;    /* rows that are nearer to another candidate than to the label */
    double weight, nearest; /* weights; similarities to the nearest candidates */
    double square;          /* Euclidean: the weighted squares of the rows, in inner units */
    double primal, dual;    /* dual: no assignment within the candidates has more; NAN if
                                    * not exact */
    double scans;
    int64_t bytes; /* of the lists */
};

/* Labels all usable rows. Runs on all threads; collective if share is set. */
int ck_tree_repair_run(struct ck_tree_repair *r);

/* ---- between tree_repair.c, tree_scan.c, tree_price.c, tree_fill.c ---- */

enum { CK_TREE_BATCH = 1 << 14 }; /* rows of a scan that are searched at a time */

/* Sums over one batch, so that totals do not depend on threads or processes. */
struct ck_tree_part {
    double primal, value, nearest, weight, square;
    int64_t active, arcs, not_nearest;
};

/* A scan over all rows at fixed prices. Rows with a choice (points) and their arcs are kept. */
struct ck_tree_scan {
    struct ck_tree_repair *r;
    struct ck_share share;
    float margin;
    float *rise; /* [k] wider lists of leaves that lack rows */
    /* one batch */
    float *x;
    int64_t *batch_id;
    int32_t *batch_label;
    float *batch_score;
    struct ck_tree_lists lists;
    int64_t batches;
    struct ck_tree_part *part; /* [batches] */
    /* points, by ascending row */
    int64_t n, id_room, label_room, first_room;
    int64_t *id;
    int64_t *first; /* [n + 1] */
    int32_t *label; /* [n] */
    int64_t narcs, choice_room;
    struct ck_choice *choice; /* [narcs] by point */
    /* the same by leaf */
    int64_t *start;     /* [k + 1] */
    struct ck_arc *arc; /* [narcs] */
    int64_t *base;      /* [k] rows without a choice */
    /* prices */
    double *price; /* [k] */
    float *push;   /* [k] last step beyond the margin, signed */
};

int ck_tree_scan_init(struct ck_tree_scan *s, struct ck_tree_repair *r);
void ck_tree_scan_release(struct ck_tree_scan *s);
/* Sets the widest margin at which a row lists `limit` leaves on average, besides its own, measured
 * on a sample. */
int ck_tree_scan_choose_margin(struct ck_tree_scan *s, double limit);
/* Labels the rows at r->price; sets sizes, sums, and lowers r->dual. lists = 0: labels and sums
 * only. */
int ck_tree_scan_run(struct ck_tree_scan *s, int lists);
/* With several processes: what each found in its batches, on all; sums always. Collective. */
enum { CK_TREE_LABELS = 1, CK_TREE_POINTS = 2 };
int ck_tree_scan_gather(struct ck_tree_scan *s, int what);
/* r->nearest and r->not_nearest: the nearest candidates of all rows, without prices. */
int ck_tree_scan_nearest(struct ck_tree_scan *s);
/* Progress of the work on leaves. */
int ck_tree_scan_report(const struct ck_tree_scan *s, int64_t done, int64_t total);

/* Moves prices, one leaf after another, to where its size is right while the others stay; from and
 * to r->price. */
int ck_tree_price_sweeps(struct ck_tree_scan *s, int sweeps);

/* From labels at prices to labels that keep all sizes. */
int ck_tree_fill(struct ck_tree_scan *s);
/* The same from r->labels, where no path within the candidates was found. */
int ck_tree_fill_beyond(struct ck_tree_scan *s);

#endif
