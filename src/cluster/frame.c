/* frame.c - the inner coordinates, in which every score is a dot product. */
#include "cluster/frame.h"
#include "core/error.h"
#include "core/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

static int euclidean(const struct ck_frame *f)
{
    return f->metric == COKE_METRIC_EUCLIDEAN;
}

int ck_frame_init(struct ck_frame *f, int metric, int dim)
{
    *f = (struct ck_frame){.metric = metric, .dim = dim, .unit = 1};
    f->ld = ck_padded(euclidean(f) ? dim + 1 : dim);
    f->reference = ck_calloc_array((size_t)f->ld, sizeof *f->reference);
    return f->reference ? COKE_OK : COKE_ENOMEM;
}

void ck_frame_release(struct ck_frame *f)
{
    ck_free(f->reference);
    f->reference = NULL;
}

void ck_frame_copy(struct ck_frame *f, const struct ck_frame *from)
{
    f->unit = from->unit;
    f->reach = from->reach;
    memcpy(f->reference, from->reference, (size_t)f->ld * sizeof *f->reference);
}

int ck_frame_equal(const struct ck_frame *a, const struct ck_frame *b)
{
    return a->metric == b->metric && a->dim == b->dim && a->unit == b->unit &&
           a->reach == b->reach &&
           memcmp(a->reference, b->reference, (size_t)a->ld * sizeof *a->reference) == 0;
}

/* A grid of at most a quarter of what each column contributes to the spread. */
void ck_frame_set_reference(struct ck_frame *f, const double *mean, double spread)
{
    int exponent;
    frexp(spread / (4 * sqrt((double)f->dim)), &exponent);
    double grid = spread > 0 ? ldexp(1, exponent - 1) : 0;
    for (int j = 0; j < f->dim; j++)
        f->reference[j] = (float)(grid > 0 ? rint(mean[j] / grid) * grid : mean[j]);
}

void ck_frame_set_unit(struct ck_frame *f, double longest)
{
    int exponent;
    if (!(longest > 0))
        return;
    if (frexp(longest, &exponent) == 0.5) /* 2^(e-1) itself gets length 1 */
        exponent--;
    exponent = exponent > 120 ? 120 : exponent < -100 ? -100 : exponent;
    f->unit = (float)ldexp(1, -exponent);
}

/* Length of v - m, in double: v need not be in range. */
static double distance(const struct ck_frame *f, const float *v)
{
    double sum = 0;
    for (int j = 0; j < f->dim; j++) {
        double d = (double)v[j] - (double)f->reference[j];
        sum += d * d;
    }
    return sqrt(sum);
}

/* The spread is measured from the mean as it is, before rounding. Centers that coincide have
 * none: their own length takes its place. */
int ck_frame_fit_centers(struct ck_frame *f, const float *centers, int64_t k)
{
    if (!euclidean(f))
        return COKE_OK;
    double *mean = ck_calloc_array((size_t)f->dim, sizeof *mean), spread = 0, longest = 0;
    if (!mean)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < k * f->dim; i++)
        mean[i % f->dim] += (double)centers[i] / (double)k;
    for (int64_t i = 0; i < k; i++)
        longest = fmax(longest, distance(f, centers + i * f->dim));
    ck_frame_set_reference(f, mean, 0);
    for (int64_t i = 0; i < k; i++)
        spread = fmax(spread, distance(f, centers + i * f->dim));
    ck_frame_set_reference(f, mean, spread);
    for (int64_t i = 0; i < k; i++)
        spread = fmax(spread, distance(f, centers + i * f->dim));
    ck_frame_set_unit(f, spread > 0x1p-20 * longest ? spread : longest);
    ck_free(mean);
    return COKE_OK;
}

double ck_frame_scale(const struct ck_frame *f)
{
    return 1 / ((double)f->unit * (double)f->unit);
}

/* x - m in units, with the last column 0; 0 if a number is too large. The comparison is false
 * for NaN. */
static int shift(const struct ck_frame *f, float *x)
{
    int good = 1;
    for (int j = 0; j < f->dim; j++) {
        good &= fabsf(x[j]) <= CK_FRAME_LARGEST;
        x[j] = (x[j] - f->reference[j]) * f->unit;
    }
    return good;
}

int ck_frame_row(const struct ck_frame *f, const struct ck_kernels *kn, float *x, float weight)
{
    if (!euclidean(f)) {
        double length = ck_normalize(kn, x, f->ld);
        if (!(length > 0) || !isfinite(length))
            return 0;
    } else {
        if (!shift(f, x))
            return 0;
        if (f->reach > 0 && !(kn->dot(x, x, f->ld) <= f->reach * f->reach))
            return 0;
        x[f->dim] = 1;
    }
    for (int j = 0; weight != 1 && j < f->ld; j++)
        x[j] *= weight;
    return 1;
}

int ck_frame_center(const struct ck_frame *f, const struct ck_kernels *kn, float *c)
{
    float largest = euclidean(f) ? CK_FRAME_LARGEST : FLT_MAX;
    for (int j = 0; j < f->dim; j++)
        if (!(fabsf(c[j]) <= largest))
            return j;
    if (euclidean(f)) {
        shift(f, c);
        ck_frame_close(f, kn, c);
    }
    return -1;
}

void ck_frame_close(const struct ck_frame *f, const struct ck_kernels *kn, float *c)
{
    if (!euclidean(f)) {
        ck_normalize(kn, c, f->ld);
        return;
    }
    c[f->dim] = 0;
    c[f->dim] = -0.5f * kn->dot(c, c, f->ld);
}

void ck_frame_center_out(const struct ck_frame *f, const float *c, float *out)
{
    for (int j = 0; j < f->dim; j++)
        out[j] = euclidean(f) ? c[j] / f->unit + f->reference[j] : c[j];
}

/* The differences in pieces, so that they fit on the stack whatever the dimension; kn->dot gives
 * the same bits on every CPU. */
double ck_frame_square(const struct ck_frame *f, const struct ck_kernels *kn, const float *x,
                       const float *c)
{
    enum { PIECE = 256 };
    float d[PIECE], w = x[f->dim];
    double sum = 0;
    for (int at = 0; at < f->dim; at += PIECE) {
        int n = f->dim - at < PIECE ? f->dim - at : PIECE;
        for (int j = 0; j < n; j++)
            d[j] = x[at + j] - w * c[at + j];
        for (int j = n; j < ck_padded(n); j++)
            d[j] = 0;
        sum += (double)kn->dot(d, d, ck_padded(n));
    }
    return sum / (double)w;
}

double ck_frame_row_square(const struct ck_frame *f, const struct ck_kernels *kn,
                           const float *x)
{
    if (!euclidean(f))
        return 0;
    double lift = (double)x[f->dim];
    return lift > 0 ? ((double)kn->dot(x, x, f->ld) - lift * lift) / lift : 0;
}

void ck_frame_center_row(const struct ck_frame *f, const float *c, float *x)
{
    memcpy(x, c, (size_t)f->ld * sizeof *x);
    if (euclidean(f))
        x[f->dim] = 1;
}

int ck_frame_assigner(struct ck_assigner **out, const struct ck_frame *f,
                      const struct ck_kernels *kn, const float *center, int64_t k)
{
    CK_RETURN_IF(ck_assigner_new(out, kn, center, k, f->ld));
    if (euclidean(f))
        ck_assigner_lift(*out, f->dim);
    return COKE_OK;
}
