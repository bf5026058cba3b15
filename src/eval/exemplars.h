/* exemplars.h - what the clusters of a clustering look like: their typical, doubtful and
 * ordinary members, how tight they are, and which clusters are near to which. */
#ifndef CK_EXEMPLARS_H
#define CK_EXEMPLARS_H

#include <stdint.h>

struct ck_exemplar_job {
    int64_t n, k;
    int dim;
    const float *center;  /* [k][dim] */
    const int32_t *label; /* [n] 0..k-1; negative = in no cluster */
    const float *x;       /* [n][dim] unit vectors, or NULL: only random members are known */
    int members;          /* of each kind, at most */
    int neighbours;       /* clusters near to each, at most */
    uint64_t seed;
};

/* A member: which, how near to its center, and by how much nearer than to any other one
 * (negative: another center is nearer; infinite for a single cluster). */
struct ck_exemplar {
    int64_t row; /* -1 = none */
    float similarity, margin;
};

struct ck_exemplars {
    int64_t k;
    int members, neighbours;
    int64_t *size;                  /* [k] */
    double *tightness;              /* [k] mean similarity of the members, or NaN */
    struct ck_exemplar *nearest;    /* [k][members] by similarity */
    struct ck_exemplar *borderline; /* [k][members] by margin, the smallest first */
    struct ck_exemplar *random;     /* [k][members] in a random order */
    int32_t *near;                  /* [k][neighbours] by similarity, -1 = none */
    float *near_similarity;         /* [k][neighbours] */
};

/* Among equals the lower row or cluster comes first. Similarities are cosines where x and the
 * centers are unit vectors; those that are not finite count as -1. Time n * k * dim. */
int ck_exemplars(struct ck_exemplars *out, const struct ck_exemplar_job *job);
void ck_exemplars_release(struct ck_exemplars *e);

#endif
