/* start.h - initial centers from rows, and the initial dual step. */
#ifndef CK_START_H
#define CK_START_H

#include "cluster/scan.h"

enum ck_init { CK_INIT_AUTO, CK_INIT_SAMPLE, CK_INIT_PLUSPLUS };

/* center [k][ld], out: k different rows, or greedy k-means++ on a subsample; `how` is not auto.
 * Depends on the seed, not on the number of threads. */
int ck_start_centers(const struct ck_scan *s, enum ck_init how, uint64_t seed, int64_t k,
                     float *center);

/* Rows that greedy k-means++ looks at: a few per center are enough, and better than many, among
 * which it would find the outliers. Products that it computes. */
int64_t ck_start_rows(const struct ck_scan *s, int64_t k);
double ck_start_cost(const struct ck_scan *s, int64_t k);

/* Draws the centers with redraw[c] != 0 anew: random rows, or by k-means++ that begins with the
 * others. */
int ck_start_redraw(const struct ck_scan *s, enum ck_init how, uint64_t seed,
                    const uint8_t *redraw, int64_t k, float *center);

/* center [k][dim]: random unit vectors, for a head whose rows are not known yet; different for
 * each head. */
void ck_start_random(uint64_t seed, int head, int64_t k, int dim, float *center);

/* Median over at most 512 rows, evenly from x [n][ld], of (best - second best similarity) to the
 * centers [k][ld], of which there are at least 2. */
int ck_start_lead(const struct ck_kernels *kn, const float *x, int64_t n, int ld,
                  const float *center, int64_t k, double *gap);
/* Median over a sample of rows of (best - second best similarity) to the centers. */
int ck_start_gap(const struct ck_scan *s, uint64_t seed, const float *center, int64_t k,
                 double *gap);

/* The dual step that measured best (docs/results.md), from that gap. */
double ck_start_eta(double gap, int64_t batch, int64_t k, int64_t n);

#endif
