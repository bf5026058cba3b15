/* unit.h - rows of length 1, and the gradient through it. */
#ifndef CK_UNIT_H
#define CK_UNIT_H

#include <stdint.h>

/* Shorter rows are divided by this instead of by their length. */
#define CK_UNIT_LEAST 1e-12f

/* unit [n][dim] = raw / max(|raw|, CK_UNIT_LEAST), length [n] = |raw|. unit may be raw. */
void ck_unit_forward(const float *raw, int64_t n, int dim, float *unit, float *length);

/* grad_raw [n][dim] from grad_unit and what forward gave; it may be grad_unit. A row shorter
 * than CK_UNIT_LEAST was divided by a constant, and so is its gradient. */
void ck_unit_backward(const float *unit, const float *length, const float *grad_unit, int64_t n,
                      int dim, float *grad_raw);

#endif
