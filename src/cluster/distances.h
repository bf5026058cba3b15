/* distances.h - Euclidean results in the units of the data: distances of labelled rows, and the
 * summary of a repair. */
#ifndef CK_DISTANCES_H
#define CK_DISTANCES_H

#include "cluster/labels.h"
#include "cluster/repair.h"
#include "cluster/scan.h"

struct ck_labelled {
    const struct ck_scan *scan; /* Euclidean */
    const struct ck_labels *labels;
    const float *center; /* [k][ld] inner */
};

/* Reads all usable rows once, on all threads. square [n], may be NULL: |x - c|^2 of each; skipped
 * rows keep what is there. *sum: their weighted sum, in the order of the rows. share: processes
 * that divide this (then square must be NULL), NULL = none; collective. */
int ck_distances(const struct ck_labelled *l, const struct ck_share *share, float *square,
                 double *sum);

/* Objectives and certificate of a repair. inertia: the sum from ck_distances; not used by
 * cosine. */
void ck_summary_objectives(struct coke_head_summary *s, const struct ck_repair *r,
                           double inertia);

#endif
