/* column_loss.c - losses of two views that compare the columns of a batch.
 *
 * Their cost is in products of [n][dim] and [dim][dim] matrices. A row of a product is computed by
 * one thread, as a sum of scaled rows: the compiler makes vector instructions of that without
 * reordering a sum. */
#include "nn/column_loss.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

static const double BARLOW_EPS = 1e-5, VICREG_EPS = 1e-4;

int64_t ck_column_scratch(int64_t n, int dim)
{
    return 2 * n * dim + 2 * (int64_t)dim * dim + 2 * (int64_t)dim;
}

struct columns {
    int64_t n;
    int dim;
    double *y;       /* [2][n][dim] without their means; Barlow: divided by their deviations */
    double *m;       /* [2][dim][dim] correlations or covariances, then their gradients */
    double *inverse; /* [2][dim] one over the deviations */
    double *grad;    /* [2][n][dim] */
};

static struct columns place(int64_t n, int dim, double *scratch, double *grad)
{
    double *m = scratch + 2 * n * dim;
    return (struct columns){n, dim, scratch, m, m + 2 * (int64_t)dim * dim, grad};
}

/* out [cols] = sum over r of a[r * stride] * m[r][cols] */
static void combine(double *out, const double *a, int64_t stride, const double *m, int64_t rows,
                    int cols)
{
    int64_t r = 0;
    memset(out, 0, (size_t)cols * sizeof *out);
    for (; r + 4 <= rows; r += 4) {
        const double *p = m + r * cols, *q = p + cols, *s = q + cols, *t = s + cols;
        double f0 = a[r * stride], f1 = a[(r + 1) * stride], f2 = a[(r + 2) * stride],
               f3 = a[(r + 3) * stride];
        for (int j = 0; j < cols; j++)
            out[j] += (f0 * p[j] + f1 * q[j]) + (f2 * s[j] + f3 * t[j]);
    }
    for (; r < rows; r++)
        for (int j = 0; j < cols; j++)
            out[j] += a[r * stride] * m[r * cols + j];
}

/* y becomes x without the means of the columns of view v, which are left in inverse. */
static void center(const struct columns *c, const double *x, int v)
{
    double *y = c->y + v * c->n * c->dim, *mean = c->inverse + v * c->dim;
    int64_t all = c->n * c->dim;
    memset(mean, 0, (size_t)c->dim * sizeof *mean);
    for (int64_t i = 0; i < all; i++)
        mean[i % c->dim] += x[v * all + i] / (double)c->n;
    for (int64_t i = 0; i < all; i++)
        y[i] = x[v * all + i] - mean[i % c->dim];
}

/* ---- Barlow Twins ---- */

static void standardize(const struct columns *c, const double *x, int v)
{
    double *y = c->y + v * c->n * c->dim, *inverse = c->inverse + v * c->dim;
    center(c, x, v);
    memset(inverse, 0, (size_t)c->dim * sizeof *inverse);
    for (int64_t i = 0; i < c->n * c->dim; i++)
        inverse[i % c->dim] += y[i] * y[i] / (double)c->n;
    for (int j = 0; j < c->dim; j++)
        inverse[j] = 1 / sqrt(inverse[j] + BARLOW_EPS);
    for (int64_t i = 0; i < c->n * c->dim; i++)
        y[i] *= inverse[i % c->dim];
}

/* Row i of the sum over images of the products of both views. */
static void correlate(void *arg, int64_t i, int worker)
{
    const struct columns *c = arg;
    (void)worker;
    combine(c->m + i * c->dim, c->y + i, c->dim, c->y + c->n * c->dim, c->n, c->dim);
}

/* Turns the sums of products in m into the gradient of the loss by them, and a transposed copy.
 * Returns the loss. */
static double judge(const struct columns *c, double weight, double scale)
{
    double *transposed = c->m + (int64_t)c->dim * c->dim, loss = 0, n = (double)c->n;
    for (int i = 0; i < c->dim; i++)
        for (int j = 0; j < c->dim; j++) {
            double *at = &c->m[(int64_t)i * c->dim + j], value = *at / n;
            double off = i == j ? value - 1 : value, w = scale * (i == j ? 1 : weight);
            loss += w * off * off;
            *at = transposed[(int64_t)j * c->dim + i] = 2 * w * off / n;
        }
    return loss;
}

