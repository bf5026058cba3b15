/* stream_start.h - what a stream needs before its first batch moves anything: unit rows, initial
 * centers, and the step of the duals. */
#ifndef CK_STREAM_START_H
#define CK_STREAM_START_H

#include "core/rows.h"

struct coke_kmeans;

/* Divides rows x [n][dim] by their lengths, in place, on all threads: the same bits as the rows of
 * a whole clustering. A row without direction is COKE_ENUMERIC; others may be done by then. */
int ck_normalize_rows(float *x, int64_t n, int dim);

/* centers [k][dim], out: rows chosen by k-means++ from a sample; by cosine unit vectors. metric:
 * enum coke_metric. */
int ck_start_from_rows(struct coke_rows *rows, int metric, int64_t k, uint64_t seed,
                       float *centers);

/* Before a batch x [n][ld]: sets the step of the duals if there are bounds and the step is still
 * automatic, by the rule of a whole clustering (ck_start_eta), from the rows of this batch. */
int ck_kmeans_choose_eta(struct coke_kmeans *km, const float *x, int64_t n);

#endif
