/* update.c - the arithmetic of optimizers, on the version of the layers' kernels in use. */
#include "kernels/update.h"
#include "kernels/kernels_layers.h"

void ck_update_measure(const struct ck_update_rule *u, int64_t n, const float *p,
                       const float *grad, struct ck_update_norms *out)
{
    ck_layer_kernels()->update_measure(u, n, p, grad, out);
}

int64_t ck_update_check(int64_t n, const float *grad)
{
    return ck_layer_kernels()->update_check(n, grad);
}

void ck_update_move(const struct ck_update_rule *u, int64_t n, const float *grad, float *p,
                    float *m)
{
    ck_layer_kernels()->update_move(u, n, grad, p, m);
}
