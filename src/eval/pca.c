/* pca.c - principal component analysis by subspace iteration, in a subspace somewhat larger
 * than the requested one: time n * dim * 16 per round, and no matrix of dim * dim. */
#include "eval/pca.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "kernels/gemm.h"

#include <math.h>
#include <string.h>

/* Per round the error shrinks by (variance SUBSPACE + 1 / variance 2). */
enum { SUBSPACE = 16, ROUNDS = 40, SWEEPS = 30 };

struct work {
    int64_t n;
    int dim, width; /* width of the subspace: min(SUBSPACE, dim) */
    float *x;       /* [n][dim] minus the mean */
    float *q;       /* [dim][width] basis of the subspace */
    float *y;       /* [n][width] = x q */
    double b[SUBSPACE][SUBSPACE], v[SUBSPACE][SUBSPACE]; /* covariance in q, eigenvectors */
};

/* Mean and centered rows; also sums the total variance. */
static int center(struct ck_pca *p, struct work *w, const float *x)
{
    double *sum = ck_calloc_array((size_t)w->dim, sizeof *sum);
    if (!sum)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < w->n; i++)
        for (int j = 0; j < w->dim; j++)
            sum[j] += (double)x[i * w->dim + j];
    for (int j = 0; j < w->dim; j++)
        p->mean[j] = (float)(sum[j] / (double)w->n);
    for (int64_t i = 0; i < w->n; i++)
        for (int j = 0; j < w->dim; j++) {
            float d = x[i * w->dim + j] - p->mean[j];
            w->x[i * w->dim + j] = d;
            p->total += (double)d * (double)d;
        }
    p->total /= (double)w->n;
    ck_free(sum);
    return COKE_OK;
}

/* Dot product of two columns of q. */
static double product(const struct work *w, int a, int b)
{
    double s = 0;
    for (int j = 0; j < w->dim; j++)
        s += (double)w->q[j * w->width + a] * (double)w->q[j * w->width + b];
    return s;
}

/* Gram-Schmidt, repeated once against rounding errors. A column that depends on others leaves
 * only rounding noise: it is set to 0 and ignored. */
static void orthonormalize(struct work *w)
{
    for (int c = 0; c < w->width; c++) {
        double before = sqrt(product(w, c, c));
        for (int round = 0; round < 2; round++)
            for (int a = 0; a < c; a++) {
                double s = product(w, a, c);
                for (int j = 0; j < w->dim; j++)
                    w->q[j * w->width + c] -= (float)(s * (double)w->q[j * w->width + a]);
            }
        double length = sqrt(product(w, c, c));
        double scale = length > 1e-5 * before && length > 0 ? 1 / length : 0;
        for (int j = 0; j < w->dim; j++)
            w->q[j * w->width + c] = (float)(scale * (double)w->q[j * w->width + c]);
    }
}

static int multiply(struct work *w)
{
    struct ck_matrix x = {w->x, w->dim, 0}, q = {w->q, w->width, 0};
    return ck_gemm(w->n, w->width, w->dim, 1, x, q, 0, w->y, w->width);
}

/* q = orthonormal basis of x'x q, repeated from a fixed random start. */
static int iterate(struct work *w)
{
    struct ck_matrix xt = {w->x, w->dim, 1}, y = {w->y, w->width, 0};
    for (int64_t i = 0; i < (int64_t)w->dim * w->width; i++)
        w->q[i] = (float)(ck_rng_unit(1, CK_RNG_INIT, (uint64_t)i, 0) - 0.5);
    orthonormalize(w);
    for (int round = 0; round < ROUNDS; round++) {
        CK_RETURN_IF(multiply(w));
        CK_RETURN_IF(ck_gemm(w->dim, w->width, w->n, 1, xt, y, 0, w->q, w->width));
        orthonormalize(w);
    }
    return multiply(w);
}

