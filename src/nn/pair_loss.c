/* pair_loss.c - losses of two views that compare all images of a batch. */
#include "nn/pair_loss.h"
#include "core/workers.h"

#include <math.h>

static double dot(const double *a, const double *b, int dim)
{
    double sum = 0;
    for (int j = 0; j < dim; j++)
        sum += a[j] * b[j];
    return sum;
}

/* ---- SimCLR ---- */

struct simclr {
    const double *x;
    int64_t rows; /* 2n */
    int dim;
    double temperature;
    double *p; /* [rows][rows] */
    double *grad;
};

/* Row i of p: the softmax over the others, less 1 at the other view; the diagonal gets the loss of
 * the row, which no vector meets otherwise. */
static void soften(void *arg, int64_t i, int worker)
{
    const struct simclr *s = arg;
    double *p = s->p + i * s->rows, top = -INFINITY, sum = 0;
    int64_t other = (i + s->rows / 2) % s->rows;
    (void)worker;
    for (int64_t j = 0; j < s->rows; j++) {
        p[j] = dot(s->x + i * s->dim, s->x + j * s->dim, s->dim) / s->temperature;
        top = j != i && p[j] > top ? p[j] : top;
    }
    double own = p[other];
    for (int64_t j = 0; j < s->rows; j++)
        sum += p[j] = j == i ? 0 : exp(p[j] - top);
    for (int64_t j = 0; j < s->rows; j++)
        p[j] /= sum;
    p[other] -= 1;
    p[i] = top + log(sum) - own;
}

/* A vector has a gradient by its own row and by its column. */
static void collect(void *arg, int64_t i, int worker)
{
    const struct simclr *s = arg;
    double *g = s->grad + i * s->dim, scale = 1 / ((double)s->rows * s->temperature);
    (void)worker;
    for (int d = 0; d < s->dim; d++)
        g[d] = 0;
    for (int64_t j = 0; j < s->rows; j++) {
        double both = scale * (s->p[i * s->rows + j] + s->p[j * s->rows + i]);
        const double *x = s->x + j * s->dim;
        for (int d = 0; j != i && d < s->dim; d++)
            g[d] += both * x[d];
    }
}

double ck_simclr_loss(const double *x, int64_t n, int dim, double temperature, double *scratch,
                      double *grad)
{
    struct simclr s = {x, 2 * n, dim, temperature, scratch, grad};
    double loss = 0;
    ck_parallel(s.rows, soften, &s);
    for (int64_t i = 0; i < s.rows; i++)
        loss += s.p[i * s.rows + i] / (double)s.rows;
    ck_parallel(s.rows, collect, &s);
    return loss;
}

/* ---- BYOL, SimSiam ---- */

double ck_cosine_loss(const double *pred, const double *target, int64_t n, int dim,
                      double *grad)
{
    int64_t half = n * dim;
    double sum = 0, scale = -0.5 / (double)n;
    for (int64_t i = 0; i < 2 * half; i++) {
        double t = target[(i + half) % (2 * half)];
        sum += pred[i] * t;
        grad[i] = scale * t;
    }
    return scale * sum;
}

double ck_byol_loss(const double *pred, const double *target, int64_t n, int dim, double *grad)
{
    double half = ck_cosine_loss(pred, target, n, dim, grad);
    for (int64_t i = 0; i < 2 * n * dim; i++)
        grad[i] *= 4;
    return 4 + 4 * half;
}
