/* adam.h - the arithmetic of Adam and AdamW, on one piece of a parameter and its gradient.
 *
 * nn/optimizer.c calls it from its workers, as update.h. One version for all instruction sets:
 * every operation is rounded to f32. */
#ifndef CK_ADAM_H
#define CK_ADAM_H

#include <stdint.h>

/* p = shrink * p; dp = grad * scale + decay * p; m = keep * m + (1 - keep) * dp;
 * s = keep_second * s + (1 - keep_second) * dp^2; p -= rate * m / (sqrt(s) * second_scale + eps).
 * The caller puts the bias corrections into rate and second_scale. */
struct ck_adam_rule {
    float scale, decay, shrink, keep, keep_second, rate, second_scale, eps;
};

/* p, m, s and grad do not overlap. */
void ck_adam_move(const struct ck_adam_rule *u, int64_t n, const float *grad, float *p,
                  float *m, float *s);

#endif
