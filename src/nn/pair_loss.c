/* pair_loss.c - losses of two views that compare all images of a batch. */
#include "nn/pair_loss.h"
#include "core/workers.h"
#include "kernels/matrix.h"

#include <math.h>

/* ---- SimCLR ---- */

struct simclr {
    int64_t rows; /* 2n */
    double temperature;
    double *p;    /* [rows][rows] */
    double *loss; /* [rows] */
};

int64_t ck_simclr_scratch(int64_t n)
{
    return 2 * n * (2 * n + 1);
}

/* Row i of p, from dot products to the gradient by them: the softmax over the others, less 1 at the
 * other view, times a constant. */
static void soften(void *arg, int64_t i, int worker)
{
    const struct simclr *s = arg;
    double *p = s->p + i * s->rows, t = s->temperature, top = -INFINITY, sum = 0;
    int64_t other = (i + s->rows / 2) % s->rows;
    double own = p[other], scale = 1 / ((double)s->rows * t);
    (void)worker;
    p[i] = -INFINITY;
    for (int64_t j = 0; j < s->rows; j++)
        top = p[j] > top ? p[j] : top;
    for (int64_t j = 0; j < s->rows; j++)
        sum += p[j] = exp((p[j] - top) / t);
    for (int64_t j = 0; j < s->rows; j++)
        p[j] *= scale / sum;
    p[other] -= scale;
    s->loss[i] = (top - own) / t + log(sum);
}

/* A vector has a gradient by its own row and by its column. */
double ck_simclr_loss(const double *x, int64_t n, int dim, double temperature, double *scratch,
                      double *grad)
{
    int64_t rows = 2 * n;
    struct simclr s = {rows, temperature, scratch, scratch + rows * rows};
    struct ck_operand each = {x, dim, 1}, column = {x, 1, dim};
    double loss = 0;
    ck_matrix_product(rows, rows, dim, each, column, 0, s.p, rows);
    ck_parallel(rows, soften, &s);
    for (int64_t i = 0; i < rows; i++)
        loss += s.loss[i] / (double)rows;
    ck_matrix_product(rows, dim, rows, (struct ck_operand){s.p, rows, 1}, each, 0, grad, dim);
    ck_matrix_product(rows, dim, rows, (struct ck_operand){s.p, 1, rows}, each, 1, grad, dim);
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
