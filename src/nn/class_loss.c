/* class_loss.c - losses of class scores: cross-entropy, SCAN's agreement, information (IIC). */
#include "nn/class_loss.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* As the authors of SCAN: logarithms of products and of mean probabilities have a floor. */
static const double least_product = 3.72007597602083596e-44; /* exp(-100) */
static const double least_mean = 1e-8;

/* p = softmax(z); returns log of the sum of exp(z). */
static double soften(const double *z, int c, double *p)
{
    double top = z[0], sum = 0;
    for (int j = 1; j < c; j++)
        top = fmax(top, z[j]);
    for (int j = 0; j < c; j++)
        sum += p[j] = exp(z[j] - top);
    for (int j = 0; j < c; j++)
        p[j] /= sum;
    return top + log(sum);
}

/* The gradient g of a softmax p becomes that of its scores. */
static void through_softmax(const double *p, int c, double *g)
{
    double along = 0;
    for (int j = 0; j < c; j++)
        along += g[j] * p[j];
    for (int j = 0; j < c; j++)
        g[j] = p[j] * (g[j] - along);
}

static int32_t largest(const double *z, int c)
{
    int32_t best = 0;
    for (int j = 1; j < c; j++)
        best = z[j] > z[best] ? j : best;
    return best;
}

void ck_class_softmax(const double *z, int64_t n, int c, double *p)
{
    for (int64_t i = 0; i < n; i++)
        soften(z + i * c, c, p + i * c);
}

/* ---- labels ---- */

double ck_label_cross_entropy(const double *z, int64_t n, int c, const int32_t *label,
                              const double *weight, double *grad)
{
    double loss = 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0)
            sum += weight ? weight[label[i]] : 1;
    memset(grad, 0, (size_t)(n * c) * sizeof *grad);
    for (int64_t i = 0; i < n; i++) {
        if (label[i] < 0)
            continue;
        double w = (weight ? weight[label[i]] : 1) / sum, *g = grad + i * c;
        loss += w * (soften(z + i * c, c, g) - z[i * c + label[i]]);
        g[label[i]] -= 1;
        for (int j = 0; j < c; j++)
            g[j] *= w;
    }
    return loss;
}

int64_t ck_confident_labels(const double *z, int64_t n, int c, double threshold, double *p,
                            int32_t *label)
{
    int64_t kept = 0;
    ck_class_softmax(z, n, c, p);
    for (int64_t i = 0; i < n; i++) {
        int32_t best = largest(p + i * c, c);
        label[i] = p[i * c + best] > threshold ? best : -1;
        kept += label[i] >= 0;
    }
    return kept;
}

void ck_balance_classes(const int32_t *label, int64_t n, int c, double *weight)
{
    double all = 0;
    memset(weight, 0, (size_t)c * sizeof *weight);
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0) {
            weight[label[i]]++;
            all++;
        }
    for (int j = 0; j < c; j++)
        weight[j] = weight[j] > 0 ? all / weight[j] : 1;
}

double ck_class_accuracy(const double *z, int64_t n, int c, const int32_t *label)
{
    int64_t right = 0, known = 0;
    for (int64_t i = 0; i < n; i++) {
        known += label[i] >= 0;
        right += label[i] >= 0 && largest(z + i * c, c) == label[i];
    }
    return known ? (double)right / (double)known : 0;
}

double ck_class_agreement(const double *x, const double *y, int64_t n, int c)
{
    int64_t same = 0;
    for (int64_t i = 0; i < n; i++)
        same += largest(x + i * c, c) == largest(y + i * c, c);
    return n ? (double)same / (double)n : 0;
}

/* ---- two sets of scores ---- */

int64_t ck_class_scratch(int64_t n, int c)
{
    return 2 * n * c + (int64_t)c * c + c;
}

double ck_scan_loss(const double *x, const double *y, int64_t n, int c, double weight,
                    double *scratch, double *grad_x, double *grad_y)
{
    double *p = scratch, *q = p + n * c, *mean = q + n * c, loss = 0, rows = (double)n;
    ck_class_softmax(x, n, c, p);
    ck_class_softmax(y, n, c, q);
    memset(mean, 0, (size_t)c * sizeof *mean);
    for (int64_t i = 0; i < n * c; i++)
        mean[i % c] += p[i] / rows;
    for (int j = 0; j < c; j++)
        loss += weight * mean[j] * log(fmax(mean[j], least_mean));
    for (int64_t i = 0; i < n; i++) {
        const double *pi = p + i * c, *qi = q + i * c;
        double *gx = grad_x + i * c, *gy = grad_y + i * c, product = 0;
        for (int j = 0; j < c; j++)
            product += pi[j] * qi[j];
        loss -= log(fmax(product, least_product)) / rows;
        double inverse = product > least_product ? 1 / product : 0;
        for (int j = 0; j < c; j++) {
            double slope = mean[j] > least_mean ? log(mean[j]) + 1 : log(least_mean);
            gx[j] = (weight * slope - qi[j] * inverse) / rows;
            gy[j] = -pi[j] * inverse / rows;
        }
        through_softmax(pi, c, gx);
        through_softmax(qi, c, gy);
    }
    return loss;
}

/* joint [c][c]: the symmetric joint distribution of both views' classes. */
static void join(const double *p, const double *q, int64_t n, int c, double *joint)
{
    memset(joint, 0, (size_t)c * (size_t)c * sizeof *joint);
    for (int64_t i = 0; i < n; i++)
        for (int a = 0; a < c; a++)
            for (int b = 0; b < c; b++) {
                double half = p[i * c + a] * q[i * c + b] / (2 * (double)n);
                joint[a * c + b] += half;
                joint[b * c + a] += half;
            }
}

double ck_information_loss(const double *x, const double *y, int64_t n, int c, double *scratch,
                           double *grad_x, double *grad_y)
{
    double *p = scratch, *q = p + n * c, *g = q + n * c, *margin = g + (int64_t)c * c, loss = 0;
    ck_class_softmax(x, n, c, p);
    ck_class_softmax(y, n, c, q);
    join(p, q, n, c, g);
    for (int a = 0; a < c; a++) {
        margin[a] = 0;
        for (int b = 0; b < c; b++)
            margin[a] += fmax(g[a * c + b], DBL_EPSILON);
    }
    for (int a = 0; a < c; a++) /* the joint distribution becomes the loss's gradient in it */
        for (int b = 0; b < c; b++) {
            double both = fmax(g[a * c + b], DBL_EPSILON);
            double gain = log(both / (margin[a] * margin[b]));
            loss -= both * gain;
            g[a * c + b] = g[a * c + b] > DBL_EPSILON ? 1 - gain : 0;
        }
    for (int64_t i = 0; i < n; i++) {
        double *gx = grad_x + i * c, *gy = grad_y + i * c;
        for (int a = 0; a < c; a++) {
            gx[a] = gy[a] = 0;
            for (int b = 0; b < c; b++) {
                gx[a] += g[a * c + b] * q[i * c + b] / (double)n;
                gy[a] += g[a * c + b] * p[i * c + b] / (double)n;
            }
        }
        through_softmax(p + i * c, c, gx);
        through_softmax(q + i * c, c, gy);
    }
    return loss;
}
