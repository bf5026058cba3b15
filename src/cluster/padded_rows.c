/* padded_rows.c - rows of the caller's layout, checked and padded for the kernels. */
#include "cluster/padded_rows.h"
#include "core/error.h"
#include "core/mem.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

void ck_padded_rows_release(struct ck_padded_rows *b)
{
    ck_free(b->x);
    memset(b, 0, sizeof *b);
}

int ck_padded_rows_fill(struct ck_padded_rows *b, const float *x, int64_t n, int dim)
{
    int ld = ck_padded(dim);
    /* calloc, once: the padding columns stay zero, only the first dim are ever written */
    if (n > b->room) {
        float *more = ck_calloc_array((size_t)(n + CK_TILE), (size_t)ld * sizeof *more);
        if (!more)
            return COKE_ENOMEM;
        ck_free(b->x);
        b->x = more;
        b->room = n;
    }
    for (int64_t i = 0; i < n; i++) {
        const float *from = x + i * dim;
        int bad = 0;
        for (int j = 0; j < dim; j++)
            bad |= !(fabsf(from[j]) <= CK_BATCH_LARGEST);
        if (bad)
            return ck_fail(COKE_ENUMERIC,
                           "row %lld of the batch has a number that is not finite, or "
                           "beyond %g: normalise the rows",
                           (long long)i, (double)CK_BATCH_LARGEST);
        memcpy(b->x + i * ld, from, (size_t)dim * sizeof *from);
    }
    return COKE_OK;
}
