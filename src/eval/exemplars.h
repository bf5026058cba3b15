/* exemplars.h - describes the clusters of a clustering: typical, borderline and random members,
 * tightness, and neighboring clusters. */
#ifndef CK_EXEMPLARS_H
#define CK_EXEMPLARS_H

#include <stdint.h>

struct ck_exemplar_job {
    int64_t n, k;
    int dim;
    const float *center;  /* [k][dim] */
    const int32_t *label; /* [n] 0..k-1; negative = not in a cluster */
    const float *x;       /* [n][dim] unit vectors; NULL: only random members */
    int euclidean;        /* rows of any length; similarities are distances with a minus sign */
    int members;          /* maximum per kind */
    int neighbours;       /* nearest clusters per cluster, at most */
    uint64_t seed;
};

/* A member of a cluster: similarity to its center, and margin to the nearest other center
 * (negative: the other one is nearer; infinite for a single cluster). */
struct ck_exemplar {
    int64_t row; /* -1 = none */
    float similarity, margin;
};

/* Owns its arrays. */
struct ck_exemplars {
    int64_t k;
    int members, neighbours;
    int64_t *size;                  /* [k] */
    double *tightness;              /* [k] mean similarity of the members, or NaN */
    double *loosest;                /* [k] the lowest similarity of a member, or NaN */
    struct ck_exemplar *nearest;    /* [k][members] by similarity */
    struct ck_exemplar *borderline; /* [k][members] by margin, the smallest first */
    struct ck_exemplar *random;     /* [k][members] in a random order */
    int32_t *near;                  /* [k][neighbours] by similarity, -1 = none */
    float *near_similarity;         /* [k][neighbours] */
};

/* Ties go to the lower row or cluster. Similarities are cosines if x and the centers are unit
 * vectors; values that are not finite count as the lowest. Time n * k * dim, with all threads; the
 * result does not depend on their number. Releases *out on failure. */
int ck_exemplars(struct ck_exemplars *out, const struct ck_exemplar_job *job);
void ck_exemplars_release(struct ck_exemplars *e);

#endif
