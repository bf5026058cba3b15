/* membership.h - assigns images to clusters, with a measure of certainty. */
#ifndef CK_MEMBERSHIP_H
#define CK_MEMBERSHIP_H

#include "cluster/kmeans.h"
#include "eval/features.h"

/* x [n][dim] unit vectors. label [n] as ck_kmeans_predict; similarity [n] to that center;
 * margin [n] = similarity minus that to the second nearest center, >= 0 (with a single center:
 * the similarity). similarity and margin may be NULL. */
int ck_membership(const struct coke_kmeans *km, const float *x, int64_t n, int32_t *label,
                  float *similarity, float *margin);

#endif
