/* duals.c - one dual variable per size bound. */
#include "cluster/duals.h"
#include "core/error.h"
#include "core/mem.h"

#include <stdlib.h>
#include <string.h>

int ck_duals_init(struct ck_duals *d, int64_t k, int upper)
{
    memset(d, 0, sizeof *d);
    size_t n = (size_t)k;
    d->k = k;
    d->rho = ck_calloc_array(n, sizeof *d->rho);
    d->min_size = ck_calloc_array(n, sizeof *d->min_size);
    d->total = ck_calloc_array(n, sizeof *d->total);
    d->sorted = ck_alloc_array(n, sizeof *d->sorted);
    if (!d->rho || !d->min_size || !d->total || !d->sorted)
        goto fail;
    if (upper) {
        d->sigma = ck_calloc_array(n, sizeof *d->sigma);
        d->max_size = ck_calloc_array(n, sizeof *d->max_size);
        if (!d->sigma || !d->max_size)
            goto fail;
    }
    return COKE_OK;
fail:
    ck_duals_release(d);
    return COKE_ENOMEM;
}

void ck_duals_release(struct ck_duals *d)
{
    ck_free(d->rho);
    ck_free(d->sigma);
    ck_free(d->min_size);
    ck_free(d->max_size);
    ck_free(d->total);
    ck_free(d->sorted);
    memset(d, 0, sizeof *d);
}

static int descending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* O(k), or O(k log k) for the sort when the sum exceeds tau. */
void ck_project(float *v, int64_t k, float tau, float *scratch)
{
    double sum = 0;
    for (int64_t i = 0; i < k; i++) {
        if (v[i] < 0)
            v[i] = 0;
        sum += (double)v[i];
    }
    if (sum <= (double)tau)
        return;
    /* All positive entries lose the same amount theta, found from the largest ones down. */
    memcpy(scratch, v, (size_t)k * sizeof *v);
    qsort(scratch, (size_t)k, sizeof *scratch, descending);
    double above = 0, theta = 0;
    for (int64_t i = 0; i < k; i++) {
        above += (double)scratch[i];
        double t = (above - (double)tau) / (double)(i + 1);
        if ((double)scratch[i] <= t)
            break;
        theta = t;
    }
    for (int64_t i = 0; i < k; i++)
        v[i] = (double)v[i] > theta ? (float)((double)v[i] - theta) : 0;
}

/* The step of the present batch. A price that is far from its value approaches it by eta per row
 * that is missing, and within an epoch of few rows per cluster does not arrive; longer steps at the
 * start, falling as 1/t, bring it there. */
static float step_length(struct ck_duals *d, int64_t b)
{
    const double longest = 4;
    d->seen += (double)b;
    double longer = d->warm * (double)d->k / d->seen;
    return longer > 1 ? d->eta * (float)(longer < longest ? longer : longest) : d->eta;
}

void ck_duals_step(struct ck_duals *d, const int32_t *count, int64_t b)
{
    float eta = step_length(d, b), per_item = eta / (float)b;
    for (int64_t k = 0; k < d->k; k++) {
        float rho = d->rho[k] - per_item * (float)count[k];
        rho += (float)((double)eta * d->min_size[k]);
        d->rho[k] = rho < 0 && !d->free ? 0 : rho;
    }
    if (d->tau > 0)
        ck_project(d->rho, d->k, d->tau, d->sorted);
    for (int64_t k = 0; d->sigma && k < d->k; k++) {
        float sigma = d->sigma[k] + per_item * (float)count[k];
        sigma -= (float)((double)eta * d->max_size[k]);
        d->sigma[k] = sigma < 0 ? 0 : sigma;
    }
    /* The average forgets the duals of the start of the epoch. */
    double t = (double)++d->steps, weight = d->late ? t * t * t * t * t * t * t * t : t * t;
    for (int64_t k = 0; k < d->k; k++)
        d->total[k] += weight * ((double)d->rho[k] - (d->sigma ? (double)d->sigma[k] : 0));
}

/* The sums of t^2 and of t^8 by Faulhaber's formula. */
double ck_duals_average(const struct ck_duals *d, int64_t k)
{
    double t = (double)d->steps, squares = t * (t + 1) * (2 * t + 1) / 6, sum = 5 * t + 15;
    sum = ((((sum * t + 5) * t - 15) * t - 1) * t + 9) * t - 3;
    return d->total[k] / (d->late ? squares / 15 * sum : squares);
}

void ck_duals_bias(const struct ck_duals *d, float *bias)
{
    for (int64_t k = 0; k < d->k; k++)
        bias[k] = d->sigma ? d->rho[k] - d->sigma[k] : d->rho[k];
}
