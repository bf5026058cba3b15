/* naive_net.c - networks computed slowly, in double, by loops over [n][c][h][w]. */
#include "naive_net.h"
#include "support.h"

#define EPS 1e-5

/* ---- memory ---- */

static double *zeros(int64_t n)
{
    return test_array((size_t)n, sizeof(double));
}

static int slides(enum ck_layer kind)
{
    return kind == CK_LAYER_CONV || kind == CK_LAYER_MAX_POOL || kind == CK_LAYER_AVG_POOL;
}

static void shape(struct naive *v, int i, int64_t h, int64_t w)
{
    const struct ck_node *node = &v->net->node[i];
    struct naive_value *y = &v->value[i];
    y->c = node->channels;
    y->h = h;
    y->w = w;
    if (node->kind != CK_LAYER_INPUT) {
        y->h = node->kind == CK_LAYER_MEAN ? 1 : v->value[node->in[0]].h;
        y->w = node->kind == CK_LAYER_MEAN ? 1 : v->value[node->in[0]].w;
    }
    if (slides(node->kind)) {
        y->h = (y->h + 2 * node->pad - node->kernel) / node->stride + 1;
        y->w = (y->w + 2 * node->pad - node->kernel) / node->stride + 1;
    }
    y->size = v->n * y->c * y->h * y->w;
    y->x = zeros(y->size);
    y->g = zeros(y->size);
    y->mean = zeros(y->c);
    y->var = zeros(y->c);
}

void naive_init(struct naive *v, const struct ck_net *net, int64_t n, int64_t h, int64_t w,
                int train)
{
    *v = (struct naive){.net = net, .n = n, .train = train};
    v->value = test_array((size_t)net->nnodes, sizeof *v->value);
    v->param = test_array((size_t)net->nparams, sizeof *v->param);
    v->param_grad = test_array((size_t)net->nparams, sizeof *v->param_grad);
    v->terms = test_array((size_t)net->nparams, sizeof *v->terms);
    v->followed = test_array((size_t)net->nnodes, sizeof *v->followed);
    for (int i = 0; i < net->nnodes; i++)
        shape(v, i, h, w);
    for (int i = 0; i < net->nparams; i++) {
        v->param[i] = zeros(net->param[i].size);
        v->param_grad[i] = zeros(net->param[i].size);
        v->terms[i] = zeros(net->param[i].size);
        for (int64_t j = 0; j < net->param[i].size; j++)
            v->param[i][j] = (double)net->param[i].value[j];
    }
}

void naive_release(struct naive *v)
{
    for (int i = 0; i < v->net->nnodes; i++) {
        free(v->value[i].x);
        free(v->value[i].g);
        free(v->value[i].mean);
        free(v->value[i].var);
        free(v->followed[i]);
    }
    for (int i = 0; i < v->net->nparams; i++) {
        free(v->param[i]);
        free(v->param_grad[i]);
        free(v->terms[i]);
    }
    free(v->value);
    free(v->param);
    free(v->param_grad);
    free(v->terms);
    free(v->followed);
}

void naive_zero_grad(struct naive *v)
{
    for (int i = 0; i < v->net->nnodes; i++)
        memset(v->value[i].g, 0, (size_t)v->value[i].size * sizeof(double));
    for (int i = 0; i < v->net->nparams; i++) {
        memset(v->param_grad[i], 0, (size_t)v->net->param[i].size * sizeof(double));
        memset(v->terms[i], 0, (size_t)v->net->param[i].size * sizeof(double));
    }
}

static void add_term(struct naive *v, int param, int64_t at, double term)
{
    v->param_grad[param][at] += term;
    v->terms[param][at] += fabs(term);
}

/* ---- windows: convolutions and pools ---- */

/* Where the place `tap` of a window lies over the input, row by row. */
struct rows {
    const double *x, *out_g;
    double *out, *in_g;
    int64_t n; /* outputs of the row that are over the image */
    int64_t step;
};

