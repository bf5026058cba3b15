/* unit.h - scales rows to length 1, forward and backward.
 *
 * Split over the OpenMP team by rows; the same bytes for any number of threads. */
#ifndef CK_UNIT_H
#define CK_UNIT_H

#include <stdint.h>

/* Rows shorter than this are divided by it instead of by their length. */
#define CK_UNIT_MIN 1e-12f

/* unit [n][dim] = raw / max(|raw|, CK_UNIT_MIN), length [n] = |raw|. unit may be raw. */
void ck_unit_forward(const float *raw, int64_t n, int dim, float *unit, float *length);

/* Computes grad_raw [n][dim] from grad_unit and forward's results; it may be grad_unit. A row
 * shorter than CK_UNIT_MIN was divided by a constant, and so is its gradient. */
void ck_unit_backward(const float *unit, const float *length, const float *grad_unit, int64_t n,
                      int dim, float *grad_raw);

#endif
