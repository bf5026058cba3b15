/* softmax.c - selects the version of the softmax kernels, and holds the part common to all. */
#include "kernels/softmax.h"
#include "kernels/kernels.h"

#include <string.h>

static const struct ck_softmax *version_for(const struct ck_kernels *k)
{
    k = ck_kernels_f32(k);
#if defined(__x86_64__)
    if (k == &ck_kernels_avx512)
        return &ck_softmax_avx512;
    if (k == &ck_kernels_avx2)
        return &ck_softmax_avx2;
#endif
    return k ? &ck_softmax_ref : NULL;
}

const struct ck_softmax *ck_softmax_named(const char *name)
{
    return version_for(ck_kernels_named(name));
}

const struct ck_softmax *ck_softmax(void)
{
    return version_for(ck_kernels());
}

void ck_soft_block(const float *x, int64_t rows, int dim, float *xt)
{
    if (rows < CK_SOFT_ROWS)
        memset(xt, 0, (size_t)dim * CK_SOFT_ROWS * sizeof *xt);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < dim; j++)
            xt[j * CK_SOFT_ROWS + r] = x[r * dim + j];
}
