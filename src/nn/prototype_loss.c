/* prototype_loss.c - losses that predict how other views of an image are spread over prototypes. */
#include "nn/prototype_loss.h"
#include "core/error.h"
#include "core/workers.h"
#include "kernels/matrix.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { COLUMNS = 64 }; /* whose sums a worker computes at once */

void ck_prototype_scores(const double *x, int64_t rows, const double *prototype, int64_t k,
                         int dim, double *score)
{
    ck_matrix_product(rows, k, dim, (struct ck_operand){x, dim, 1},
                      (struct ck_operand){prototype, 1, dim}, 0, score, k);
}

void ck_prototype_gradients(const double *grad_score, int64_t rows, const double *prototype,
                            int64_t k, int dim, double *grad_x)
{
    ck_matrix_product(rows, dim, k, (struct ck_operand){grad_score, k, 1},
                      (struct ck_operand){prototype, dim, 1}, 0, grad_x, dim);
}

void ck_prototype_collect(const double *grad_score, int64_t rows, const double *x, int64_t k,
                          int dim, double *grad_prototype)
{
    ck_matrix_product(k, dim, rows, (struct ck_operand){grad_score, 1, k},
                      (struct ck_operand){x, dim, 1}, 1, grad_prototype, dim);
}

/* ---- targets ---- */

struct rows {
    const double *from;
    double *to;
    int64_t rows, k;
    const struct ck_soft *soft;
    double eps, *sums;
};

/* A power of a softmax is the softmax of a multiple. */
static void soften_row(void *arg, int64_t i, int worker)
{
    const struct rows *r = arg;
    const double *s = r->from + i * r->k, *center = r->soft->center;
    double *p = r->to + i * r->k, top = -INFINITY, sum = 0;
    double scale = 1 / (r->soft->temperature * r->soft->sharpen);
    (void)worker;
    for (int64_t j = 0; j < r->k; j++) {
        p[j] = scale * (center ? s[j] - center[j] : s[j]);
        top = p[j] > top ? p[j] : top;
    }
    for (int64_t j = 0; j < r->k; j++)
        sum += p[j] = exp(p[j] - top);
    for (int64_t j = 0; j < r->k; j++)
        p[j] /= sum;
}

void ck_soft_targets(const double *score, int64_t rows, int64_t k, const struct ck_soft *s,
                     double *p)
{
    struct rows r = {.from = score, .to = p, .rows = rows, .k = k, .soft = s};
    ck_parallel(rows, soften_row, &r);
}

static void raise_row(void *arg, int64_t i, int worker)
{
    const struct rows *r = arg;
    (void)worker;
    for (int64_t j = i * r->k; j < (i + 1) * r->k; j++)
        r->to[j] = exp((r->from[j] - 1) / r->eps);
}

void ck_code_begin(const double *score, int64_t rows, int64_t k, double eps, double *q)
{
    struct rows r = {.from = score, .to = q, .rows = rows, .k = k, .eps = eps};
    ck_parallel(rows, raise_row, &r);
}

static void sum_columns(void *arg, int64_t chunk, int worker)
{
    const struct rows *r = arg;
    int64_t from = chunk * COLUMNS, to = from + COLUMNS < r->k ? from + COLUMNS : r->k;
    (void)worker;
    for (int64_t j = from; j < to; j++)
        r->sums[j] = 0;
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = from; j < to; j++)
            r->sums[j] += r->to[i * r->k + j];
}

static double inverse(double sum)
{
    return sum >= DBL_MIN ? 1 / sum : 0;
}

