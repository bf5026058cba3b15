/* unit.c - scales rows to length 1, forward and backward, in double. */
#include "nn/unit.h"
#include "core/workers.h"

#include <math.h>

enum { CHUNK = 64, LANES = 4 };

/* One call's arguments, read by the workers; rows are disjoint, so that any of them may alias
 * in place. */
struct task {
    const float *from, *unit, *grad;
    int64_t n;
    int dim;
    float *to, *length;
    const float *lengths;
};

/* Four independent sums hide the latency of the additions. Fixed order: same bytes
 * everywhere. */
static double dot(const float *a, const float *b, int dim)
{
    double sum[LANES] = {0};
    int j = 0;
    for (; j + LANES <= dim; j += LANES)
        for (int l = 0; l < LANES; l++)
            sum[l] += (double)a[j + l] * (double)b[j + l];
    for (int l = 0; j < dim; j++, l++)
        sum[l] += (double)a[j] * (double)b[j];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Both directions test the f32 length, so that they agree. NaN is not short. */
static int is_short(float length)
{
    return length < CK_UNIT_MIN;
}

static int64_t chunks(int64_t n)
{
    return (n + CHUNK - 1) / CHUNK;
}

static int64_t chunk_end(int64_t chunk, int64_t n)
{
    return (chunk + 1) * CHUNK < n ? (chunk + 1) * CHUNK : n;
}

static void forward_rows(void *arg, int64_t chunk, int worker)
{
    const struct task *t = arg;
    (void)worker;
    for (int64_t i = chunk * CHUNK; i < chunk_end(chunk, t->n); i++) {
        const float *x = t->from + i * t->dim;
        float *u = t->to + i * t->dim;
        double length = sqrt(dot(x, x, t->dim));
        double inverse = 1 / (is_short((float)length) ? (double)CK_UNIT_MIN : length);
        for (int j = 0; j < t->dim; j++)
            u[j] = (float)((double)x[j] * inverse);
        t->length[i] = (float)length;
    }
}

void ck_unit_forward(const float *raw, int64_t n, int dim, float *unit, float *length)
{
    struct task t = {.from = raw, .n = n, .dim = dim, .to = unit, .length = length};
    ck_parallel(chunks(n), forward_rows, &t);
}

/* Removes the component along u, which scaling to length 1 cannot change. */
static void backward_rows(void *arg, int64_t chunk, int worker)
{
    const struct task *t = arg;
    (void)worker;
    for (int64_t i = chunk * CHUNK; i < chunk_end(chunk, t->n); i++) {
        const float *u = t->unit + i * t->dim, *g = t->grad + i * t->dim;
        float *out = t->to + i * t->dim;
        float length = t->lengths[i];
        double along = is_short(length) ? 0 : dot(u, g, t->dim);
        double inverse = 1 / (double)(is_short(length) ? CK_UNIT_MIN : length);
        for (int j = 0; j < t->dim; j++)
            out[j] = (float)(((double)g[j] - (double)u[j] * along) * inverse);
    }
}

void ck_unit_backward(const float *unit, const float *length, const float *grad_unit, int64_t n,
                      int dim, float *grad_raw)
{
    struct task t = {
        .unit = unit, .lengths = length, .grad = grad_unit, .n = n, .dim = dim, .to = grad_raw};
    ck_parallel(chunks(n), backward_rows, &t);
}