/* Row y of the output (image, oc) over channel ic of the input; n = 0: all of it is padding. */
static struct rows rows_at(const struct naive *v, int i, int64_t image, int64_t oc, int64_t ic,
                           int64_t tap, int64_t y)
{
    const struct ck_node *node = &v->net->node[i];
    const struct naive_value *in = &v->value[node->in[0]], *out = &v->value[i];
    int64_t r = y * node->stride - node->pad + tap / node->kernel;
    int64_t shift = tap % node->kernel - node->pad, first = 0, end = out->w;
    if (r < 0 || r >= in->h)
        return (struct rows){.step = 1};
    while (first < end && first * node->stride + shift < 0)
        first++;
    while (first < end && (end - 1) * node->stride + shift >= in->w)
        end--;
    int64_t o = ((image * out->c + oc) * out->h + y) * out->w + first;
    int64_t x = ((image * in->c + ic) * in->h + r) * in->w + first * node->stride + shift;
    if (first == end)
        return (struct rows){.step = 1};
    return (struct rows){.x = in->x + x,
                         .in_g = in->g + x,
                         .out = out->x + o,
                         .out_g = out->g + o,
                         .n = end - first,
                         .step = node->stride};
}

/* One weight over one plane of the output: rows [h] are those of plane 0 of both, `out` and
 * `in` lead from there to the planes. */
static void conv_plane(const struct rows *row, int64_t h, int64_t out, int64_t in,
                       double weight)
{
    for (int64_t y = 0; y < h; y++)
        for (int64_t j = 0; j < row[y].n; j++)
            row[y].out[out + j] += row[y].x[in + j * row[y].step] * weight;
}

static void conv_grad_plane(const struct rows *row, int64_t h, int64_t out, int64_t in,
                            double weight, double *sum, double *terms)
{
    double s = 0, t = 0;
    for (int64_t y = 0; y < h; y++)
        for (int64_t j = 0; j < row[y].n; j++) {
            double g = row[y].out_g[out + j], term = g * row[y].x[in + j * row[y].step];
            row[y].in_g[in + j * row[y].step] += g * weight;
            s += term;
            t += fabs(term);
        }
    *sum += s;
    *terms += t;
}

static void conv(struct naive *v, int i, int backward)
{
    const struct ck_node *node = &v->net->node[i];
    const struct naive_value *x = &v->value[node->in[0]], *y = &v->value[i];
    int64_t taps = node->kernel * node->kernel, weights = y->c * x->c * taps;
    int p = node->param;
    struct rows *row = test_array((size_t)(taps * y->h), sizeof *row);
    for (int64_t j = 0; j < taps * y->h; j++)
        row[j] = rows_at(v, i, 0, 0, 0, j / y->h, j % y->h);
    for (int64_t j = 0; j < v->n * weights; j++) {
        int64_t image = j / weights, w = j % weights, oc = w / taps / x->c,
                ic = w / taps % x->c;
        int64_t out = (image * y->c + oc) * y->h * y->w, in = (image * x->c + ic) * x->h * x->w;
        const struct rows *r = row + w % taps * y->h;
        if (backward)
            conv_grad_plane(r, y->h, out, in, v->param[p][w], &v->param_grad[p][w],
                            &v->terms[p][w]);
        else
            conv_plane(r, y->h, out, in, v->param[p][w]);
    }
    free(row);
}

/* What decides who wins: the input, or that of the run that is followed. */
static double *contest(const struct naive *v, int node)
{
    const struct naive_value *x = &v->value[node];
    double *by = zeros(x->size);
    for (int64_t j = 0; j < x->size; j++)
        by[j] = v->followed[node] ? (double)v->followed[node][j] : x->x[j];
    return by;
}

/* Windows in the order of their places, so that the first of equals wins. The winners are found
 * in either pass. */
static void max_pool(struct naive *v, int i, int backward)
{
    const struct ck_node *node = &v->net->node[i];
    const struct naive_value *in = &v->value[node->in[0]], *out = &v->value[i];
    double *by = contest(v, node->in[0]);
    double *second = zeros(out->size);
    int64_t *winner = test_array((size_t)out->size, sizeof *winner);
    for (int64_t j = 0; j < out->size; j++)
        out->x[j] = second[j] = -INFINITY;
    for (int64_t plane = 0; plane < v->n * out->c; plane++)
        for (int64_t t = 0; t < node->kernel * node->kernel; t++)
            for (int64_t y = 0; y < out->h; y++) {
                struct rows r =
                    rows_at(v, i, plane / out->c, plane % out->c, plane % out->c, t, y);
                for (int64_t j = 0; j < r.n; j++) {
                    int64_t at = r.x + j * r.step - in->x;
                    double x = by[at], *best = &r.out[j];
                    int64_t o = best - out->x;
                    second[o] = x > *best ? *best : x > second[o] ? x : second[o];
                    winner[o] = x > *best ? at : winner[o];
                    *best = x > *best ? x : *best;
                }
            }
    for (int64_t j = 0; j < out->size; j++) {
        double ahead = out->x[j] - second[j];
        int off = out->x[j] == 0 && ahead == 0; /* behind a ReLU that passes nothing */
        v->margin = !off && ahead < v->margin ? ahead : v->margin;
        out->x[j] = in->x[winner[j]];
        if (backward)
            in->g[winner[j]] += out->g[j];
    }
    free(by);
    free(second);
    free(winner);
}

