/* column_loss.c - losses of two views that compare the columns of a batch.
 *
 * Their cost is in products of [n][dim] and [dim][dim] matrices. */
#include "nn/column_loss.h"
#include "kernels/matrix.h"

#include <math.h>
#include <string.h>

static const double BARLOW_EPS = 1e-5, VICREG_EPS = 1e-4;

int64_t ck_column_scratch(int64_t n, int dim)
{
    return 2 * n * dim + (int64_t)dim * (dim + 1) + 2 * (int64_t)dim;
}

struct columns {
    int64_t n;
    int dim;
    double *y;       /* [2][n][dim] without their means; Barlow: divided by their deviations */
    double *m;       /* [dim][dim] correlations or covariances, then their gradients; room for
                        two rows if dim is 1 */
    double *inverse; /* [2][dim] one over the deviations */
    double *grad;    /* [2][n][dim] */
};

static struct columns place(int64_t n, int dim, double *scratch, double *grad)
{
    double *m = scratch + 2 * n * dim;
    return (struct columns){n, dim, scratch, m, m + (int64_t)dim * (dim + 1), grad};
}

/* m [dim][dim] = the sums over the images of the products of columns of a and b, both [n][dim]. */
static void correlate(const struct columns *c, const double *a, const double *b, double *m)
{
    ck_matrix_product(c->dim, c->dim, c->n, (struct ck_operand){a, 1, c->dim},
                      (struct ck_operand){b, c->dim, 1}, 0, m, c->dim);
}

/* The gradient of view v by the one of the sums, m or, with transposed, m transposed: the rows of y
 * times that. */
static void spread(const struct columns *c, int v, const double *y, const double *m,
                   int transposed)
{
    int64_t row = transposed ? 1 : c->dim, col = transposed ? c->dim : 1;
    ck_matrix_product(c->n, c->dim, c->dim, (struct ck_operand){y, c->dim, 1},
                      (struct ck_operand){m, row, col}, 0, c->grad + v * c->n * c->dim, c->dim);
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

/* Turns the sums of products in m into the gradient of the loss by them. Returns the loss. */
static double judge(const struct columns *c, double weight, double scale)
{
    double loss = 0, n = (double)c->n;
    for (int i = 0; i < c->dim; i++)
        for (int j = 0; j < c->dim; j++) {
            double *at = &c->m[(int64_t)i * c->dim + j], value = *at / n;
            double off = i == j ? value - 1 : value, w = scale * (i == j ? 1 : weight);
            loss += w * off * off;
            *at = 2 * w * off / n;
        }
    return loss;
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
    const double *other = c.y + n * dim;
    correlate(&c, c.y, other, c.m);
    double loss = judge(&c, weight, scale);
    spread(&c, 0, other, c.m, 1);
    spread(&c, 1, c.y, c.m, 0);
    through_standard(&c, 0);
    through_standard(&c, 1);
    return loss;
}

/* ---- VICReg ---- */

/* Turns the sums of products of a view into the gradient of the loss by them, as both factors of a
 * product get it. Returns the loss. */
static double weigh(const struct columns *c, const struct ck_vicreg_weights *w)
{
    double loss = 0, less = (double)c->n - 1, dim = c->dim;
    for (int64_t i = 0; i < (int64_t)c->dim * c->dim; i++) {
        double *at = &c->m[i], value = *at / less;
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

double ck_vicreg_loss(const double *x, int64_t n, int dim, const struct ck_vicreg_weights *w,
                      double *scratch, double *grad)
{
    struct columns c = place(n, dim, scratch, grad);
    double share = w->invariance / ((double)n * dim), loss = 0;
    for (int v = 0; v < 2; v++) {
        const double *y = c.y + v * n * dim;
        center(&c, x, v);
        correlate(&c, y, y, c.m);
        loss += weigh(&c, w);
        spread(&c, v, y, c.m, 0);
    }
    for (int64_t i = 0; i < n * dim; i++) {
        double apart = x[i] - x[n * dim + i];
        loss += share * apart * apart;
        grad[i] += 2 * share * apart;
        grad[n * dim + i] -= 2 * share * apart;
    }
    return loss;
}
