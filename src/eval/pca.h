/* pca.h - principal component analysis. */
#ifndef CK_PCA_H
#define CK_PCA_H

#include <stdint.h>

enum { CK_PCA_MAX = 8 }; /* components */

/* Owns mean and axis. */
struct ck_pca {
    int dim, components;
    float *mean;                 /* [dim] */
    float *axis;                 /* [components][dim] unit vectors, largest variance first */
    double variance[CK_PCA_MAX]; /* along each axis */
    double total;                /* sum over all dimensions */
};

/* Fits x [n][dim], n >= 1. With fewer dimensions than components the last axes are 0. The
 * largest coordinate of an axis is positive, so that equal rows give equal results. Releases *p
 * on failure. */
int ck_pca_fit(struct ck_pca *p, const float *x, int64_t n, int dim, int components);
void ck_pca_release(struct ck_pca *p);

/* Writes out [n][components]. Any thread. */
void ck_pca_project(const struct ck_pca *p, const float *x, int64_t n, float *out);

#endif
