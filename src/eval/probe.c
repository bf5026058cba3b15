/* probe.c - a linear classifier on features: logits = x W^T + b, trained by SGD with
 * momentum. */
#include "eval/probe.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "kernels/gemm.h"
#include "nn/optimizer.h"

#include <stdio.h>
#include <string.h>

enum { WEIGHT, BIAS, PARAMS };

/* Owns everything. */
struct ck_probe {
    struct ck_probe_shape shape;
    struct ck_param param[PARAMS]; /* values and gradients; the optimizer borrows them */
    struct ck_optimizer *optim;
    float *logits, *grad; /* [max][classes] */
    int64_t steps;
};

/* columns 0: a vector. */
static int make_param(struct ck_param *p, const char *name, int64_t rows, int64_t columns)
{
    *p = (struct ck_param){.ndim = columns ? 2 : 1,
                           .shape = {rows, columns},
                           .size = columns ? rows * columns : rows};
    snprintf(p->name, sizeof p->name, "%s", name);
    p->value = ck_calloc_array((size_t)p->size, sizeof *p->value);
    p->grad = ck_calloc_array((size_t)p->size, sizeof *p->grad);
    return p->value && p->grad ? COKE_OK : COKE_ENOMEM;
}

/* A draw gives two numbers, hence the pairs. */
static void draw_weights(struct ck_param *p, uint64_t seed)
{
    double pair[2] = {0};
    for (int64_t i = 0; i < p->size; i++) {
        if (i % 2 == 0)
            ck_rng_normal(seed, CK_RNG_WEIGHTS, (uint64_t)i / 2, 0, pair);
        p->value[i] = (float)(0.01 * pair[i % 2]);
    }
}

int ck_probe_new(struct ck_probe **out, const struct ck_probe_shape *shape, double weight_decay,
                 uint64_t seed)
{
    struct ck_optimizer_options sgd = ck_optimizer_options_default();
    int rc = COKE_OK;
    size_t outputs = (size_t)shape->max * (size_t)shape->classes;
    struct ck_probe *p = ck_calloc_array(1, sizeof *p);
    *out = NULL;
    if (!p)
        return COKE_ENOMEM;
    p->shape = *shape;
    CK_TRY(make_param(&p->param[WEIGHT], "fc.weight", shape->classes, shape->dim));
    CK_TRY(make_param(&p->param[BIAS], "fc.bias", shape->classes, 0));
    draw_weights(&p->param[WEIGHT], seed);
    sgd.kind = CK_SGD;
    sgd.momentum = 0.9;
    sgd.weight_decay = weight_decay;
    CK_TRY(ck_optimizer_new(&p->optim, p->param, PARAMS, &sgd));
    p->logits = ck_alloc_array(outputs, sizeof *p->logits);
    p->grad = ck_alloc_array(outputs, sizeof *p->grad);
    if (!p->logits || !p->grad)
        CK_LEAVE(COKE_ENOMEM);
    *out = p;
    p = NULL;
done:
    ck_probe_free(p);
    return rc;
}

void ck_probe_free(struct ck_probe *p)
{
    if (!p)
        return;
    ck_optimizer_free(p->optim);
    for (int i = 0; i < PARAMS; i++) {
        ck_free(p->param[i].value);
        ck_free(p->param[i].grad);
    }
    ck_free(p->logits);
    ck_free(p->grad);
    ck_free(p);
}

const float *ck_probe_weight(const struct ck_probe *p)
{
    return p->param[WEIGHT].value;
}

const float *ck_probe_bias(const struct ck_probe *p)
{
    return p->param[BIAS].value;
}

/* logits [n][classes] = x W^T + b; the bias is the initial value that the product is added
 * to. */
int ck_linear_logits(const float *weight, const float *bias, const struct ck_probe_shape *shape,
                     const float *x, int64_t n, float *logits)
{
    int64_t classes = shape->classes, dim = shape->dim;
    for (int64_t i = 0; i < n; i++)
        memcpy(logits + i * classes, bias, (size_t)classes * sizeof *logits);
    struct ck_matrix a = {x, dim, 0}, b = {weight, dim, 1};
    return ck_gemm(n, classes, dim, 1, a, b, 1, logits, classes);
}

static int forward(struct ck_probe *p, const float *x, int64_t n)
{
    return ck_linear_logits(p->param[WEIGHT].value, p->param[BIAS].value, &p->shape, x, n,
                            p->logits);
}

/* grad W = grad^T x, grad b = its column sums */
static int backward(struct ck_probe *p, const float *x, int64_t n)
{
    int64_t classes = p->shape.classes, dim = p->shape.dim;
    float *bias = p->param[BIAS].grad;
    memset(bias, 0, (size_t)classes * sizeof *bias);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < classes; c++)
            bias[c] += p->grad[i * classes + c];
    struct ck_matrix a = {p->grad, classes, 1}, b = {x, dim, 0};
    return ck_gemm(classes, dim, n, 1, a, b, 0, p->param[WEIGHT].grad, dim);
}

int ck_probe_step(struct ck_probe *p, const float *x, const int32_t *label, int64_t n,
                  double rate, struct ck_score *score)
{
    CK_RETURN_IF(forward(p, x, n));
    CK_RETURN_IF(ck_score(p->logits, label, n, p->shape.classes, p->grad, score));
    CK_RETURN_IF(backward(p, x, n));
    return ck_optimizer_step(p->optim, rate, 1, ++p->steps);
}

int ck_probe_judge(struct ck_probe *p, const float *x, const int32_t *label, int64_t n,
                   struct ck_score *score)
{
    for (int64_t at = 0; at < n; at += p->shape.max) {
        int64_t count = n - at < p->shape.max ? n - at : p->shape.max;
        CK_RETURN_IF(forward(p, x + at * p->shape.dim, count));
        CK_RETURN_IF(ck_score(p->logits, label + at, count, p->shape.classes, NULL, score));
    }
    return COKE_OK;
}
