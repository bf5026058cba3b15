/* repair_crowds.h - many equal rows count as one in the repair. */
#ifndef CK_REPAIR_CROWDS_H
#define CK_REPAIR_CROWDS_H

#include <stdint.h>

struct ck_repair_scan;
struct ck_exact;

/* Rows within this of each other are nearly equal; a row of mean weight has about length 1. */
#define CK_CROWDS_NEAR 3e-4

/* Rows that are equal, or nearly, and more than fit into a cluster or two. Scans leave them out. */
struct ck_crowds {
    double near;                  /* how far they may be apart */
    int64_t n;                    /* 0 = none */
    int32_t *of;                  /* [rows] crowd of a row, -1 = none */
    float *x;                     /* [n][ld] one row of each */
    double *count;                /* [n] rows */
    double *scaled;               /* [n] of them in the present sample */
    float *score;                 /* [n][k] */
    float *nearest;               /* [n] the highest of them */
    int64_t *given;               /* [n][k] rows by cluster */
    double total, weight, square; /* sums over the rows */
    double apart; /* what the distances of the rows from x may add to the dual */
};

static inline int ck_crowds_have(const struct ck_crowds *c, int64_t row)
{
    return c->n > 0 && c->of[row] >= 0;
}

/* Looks for crowds in a sample, then for their rows. Reads all rows once if there are any. near: as
 * above; 0 = only equal rows. */
int ck_crowds_find(struct ck_repair_scan *p, double near);
void ck_crowds_release(struct ck_crowds *c);

/* After a scan: adds the crowds, each at its best center, to the sizes and sums of p->r. */
void ck_crowds_add(struct ck_repair_scan *p);
/* Gives the crowds to the solver. */
void ck_crowds_load(struct ck_repair_scan *p, struct ck_exact *e);
/* At the prices of e, whose labels are the best: divides each crowd among the centers that tie, so
 * that sizes come within their bounds; scale: the last one of ck_newton_run. The rows then count as
 * rows without a choice. */
void ck_crowds_divide(struct ck_repair_scan *p, struct ck_exact *e, double scale);
/* From now on the rows, in the clusters that the exact solver gave them to, count as rows without a
 * choice. */
void ck_crowds_give(struct ck_repair_scan *p, struct ck_exact *e);
/* Undoes either of these, for other prices. */
void ck_crowds_take_back(struct ck_repair_scan *p, struct ck_exact *e);
/* The sum of the scores of the crowds' rows as they are given to clusters. */
double ck_crowds_primal(const struct ck_repair_scan *p);
/* An upper bound of the sum, over the rows of crowds, of the best value at the prices of e less the
 * value in the cluster that the row is given to. */
double ck_crowds_excess(const struct ck_repair_scan *p, const struct ck_exact *e);
/* Labels the rows as divided; from now on p->r has the sums of the rows themselves. */
int ck_crowds_settle(struct ck_repair_scan *p);

#endif