static void avg_pool(struct naive *v, int i, int backward)
{
    const struct ck_node *node = &v->net->node[i];
    const struct naive_value *out = &v->value[i];
    double window = (double)(node->kernel * node->kernel);
    for (int64_t plane = 0; plane < v->n * out->c; plane++)
        for (int64_t t = 0; t < node->kernel * node->kernel; t++)
            for (int64_t y = 0; y < out->h; y++) {
                struct rows r =
                    rows_at(v, i, plane / out->c, plane % out->c, plane % out->c, t, y);
                for (int64_t j = 0; j < r.n; j++)
                    if (backward)
                        r.in_g[j * r.step] += r.out_g[j] / window;
                    else
                        r.out[j] += r.x[j * r.step] / window;
            }
}

/* ---- batch norm ---- */

/* For every element j of the value, which lies in channel c. */
#define EACH(y, j, c)                                                                          \
    for (int64_t j = 0, c = 0; j < (y)->size; j++, c = j / ((y)->h * (y)->w) % (y)->c)

static void norm_statistics(struct naive *v, int i)
{
    const struct ck_node *node = &v->net->node[i];
    struct naive_value *y = &v->value[i];
    const double *x = v->value[node->in[0]].x;
    double count = (double)(y->size / y->c);
    for (int64_t c = 0; c < y->c; c++) {
        y->mean[c] = v->train ? 0 : (double)v->net->buffer[node->buffer].value[c];
        y->var[c] = v->train ? 0 : (double)v->net->buffer[node->buffer + 1].value[c];
    }
    if (!v->train)
        return;
    EACH(y, j, c)
    y->mean[c] += x[j] / count;
    EACH(y, j, c)
    y->var[c] += (x[j] - y->mean[c]) * (x[j] - y->mean[c]) / count;
}

static void norm_forward(struct naive *v, int i)
{
    const struct ck_node *node = &v->net->node[i];
    struct naive_value *y = &v->value[i];
    const double *x = v->value[node->in[0]].x;
    const double *gamma = v->param[node->param], *beta = v->param[node->param + 1];
    norm_statistics(v, i);
    EACH(y, j, c)
    y->x[j] = (x[j] - y->mean[c]) / sqrt(y->var[c] + EPS) * gamma[c] + beta[c];
}

/* dx = gamma / s * (g - mean(g) - xhat * mean(g * xhat)), the means only in training. */
static void norm_backward(struct naive *v, int i)
{
    const struct ck_node *node = &v->net->node[i];
    const struct naive_value *y = &v->value[i];
    const double *x = v->value[node->in[0]].x, *gamma = v->param[node->param];
    double *dx = v->value[node->in[0]].g;
    const double *dgamma = v->param_grad[node->param], *dbeta = v->param_grad[node->param + 1];
    double count = (double)(y->size / y->c);
    EACH(y, j, c)
    {
        add_term(v, node->param, c, y->g[j] * (x[j] - y->mean[c]) / sqrt(y->var[c] + EPS));
        add_term(v, node->param + 1, c, y->g[j]);
    }
    EACH(y, j, c)
    {
        double s = sqrt(y->var[c] + EPS), g = y->g[j];
        if (v->train)
            g -= dbeta[c] / count + (x[j] - y->mean[c]) / s * dgamma[c] / count;
        dx[j] += gamma[c] / s * g;
    }
}

/* ---- the others ---- */

static void relu(struct naive *v, int i, int backward)
{
    const struct naive_value *y = &v->value[i], *x = &v->value[v->net->node[i].in[0]];
    const float *followed = v->followed[i];
    for (int64_t j = 0; j < y->size; j++) {
        int on = followed ? followed[j] > 0 : x->x[j] > 0;
        y->x[j] = on ? x->x[j] : 0;
        if (x->x[j] != 0 && fabs(x->x[j]) < v->margin)
            v->margin = fabs(x->x[j]);
        if (backward && on)
            x->g[j] += y->g[j];
    }
}

