/* coding_loss.c - the loss of EMP-SSL.
 *
 * Of the matrices I + a X^T X [dim][dim] and G = I + a X X^T [n][n], which have the same
 * determinant, the second is used: the derivative a X (I + a X^T X)^-1 of the rate is a G^-1 X. */
#include "nn/coding_loss.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

struct coding {
    const double *x; /* [views][n][dim] */
    int views, dim;
    int64_t n;
    double a;
    double *gram; /* [views][n][n], then the factors L of G = L L^T below and on the diagonal */
    double *rate; /* [views] */
    double *grad;
};

int64_t ck_coding_scratch(int views, int64_t n)
{
    return views * (n * n + 1);
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

/* to -= f * from */
static void subtract(double *to, double f, const double *from, int dim)
{
    for (int j = 0; j < dim; j++)
        to[j] -= f * from[j];
}

/* G becomes L in place, row by row. Returns half the logarithm of its determinant. */
static double factor(double *g, int64_t n)
{
    double half = 0;
    for (int64_t i = 0; i < n; i++) {
        double *row = g + i * n;
        for (int64_t j = 0; j < i; j++)
            row[j] = (row[j] - dot(row, g + j * n, j)) / g[j * n + j];
        row[i] = sqrt(row[i] - dot(row, row, i));
        half += log(row[i]);
    }
    return half;
}

/* y [n][dim] becomes (L L^T)^-1 y. */
static void solve(const double *l, int64_t n, double *y, int dim)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++)
            subtract(y + i * dim, l[i * n + j], y + j * dim, dim);
        for (int d = 0; d < dim; d++)
            y[i * dim + d] /= l[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++)
            subtract(y + i * dim, l[j * n + i], y + j * dim, dim);
        for (int d = 0; d < dim; d++)
            y[i * dim + d] /= l[i * n + i];
    }
}

/* Rate and gradient of view v. */
static void code(void *arg, int64_t v, int worker)
{
    const struct coding *c = arg;
    int64_t all = c->n * c->dim;
    const double *x = c->x + v * all;
    double *g = c->gram + v * c->n * c->n, *grad = c->grad + v * all;
    (void)worker;
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j <= i; j++)
            g[i * c->n + j] = (i == j) + c->a * dot(x + i * c->dim, x + j * c->dim, c->dim);
    c->rate[v] = factor(g, c->n) / c->views;
    memcpy(grad, x, (size_t)all * sizeof *grad);
    solve(g, c->n, grad, c->dim);
    for (int64_t i = 0; i < all; i++)
        grad[i] *= -c->a / c->views;
}

/* The mean of an image's unit vectors has the length of their mean cosine with it. Adds weight
 * times the gradient, and returns the sum over the images. */
static double agree(const struct coding *c, double weight)
{
    double sum = 0;
    int64_t all = c->n * c->dim;
    for (int64_t i = 0; i < c->n; i++) {
        double square = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t d = i * c->dim; d < (i + 1) * c->dim; d++) {
                double mean = 0;
                for (int v = 0; v < c->views; v++)
                    mean += c->x[v * all + d] / c->views;
                square += pass ? 0 : mean * mean;
                double by = weight * mean / (fmax(sqrt(square), 1e-8) * c->views);
                for (int v = 0; pass && v < c->views; v++)
                    c->grad[v * all + d] -= by / (double)c->n;
            }
        sum += sqrt(square);
    }
    return sum;
}

double ck_coding_loss(const double *x, int views, int64_t n, int dim, double weight, double eps,
                      double *scratch, double *grad)
{
    double rate = 0;
    struct coding c = {.x = x,
                       .views = views,
                       .dim = dim,
                       .n = n,
                       .a = dim / ((double)n * eps),
                       .gram = scratch,
                       .rate = scratch + views * n * n,
                       .grad = grad};
    ck_parallel(views, code, &c);
    for (int v = 0; v < views; v++)
        rate += c.rate[v];
    return -weight * agree(&c, weight) / (double)n - rate;
}
