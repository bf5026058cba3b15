/* duals.h - one dual variable per size bound: rho of the lower bounds, sigma of the upper ones.
 * A step costs O(k), with tau O(k log k). */
#ifndef CK_DUALS_H
#define CK_DUALS_H

#include <stdint.h>

struct ck_duals {
    int64_t k;
    float eta;        /* step, see warm */
    float tau;        /* radius of the projection; 0 = none */
    int free;         /* lower duals may be negative: the bounds are equalities */
    float *rho;       /* [k] */
    float *sigma;     /* [k], NULL without upper bounds */
    double *min_size; /* [k] lower bound / n */
    double *max_size; /* [k] upper bound / n, NULL without */
    double *total;    /* [k] weighted sum of rho - sigma over the steps of this epoch */
    int64_t steps;
    float *sorted; /* [k] scratch of the projection */
    /* of clusterings of given rows alone, whose heads are not saved before they end */
    double warm; /* first rows per cluster in which steps are longer; 0 = none are */
    double seen; /* rows so far, for warm */
    int late;    /* `total` weighs step t by t^8, not t^2, for prices that rise to the end */
};

int ck_duals_init(struct ck_duals *d, int64_t k, int upper);
void ck_duals_release(struct ck_duals *d);

/* After a batch of b rows, count[k] of them given to k (docs/algorithm.md, eq. 3). */
void ck_duals_step(struct ck_duals *d, const int32_t *count, int64_t b);

/* The average of rho - sigma over the steps of this epoch, of which there is at least one. */
double ck_duals_average(const struct ck_duals *d, int64_t k);

/* bias[k] = rho - sigma */
void ck_duals_bias(const struct ck_duals *d, float *bias);

/* Euclidean projection of v [k] onto { v >= 0, sum v <= tau }; scratch [k]. */
void ck_project(float *v, int64_t k, float tau, float *scratch);

#endif