static void gelu(struct naive *v, int i, int backward)
{
    const struct naive_value *y = &v->value[i], *x = &v->value[v->net->node[i].in[0]];
    for (int64_t j = 0; j < y->size; j++) {
        double phi = erfc(-x->x[j] / sqrt(2)) / 2, density = exp(-x->x[j] * x->x[j] / 2);
        y->x[j] = x->x[j] * phi;
        if (backward)
            x->g[j] += y->g[j] * (phi + x->x[j] * density / sqrt(8 * atan(1)));
    }
}

static void add(struct naive *v, int i, int backward)
{
    const struct naive_value *y = &v->value[i];
    const struct naive_value *a = &v->value[v->net->node[i].in[0]];
    const struct naive_value *b = &v->value[v->net->node[i].in[1]];
    for (int64_t j = 0; j < y->size; j++) {
        y->x[j] = a->x[j] + b->x[j];
        if (backward) {
            a->g[j] += y->g[j];
            b->g[j] += y->g[j];
        }
    }
}

static void mean(struct naive *v, int i, int backward)
{
    const struct naive_value *y = &v->value[i], *x = &v->value[v->net->node[i].in[0]];
    int64_t pixels = x->h * x->w;
    for (int64_t j = 0; j < x->size; j++)
        if (backward)
            x->g[j] += y->g[j / pixels] / (double)pixels;
        else
            y->x[j / pixels] += x->x[j] / (double)pixels;
}

static void linear(struct naive *v, int i, int backward)
{
    const struct naive_value *y = &v->value[i], *x = &v->value[v->net->node[i].in[0]];
    int first = v->net->node[i].param;
    const double *weight = v->param[first];
    for (int64_t j = 0; j < y->size; j++) {
        int64_t row = j / y->c, o = j % y->c;
        y->x[j] = v->param[first + 1][o];
        if (backward)
            add_term(v, first + 1, o, y->g[j]);
        for (int64_t k = 0; k < x->c; k++) {
            y->x[j] += x->x[row * x->c + k] * weight[o * x->c + k];
            if (backward) {
                x->g[row * x->c + k] += y->g[j] * weight[o * x->c + k];
                add_term(v, first, o * x->c + k, y->g[j] * x->x[row * x->c + k]);
            }
        }
    }
}

static void unit(struct naive *v, int i, int backward)
{
    const struct naive_value *y = &v->value[i], *x = &v->value[v->net->node[i].in[0]];
    for (int64_t row = 0; row < v->n; row++) {
        double *u = y->x + row * y->c, *g = y->g + row * y->c, *raw = x->x + row * y->c;
        double square = 0, along = 0;
        for (int64_t k = 0; k < y->c; k++)
            square += raw[k] * raw[k];
        for (int64_t k = 0; k < y->c; k++) {
            u[k] = raw[k] / sqrt(square);
            along += u[k] * g[k];
        }
        for (int64_t k = 0; backward && k < y->c; k++)
            x->g[row * y->c + k] += (g[k] - u[k] * along) / sqrt(square);
    }
}

/* ---- both passes ---- */

static void run(struct naive *v, int i, int backward)
{
    switch (v->net->node[i].kind) {
    case CK_LAYER_INPUT:
        break;
    case CK_LAYER_CONV:
        conv(v, i, backward);
        break;
    case CK_LAYER_NORM:
        if (backward)
            norm_backward(v, i);
        else
            norm_forward(v, i);
        break;
    case CK_LAYER_RELU:
        relu(v, i, backward);
        break;
    case CK_LAYER_GELU:
        gelu(v, i, backward);
        break;
    case CK_LAYER_ADD:
        add(v, i, backward);
        break;
    case CK_LAYER_MAX_POOL:
        max_pool(v, i, backward);
        break;
    case CK_LAYER_AVG_POOL:
        avg_pool(v, i, backward);
        break;
    case CK_LAYER_MEAN:
        mean(v, i, backward);
        break;
    case CK_LAYER_LINEAR:
        linear(v, i, backward);
        break;
    case CK_LAYER_UNIT:
        unit(v, i, backward);
        break;
    }
}

void naive_forward(struct naive *v)
{
    v->margin = INFINITY;
    for (int i = 1; i < v->net->nnodes; i++) {
        memset(v->value[i].x, 0, (size_t)v->value[i].size * sizeof(double));
        run(v, i, 0);
    }
}

void naive_backward(struct naive *v)
{
    for (int i = v->net->nnodes - 1; i > 0; i--)
        run(v, i, 1);
}
