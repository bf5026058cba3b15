/* hints.c - warns before a clustering by cosine where the rows suggest another metric.
 * The limits are wide, so that ordinary embeddings, normalized or not, are left alone. */
#include "cluster/hints.h"
#include "core/callbacks.h"
#include "core/mem.h"
#include "core/rng.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 512, ENOUGH = 32 };

static const double one_way = 0.99, wide = 4;

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Adds the direction of x [dim] to mean; returns its length, 0 = it has none. */
static double add_direction(const float *x, int dim, double *mean)
{
    double square = 0;
    for (int j = 0; j < dim; j++)
        square += (double)x[j] * (double)x[j];
    double length = sqrt(square);
    if (!(length > 0) || !isfinite(length))
        return 0;
    for (int j = 0; j < dim; j++)
        mean[j] += (double)x[j] / length;
    return length;
}

/* The mean cosine to the mean direction is the length of the mean of the directions. */
static void judge(const struct coke_callbacks *cb, double *length, int n, double cosine)
{
    qsort(length, (size_t)n, sizeof *length, ascending);
    double spread = length[n - 1 - n / 10] / length[n / 10];
    if (cosine > one_way)
        ck_warn(
            cb,
            "the rows all point one way (mean cosine %.4f to their mean), so that the cosine "
            "hardly tells them apart; use metric=euclidean, or subtract their mean",
            cosine);
    else if (spread > wide)
        ck_warn(
            cb,
            "the rows are not of unit length: a tenth is %.3g times as long as another tenth, "
            "which the cosine ignores; did you mean metric=euclidean?",
            spread);
}

int ck_hints_give(const struct ck_scan *s, uint64_t seed, const struct coke_callbacks *cb)
{
    struct coke_rows *rows = s->rows;
    int dim = rows->dim, used = 0;
    if (s->frame.metric != COKE_METRIC_COSINE || rows->one_pass || rows->n < ENOUGH)
        return COKE_OK;
    float *x = ck_alloc_array((size_t)dim, sizeof *x);
    double *mean = ck_calloc_array((size_t)dim, sizeof *mean), length[ROWS], square = 0;
    for (int i = 0; x && mean && i < ROWS; i++) {
        int64_t row =
            (int64_t)ck_rng_below(seed, CK_RNG_SAMPLE, (uint64_t)i, 2, (uint64_t)rows->n);
        if (rows->get(rows, &row, 1, x, dim))
            break; /* the clustering will meet the failure, too, and return it */
        length[used] = add_direction(x, dim, mean);
        used += length[used] > 0;
    }
    for (int j = 0; mean && j < dim && used; j++)
        square += mean[j] / used * (mean[j] / used);
    if (used >= ENOUGH)
        judge(cb, length, used, sqrt(square));
    int rc = x && mean ? COKE_OK : COKE_ENOMEM;
    ck_free(x);
    ck_free(mean);
    return rc;
}
