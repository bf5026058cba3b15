/* pca.h - principal components: where most of the spread of some rows is. */
#ifndef CK_PCA_H
#define CK_PCA_H

#include <stdint.h>

enum { CK_PCA_MAX = 8 }; /* components */

struct ck_pca {
    int dim, components;
    float *mean;                 /* [dim] */
    float *axis;                 /* [components][dim] unit vectors, most spread first */
    double variance[CK_PCA_MAX]; /* along each */
    double total;                /* along all of dim */
};

/* x [n][dim], n >= 1. Fewer dimensions than components: the last axes are 0. An axis points
 * where its largest number is positive, so that the same rows give the same picture. */
int ck_pca_fit(struct ck_pca *p, const float *x, int64_t n, int dim, int components);
void ck_pca_release(struct ck_pca *p);

/* out [n][components] */
void ck_pca_project(const struct ck_pca *p, const float *x, int64_t n, float *out);

#endif