/* One Jacobi rotation: b[p][q] becomes 0. */
static void rotate(struct work *w, int p, int q)
{
    double theta = (w->b[q][q] - w->b[p][p]) / (2 * w->b[p][q]);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int i = 0; i < w->width; i++) {
        double u = w->b[i][p], v = w->b[i][q];
        w->b[i][p] = c * u - s * v;
        w->b[i][q] = s * u + c * v;
    }
    for (int i = 0; i < w->width; i++) {
        double u = w->b[p][i], v = w->b[q][i];
        w->b[p][i] = c * u - s * v;
        w->b[q][i] = s * u + c * v;
        u = w->v[i][p];
        v = w->v[i][q];
        w->v[i][p] = c * u - s * v;
        w->v[i][q] = s * u + c * v;
    }
}

/* Eigenvectors of b = y'y / n, the covariance inside the subspace, into the columns of v. */
static void diagonalize(struct work *w)
{
    memset(w->b, 0, sizeof w->b);
    memset(w->v, 0, sizeof w->v);
    for (int64_t i = 0; i < w->n; i++)
        for (int p = 0; p < w->width; p++)
            for (int q = 0; q < w->width; q++)
                w->b[p][q] += (double)w->y[i * w->width + p] * (double)w->y[i * w->width + q] /
                              (double)w->n;
    for (int p = 0; p < w->width; p++)
        w->v[p][p] = 1;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int p = 0; p < w->width; p++)
            for (int q = p + 1; q < w->width; q++)
                if (fabs(w->b[p][q]) > 1e-300)
                    rotate(w, p, q);
}

/* Back to dim coordinates, with the sign that makes the largest one positive. */
static void take_axis(struct ck_pca *p, const struct work *w, int component, int column)
{
    float *axis = p->axis + (int64_t)component * w->dim;
    float largest = 0;
    for (int j = 0; j < w->dim; j++) {
        double s = 0;
        for (int c = 0; c < w->width; c++)
            s += (double)w->q[j * w->width + c] * w->v[c][column];
        axis[j] = (float)s;
        largest = fabsf(axis[j]) > fabsf(largest) ? axis[j] : largest;
    }
    for (int j = 0; j < w->dim && largest < 0; j++)
        axis[j] = -axis[j];
    p->variance[component] = w->b[column][column] > 0 ? w->b[column][column] : 0;
}

static void take_axes(struct ck_pca *p, struct work *w)
{
    int used[SUBSPACE] = {0};
    for (int i = 0; i < p->components && i < w->width; i++) {
        int best = -1;
        for (int c = 0; c < w->width; c++)
            if (!used[c] && (best < 0 || w->b[c][c] > w->b[best][best]))
                best = c;
        used[best] = 1;
        take_axis(p, w, i, best);
    }
}

int ck_pca_fit(struct ck_pca *p, const float *x, int64_t n, int dim, int components)
{
    int rc = COKE_OK;
    struct work w = {.n = n, .dim = dim, .width = dim < SUBSPACE ? dim : SUBSPACE};
    *p = (struct ck_pca){.dim = dim, .components = components};
    p->mean = ck_calloc_array((size_t)dim, sizeof *p->mean);
    p->axis = ck_calloc_array((size_t)components * (size_t)dim, sizeof *p->axis);
    w.x = ck_alloc_array((size_t)n, (size_t)dim * sizeof *w.x);
    w.q = ck_alloc_array((size_t)dim, (size_t)w.width * sizeof *w.q);
    w.y = ck_alloc_array((size_t)n, (size_t)w.width * sizeof *w.y);
    if (!p->mean || !p->axis || !w.x || !w.q || !w.y)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(center(p, &w, x));
    CK_TRY(iterate(&w));
    diagonalize(&w);
    take_axes(p, &w);
done:
    ck_free(w.x);
    ck_free(w.q);
    ck_free(w.y);
    if (rc)
        ck_pca_release(p);
    return rc;
}

void ck_pca_release(struct ck_pca *p)
{
    ck_free(p->mean);
    ck_free(p->axis);
    memset(p, 0, sizeof *p);
}

void ck_pca_project(const struct ck_pca *p, const float *x, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < p->components; c++) {
            double s = 0;
            for (int j = 0; j < p->dim; j++)
                s += (double)(x[i * p->dim + j] - p->mean[j]) *
                     (double)p->axis[(int64_t)c * p->dim + j];
            out[i * p->components + c] = (float)s;
        }
}
