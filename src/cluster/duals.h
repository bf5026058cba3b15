/* duals.h - one dual variable per size bound: rho of the lower bounds, sigma of the upper ones.
 * A step costs O(k), with tau O(k log k). */
#ifndef CK_DUALS_H
#define CK_DUALS_H

#include <stdint.h>

struct ck_duals {
    int64_t k;
    float eta;
    float tau;        /* radius of the projection; 0 = none */
    int free;         /* lower duals may be negative: the bounds are equalities */
    float *rho;       /* [k] */
    float *sigma;     /* [k], NULL without upper bounds */
    double *min_size; /* [k] lower bound / n */
    double *max_size; /* [k] upper bound / n, NULL without */
    double *total;    /* [k] weighted sum of rho - sigma over the steps of this epoch */
    int64_t steps;
    float *sorted; /* [k] scratch of the projection */
};

int ck_duals_init(struct ck_duals *d, int64_t k, int upper);
void ck_duals_release(struct ck_duals *d);

/* After a batch of b rows, count[k] of them given to k (docs/algorithm.md, eq. 3). */
void ck_duals_step(struct ck_duals *d, const int32_t *count, int64_t b);

/* bias[k] = rho - sigma */
void ck_duals_bias(const struct ck_duals *d, float *bias);

/* Euclidean projection of v [k] onto { v >= 0, sum v <= tau }; scratch [k]. */
void ck_project(float *v, int64_t k, float tau, float *scratch);

#endif
