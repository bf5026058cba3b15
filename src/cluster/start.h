/* start.h - initial centers from rows, and the initial dual step. */
#ifndef CK_START_H
#define CK_START_H

#include "cluster/scan.h"

enum ck_init { CK_INIT_AUTO, CK_INIT_SAMPLE, CK_INIT_PLUSPLUS };

struct coke_callbacks;

/* center [k][ld], out: k different rows, or greedy k-means++ on a subsample; `how` is not auto.
 * A few rows per center are enough, and better than many, among which it would find the outliers.
 * Depends on the seed, not on the number of threads. The callbacks may be NULL. */
int ck_start_centers(const struct ck_scan *s, enum ck_init how, uint64_t seed, int64_t k,
                     float *center, const struct coke_callbacks *callbacks);

/* Does greedy k-means++ take a fraction of a second, or at most as long as an epoch with a sample of
 * at most 256 MB? An estimate: it must not depend on the clock. Never on a one-pass stream. */
int ck_start_is_cheap(const struct ck_scan *s, int64_t k);

/* Draws the centers with redraw[c] != 0 anew: random rows, or by k-means++ that begins with the
 * others. */
int ck_start_redraw(const struct ck_scan *s, enum ck_init how, uint64_t seed,
                    const uint8_t *redraw, int64_t k, float *center,
                    const struct coke_callbacks *callbacks);

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
