/* update.h - the arithmetic of optimizers, on one piece of a parameter and its gradient.
 *
 * nn/optimizer.c cuts parameters into pieces and calls these from its workers: they compute on
 * the calling thread. kernels_layers_ref.c defines the results; all versions return its bits. */
#ifndef CK_UPDATE_H
#define CK_UPDATE_H

#include <stdint.h>

/* dp = grad * scale + decay * p; momentum m = keep * m + dp * trust; p -= rate * m; every
 * product and sum rounded to f32. */
struct ck_update_rule {
    float scale, decay, keep, trust, rate;
};

/* What a piece contributes to the norms: sums in double of exact squares, element i in lane
 * i % 16, lanes then folded by halves. */
struct ck_update_norms {
    double square, change; /* sums of p^2 and dp^2 */
    int64_t bad;           /* number of gradients that are not finite */
};

void ck_update_measure(const struct ck_update_rule *u, int64_t n, const float *p,
                       const float *grad, struct ck_update_norms *out);
/* The number of gradients that are not finite. */
int64_t ck_update_check(int64_t n, const float *grad);
/* p, m and grad do not overlap. */
void ck_update_move(const struct ck_update_rule *u, int64_t n, const float *grad, float *p,
                    float *m);

#endif