/* sums are one over those of the columns. Columns and rows that underflowed to 0 stay so. */
static void divide_row(void *arg, int64_t i, int worker)
{
    enum { LANES = 8 }; /* sums at a time: one alone would wait for each addition */
    const struct rows *r = arg;
    double *q = r->to + i * r->k, lane[LANES] = {0}, sum = 0;
    int64_t j = 0;
    (void)worker;
    for (; j + LANES <= r->k; j += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += q[j + l] *= r->sums[j + l];
    for (; j < r->k; j++)
        sum += q[j] *= r->sums[j];
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    double scale = inverse(sum);
    for (j = 0; j < r->k; j++)
        q[j] *= scale;
}

int ck_sinkhorn(double *q, int64_t rows, int64_t k, int rounds, const struct ck_reduce *reduce,
                double *sums)
{
    struct rows r = {.to = q, .rows = rows, .k = k, .sums = sums};
    for (int i = 0; i < rounds; i++) {
        ck_parallel((k + COLUMNS - 1) / COLUMNS, sum_columns, &r);
        if (reduce)
            CK_RETURN_IF(reduce->sum(reduce->arg, sums, k));
        for (int64_t j = 0; j < k; j++)
            sums[j] = inverse(sums[j]);
        ck_parallel(rows, divide_row, &r);
    }
    return COKE_OK;
}

double ck_teacher_temperature(double start, double end, int64_t epochs, int64_t epoch)
{
    return epochs > 1 && epoch < epochs
               ? start + (end - start) * (double)epoch / (double)(epochs - 1)
               : end;
}

/* ---- losses ---- */

struct code_job {
    const struct ck_code_input *in;
    double scale; /* one over the pairs and images */
    double *loss, *grad;
};

/* Row i of the scores, of view i / n. The gradient row first collects the targets. */
static void code_row(void *arg, int64_t i, int worker)
{
    const struct code_job *c = arg;
    const struct ck_code_input *in = c->in;
    const double *s = in->score + i * in->k;
    double *g = c->grad + i * in->k, top = -INFINITY, sum = 0, mass = 0, along = 0;
    double scale = c->scale, t = in->temperature;
    (void)worker;
    memset(g, 0, (size_t)in->k * sizeof *g);
    for (int v = 0; v < in->targets; v++) {
        const double *q = in->target + (v * in->n + i % in->n) * in->k;
        for (int64_t j = 0; j < in->k && !(in->not_own && v == i / in->n); j++)
            g[j] += q[j];
    }
    for (int64_t j = 0; j < in->k; j++) {
        top = s[j] > top ? s[j] : top;
        mass += g[j];
        along += g[j] * s[j];
    }
    for (int64_t j = 0; j < in->k; j++)
        sum += exp((s[j] - top) / t);
    for (int64_t j = 0; j < in->k; j++)
        g[j] = scale / t * (mass * exp((s[j] - top) / t) / sum - g[j]);
    c->loss[i] = scale * (mass * (top / t + log(sum)) - along / t);
}

double ck_code_loss(const struct ck_code_input *in, double *loss, double *grad)
{
    int pairs = in->views * in->targets;
    double sum = 0;
    for (int v = 0; v < in->targets && in->not_own; v++)
        pairs -= v < in->views;
    struct code_job c = {in, 1 / ((double)pairs * (double)in->n), loss, grad};
    ck_parallel(in->views * in->n, code_row, &c);
    for (int64_t i = 0; i < in->views * in->n; i++)
        sum += loss[i];
    return sum;
}

struct entropy_job {
    const double *p, *mean;
    int64_t k;
    double scale, *grad;
};

/* The derivative of m log m by a row's probability, less its mean under the row. */
static void entropy_row(void *arg, int64_t i, int worker)
{
    const struct entropy_job *e = arg;
    const double *p = e->p + i * e->k;
    double *g = e->grad + i * e->k, mean = 0;
    (void)worker;
    for (int64_t j = 0; j < e->k; j++)
        mean += e->mean[j] > 0 ? p[j] * log(e->mean[j]) : 0;
    for (int64_t j = 0; j < e->k; j++)
        g[j] += e->mean[j] > 0 ? e->scale * p[j] * (log(e->mean[j]) - mean) : 0;
}

double ck_mean_entropy(const double *p, int64_t rows, int64_t k, const double *mean,
                       int64_t total, double temperature, double weight, double *grad)
{
    struct entropy_job e = {p, mean, k, weight / ((double)total * temperature), grad};
    double sum = log((double)k);
    ck_parallel(rows, entropy_row, &e);
    for (int64_t j = 0; j < k; j++)
        sum += mean[j] > 0 ? mean[j] * log(mean[j]) : 0;
    return weight * sum;
}
