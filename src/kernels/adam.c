/* adam.c - the arithmetic of Adam and AdamW, on one piece of a parameter and its gradient. */
#include "kernels/adam.h"

#include <math.h>

void ck_adam_move(const struct ck_adam_rule *u, int64_t n, const float *grad, float *p,
                  float *m, float *s)
{
    float take = 1 - u->keep, take_second = 1 - u->keep_second;
    for (int64_t i = 0; i < n; i++) {
        float dp = grad[i] * u->scale + u->decay * p[i];
        m[i] = u->keep * m[i] + take * dp;
        s[i] = u->keep_second * s[i] + take_second * (dp * dp);
        p[i] = u->shrink * p[i] - u->rate * (m[i] / (sqrtf(s[i]) * u->second_scale + u->eps));
    }
}
