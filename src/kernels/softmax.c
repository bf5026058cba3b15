/* softmax.c - selects the version of the softmax kernels, and holds the part common to all. */
#include "kernels/softmax.h"
#include "kernels/kernels.h"

#include <string.h>

const struct ck_softmax *ck_softmax_named(const char *name)
{
    if (!ck_kernels_named(name))
        return NULL;
#if defined(__x86_64__)
    if (strcmp(name, "avx2") == 0)
        return &ck_softmax_avx2;
    if (strcmp(name, "avx512") == 0 || strcmp(name, "vnni") == 0)
        return &ck_softmax_avx512;
#endif
    return &ck_softmax_ref;
}

/* Compares names on every call: callers fetch the table once and keep it. */
const struct ck_softmax *ck_softmax(void)
{
    return ck_softmax_named(ck_kernels()->name);
}

void ck_soft_block(const float *x, int64_t rows, int dim, float *xt)
{
    if (rows < CK_SOFT_ROWS)
        memset(xt, 0, (size_t)dim * CK_SOFT_ROWS * sizeof *xt);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < dim; j++)
            xt[j * CK_SOFT_ROWS + r] = x[r * dim + j];
}