/* Row i of both views: the gradient by the standardized values. */
static void spread(void *arg, int64_t i, int worker)
{
    const struct columns *c = arg;
    int v = i < c->n ? 0 : 1;
    int64_t image = i - v * c->n, square = (int64_t)c->dim * c->dim;
    const double *other = c->y + (1 - v) * c->n * c->dim + image * c->dim;
    (void)worker;
    combine(c->grad + i * c->dim, other, 1, v ? c->m : c->m + square, c->dim, c->dim);
}

/* From the gradient by the standardized values to that by the values: m has room for the sums. */
static void through_standard(const struct columns *c, int v)
{
    double *g = c->grad + v * c->n * c->dim, *mean = c->m, *along = c->m + c->dim;
    const double *y = c->y + v * c->n * c->dim, *inverse = c->inverse + v * c->dim;
    memset(mean, 0, (size_t)c->dim * sizeof *mean);
    memset(along, 0, (size_t)c->dim * sizeof *along);
    for (int64_t i = 0; i < c->n * c->dim; i++) {
        mean[i % c->dim] += g[i] / (double)c->n;
        along[i % c->dim] += g[i] * y[i] / (double)c->n;
    }
    for (int64_t i = 0; i < c->n * c->dim; i++) {
        int64_t j = i % c->dim;
        g[i] = inverse[j] * (g[i] - mean[j] - y[i] * along[j]);
    }
}

double ck_barlow_loss(const double *x, int64_t n, int dim, double weight, double scale,
                      double *scratch, double *grad)
{
    struct columns c = place(n, dim, scratch, grad);
    standardize(&c, x, 0);
    standardize(&c, x, 1);
    ck_parallel(dim, correlate, &c);
    double loss = judge(&c, weight, scale);
    ck_parallel(2 * n, spread, &c);
    through_standard(&c, 0);
    through_standard(&c, 1);
    return loss;
}

/* ---- VICReg ---- */

/* Row i of both views: the sums of products of a view's columns. */
static void covary(void *arg, int64_t i, int worker)
{
    const struct columns *c = arg;
    int v = i < c->dim ? 0 : 1;
    const double *y = c->y + v * c->n * c->dim;
    (void)worker;
    combine(c->m + i * c->dim, y + i - v * c->dim, c->dim, y, c->n, c->dim);
}

/* Turns the sums of products of view v into the gradient of the loss by them, as both factors of a
 * product get it. Returns the loss. */
static double weigh(const struct columns *c, int v, const struct ck_vicreg_weights *w)
{
    double loss = 0, less = (double)c->n - 1, dim = c->dim;
    for (int64_t i = 0; i < (int64_t)c->dim * c->dim; i++) {
        double *at = &c->m[(int64_t)v * c->dim * c->dim + i], value = *at / less;
        if (i % (c->dim + 1) != 0) {
            loss += w->covariance * value * value / dim;
            *at = 4 * w->covariance * value / (dim * less);
            continue;
        }
        double deviation = sqrt(value + VICREG_EPS), share = 0.5 * w->variance / dim;
        loss += deviation < 1 ? share * (1 - deviation) : 0;
        *at = deviation < 1 ? -share / (deviation * less) : 0;
    }
    return loss;
}

/* Row i of both views: the gradient of variances and covariances. */
static void spread_back(void *arg, int64_t i, int worker)
{
    const struct columns *c = arg;
    int64_t m = i < c->n ? 0 : (int64_t)c->dim * c->dim;
    (void)worker;
    combine(c->grad + i * c->dim, c->y + i * c->dim, 1, c->m + m, c->dim, c->dim);
}

double ck_vicreg_loss(const double *x, int64_t n, int dim, const struct ck_vicreg_weights *w,
                      double *scratch, double *grad)
{
    struct columns c = place(n, dim, scratch, grad);
    double share = w->invariance / ((double)n * dim);
    center(&c, x, 0);
    center(&c, x, 1);
    ck_parallel(2 * dim, covary, &c);
    double loss = weigh(&c, 0, w) + weigh(&c, 1, w);
    ck_parallel(2 * n, spread_back, &c);
    for (int64_t i = 0; i < n * dim; i++) {
        double apart = x[i] - x[n * dim + i];
        loss += share * apart * apart;
        grad[i] += 2 * share * apart;
        grad[n * dim + i] -= 2 * share * apart;
    }
    return loss;
}
