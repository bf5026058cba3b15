/* silhouette.h - the silhouette of clusterings: how much nearer rows are to their own cluster
 * than to the next one, from -1 to 1. */
#ifndef CK_SILHOUETTE_H
#define CK_SILHOUETTE_H

#include "coke/types.h"

enum { CK_SILHOUETTE_ROWS = 5000 }; /* a sample of this size takes a second or two */

struct ck_silhouette_job {
    int64_t n;
    int dim;
    const float *x; /* [n][dim]; unit vectors unless euclidean */
    int euclidean;  /* distances: else 1 - cosine */
    int heads;
    const int32_t *const *label; /* [heads][n], negative = in no cluster */
    const int64_t *k;            /* [heads] */
    const struct coke_callbacks *callbacks;
};

/* score [heads]: mean over the rows in a cluster of (b - a) / max(a, b), where a is the mean
 * distance to the other rows of its cluster and b the least mean distance to the rows of another
 * one; 0 for the only row of a cluster, NaN with fewer than two clusters. Exact over all pairs of
 * these rows: time n^2 (dim + heads). With all threads; the result does not depend on their
 * number. */
int ck_silhouette(const struct ck_silhouette_job *job, double *score);

#endif
