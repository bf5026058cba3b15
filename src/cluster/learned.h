/* learned.h - heads whose centers are learned elsewhere, and the entropy of labels as a
 * constraint.
 *
 * Such a head has update CK_UPDATE_FIXED: batches assign rows, move duals and store labels; the
 * caller moves the centers between batches. */
#ifndef CK_LEARNED_H
#define CK_LEARNED_H

#include "cluster/kmeans.h"

/* Sets the current centers, unit vectors [k][dim]. The end of the epoch makes them those of the
 * last one. */
void ck_kmeans_set_centers(struct coke_kmeans *km, const float *centers);

/* Labels are chosen by cost plus weight times the change of sum p log p over the clusters'
 * fractions p of the labels, instead of by duals. */
struct ck_entropy {
    double weight;
    int64_t *members; /* [k] labels of each cluster; owned */
    int64_t total;    /* of all clusters */
    double *add;      /* [k] scratch */
};

/* Counts the labels that the head has: the table is a function of them, and so is not saved. */
int ck_entropy_init(struct ck_entropy *e, const struct coke_kmeans *km, double weight);
void ck_entropy_release(struct ck_entropy *e);
void ck_entropy_recount(struct ck_entropy *e, const struct coke_kmeans *km);

/* One batch x [n][dim] under ids [n]; label [n] out. All rows are decided by the table from before
 * the batch. */
int ck_entropy_step(struct ck_entropy *e, struct coke_kmeans *km, const float *x,
                    const int64_t *ids, int64_t n, int32_t *label);

#endif
