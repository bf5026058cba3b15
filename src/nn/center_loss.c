/* center_loss.c - the loss by which SeCu learns its centers. */
#include "nn/center_loss.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "nn/unit.h"

#include <math.h>

struct ck_center_loss {
    int dim;
    double *unit; /* [max_k][dim] centers of length 1 */
    double *keep; /* [max_rows] 1 - q of each vector */
    double *loss; /* [max_rows] */
};

/* One call; read-only for the workers but for what their rows or centers own. */
struct job {
    struct ck_center_loss *l;
    const struct ck_center_input *in;
    double *grad;
};

int ck_center_loss_new(struct ck_center_loss **out, int64_t max_rows, int64_t max_k, int dim)
{
    struct ck_center_loss *l = ck_calloc_array(1, sizeof *l);
    *out = NULL;
    if (!l)
        return COKE_ENOMEM;
    l->dim = dim;
    l->unit = ck_alloc_array((size_t)max_k, (size_t)dim * sizeof *l->unit);
    l->keep = ck_alloc_array((size_t)max_rows, sizeof *l->keep);
    l->loss = ck_alloc_array((size_t)max_rows, sizeof *l->loss);
    if (!l->unit || !l->keep || !l->loss) {
        ck_center_loss_free(l);
        return COKE_ENOMEM;
    }
    *out = l;
    return COKE_OK;
}

void ck_center_loss_free(struct ck_center_loss *l)
{
    if (!l)
        return;
    ck_free(l->unit);
    ck_free(l->keep);
    ck_free(l->loss);
    ck_free(l);
}

/* ---- unit vectors ---- */

static double length(const float *c, int dim)
{
    double square = 0;
    for (int j = 0; j < dim; j++)
        square += (double)c[j] * (double)c[j];
    return fmax(sqrt(square), (double)CK_UNIT_MIN);
}

void ck_center_unit(const float *centers, int64_t k, int dim, float *unit)
{
    for (int64_t i = 0; i < k; i++) {
        double inverse = 1 / length(centers + i * dim, dim);
        for (int64_t j = i * dim; j < (i + 1) * dim; j++)
            unit[j] = (float)((double)centers[j] * inverse);
    }
}

/* (g - u (u.g)) / |c| */
void ck_center_gradient(const float *centers, const double *grad, int64_t k, int dim,
                        double scale, float *out)
{
    for (int64_t i = 0; i < k; i++) {
        const float *c = centers + i * dim;
        const double *g = grad + i * dim;
        double inverse = 1 / length(c, dim), along = 0;
        for (int j = 0; j < dim; j++)
            along += (double)c[j] * inverse * g[j];
        for (int j = 0; j < dim; j++)
            out[i * dim + j] =
                (float)(scale * inverse * (g[j] - (double)c[j] * inverse * along));
    }
}

/* ---- the loss ---- */

static double dot(const float *x, const double *c, int dim)
{
    double sum = 0;
    for (int j = 0; j < dim; j++)
        sum += (double)x[j] * c[j];
    return sum;
}

/* Softmax of a vector under a running maximum. */
static void run_vector(void *arg, int64_t i, int worker)
{
    const struct job *w = arg;
    const struct ck_center_input *in = w->in;
    const float *x = in->x + i * w->l->dim;
    int32_t label = in->label[i % in->n];
    double top = -INFINITY, sum = 0, own = 0;
    (void)worker;
    for (int64_t k = 0; k < in->k; k++) {
        double z = dot(x, w->l->unit + k * w->l->dim, w->l->dim) / in->temperature;
        own = k == label ? z : own;
        if (z > top) {
            sum *= exp(top - z);
            top = z;
        }
        sum += exp(z - top);
    }
    w->l->loss[i] = top + log(sum) - own;
    w->l->keep[i] = -expm1(-w->l->loss[i]);
}

/* A center is changed by one worker; its members come in order. */
static void pull_center(void *arg, int64_t k, int worker)
{
    const struct job *w = arg;
    const struct ck_center_input *in = w->in;
    int dim = w->l->dim;
    double *g = w->grad + k * dim;
    (void)worker;
    for (int64_t i = 0; i < in->views * in->n; i++) {
        double pull = w->l->keep[i] / in->temperature;
        const float *x = in->x + i * dim;
        if (in->label[i % in->n] == k)
            for (int j = 0; j < dim; j++)
                g[j] -= pull * (double)x[j];
    }
}

void ck_center_loss_add(struct ck_center_loss *l, const struct ck_center_input *in,
                        double *loss, double *grad)
{
    struct job w = {l, in, grad};
    for (int64_t k = 0; k < in->k; k++) {
        double inverse = 1 / length(in->centers + k * l->dim, l->dim);
        for (int64_t j = k * l->dim; j < (k + 1) * l->dim; j++)
            l->unit[j] = (double)in->centers[j] * inverse;
    }
    ck_parallel(in->views * in->n, run_vector, &w);
    ck_parallel(in->k, pull_center, &w);
    for (int64_t i = 0; i < in->views * in->n; i++)
        *loss += l->loss[i];
}
