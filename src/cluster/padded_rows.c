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

static int usable(const struct ck_frame *f, float *x)
{
    int good = 1;
    if (f->metric == COKE_METRIC_EUCLIDEAN)
        return ck_frame_row(f, ck_kernels(), x, 1);
    for (int j = 0; j < f->dim; j++)
        good &= fabsf(x[j]) <= CK_BATCH_LARGEST;
    return good;
}

static int complain(const struct ck_frame *f, int64_t i)
{
    if (f->metric == COKE_METRIC_EUCLIDEAN)
        return ck_fail(COKE_ENUMERIC,
                       "row %lld of the batch has a number that is not finite or beyond %g, or "
                       "is %g times farther away than the first centers are from each other: "
                       "start from centers that span the rows",
                       (long long)i, (double)CK_FRAME_LARGEST, (double)CK_FRAME_REACH);
    return ck_fail(COKE_ENUMERIC,
                   "row %lld of the batch has a number that is not finite, or beyond %g: "
                   "normalise the rows",
                   (long long)i, (double)CK_BATCH_LARGEST);
}

int ck_padded_rows_fill(struct ck_padded_rows *b, const float *x, int64_t n,
                        const struct ck_frame *frame)
{
    int ld = frame->ld, dim = frame->dim;
    /* calloc, once: the padding columns stay zero, only the first ones are ever written */
    if (n > b->room) {
        float *more = ck_calloc_array((size_t)(n + CK_TILE), (size_t)ld * sizeof *more);
        if (!more)
            return COKE_ENOMEM;
        ck_free(b->x);
        b->x = more;
        b->room = n;
    }
    for (int64_t i = 0; i < n; i++) {
        float *to = b->x + i * ld;
        memcpy(to, x + i * dim, (size_t)dim * sizeof *to);
        if (frame->metric == COKE_METRIC_EUCLIDEAN)
            to[dim] = 0; /* an earlier batch left 1 */
        if (!usable(frame, to))
            return complain(frame, i);
    }
    return COKE_OK;
}
