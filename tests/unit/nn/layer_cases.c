/* layer_cases.c - one table of small networks, and the results of each. */
#include "layer_cases.h"
#include "naive_follow.h"
#include "support.h"
#include "nn/plan_ops.h"

#include <ctype.h>

#define BASIC "( conv20k3p1 norm relu conv20k3p1 norm | ) relu "
#define BASIC_DOWN "( conv24k3s2p1 norm relu conv24k3p1 norm | conv24k1s2 norm ) relu "
#define BOTTLENECK                                                                             \
    "( conv17k1 norm relu conv17k3s2p1 norm relu conv40k1 norm | conv40k1s2 norm ) relu "

const struct layer_case layer_cases[] = {
    /* convolutions */
    {"conv 1x1", "conv7k1", 2, 3, 5, 4, 0},
    {"conv 1x1 stride 2, odd image", "conv33k1s2", 2, 17, 7, 9, 0},
    {"conv 2x2 that leaves a row over", "conv4k2s2", 2, 5, 7, 5, 0},
    {"conv 3x3", "conv16k3p1", 2, 16, 6, 5, 0},
    {"conv 3x3, no padding", "conv10k3", 3, 20, 5, 7, 0},
    {"conv 3x3 stride 2, odd image", "conv18k3s2p1", 2, 16, 9, 7, 0},
    {"conv 3x3 stride 2 of 1 pixel", "conv8k3s2p1", 3, 12, 1, 1, 0},
    {"conv 3x3 stride 2, 1 pixel wide", "conv32k3s2p1", 4, 48, 5, 1, 0},
    {"conv 3x3 of 1 pixel", "conv5k3p1", 3, 5, 1, 1, 0},
    {"conv 3x3 of 1 channel", "conv1k3p1", 1, 1, 4, 4, 0},
    {"conv 5x5", "conv6k5p2", 2, 4, 6, 7, 0},
    {"conv 7x7 stride 2, small images", "conv9k7s2p3", 2, 3, 15, 13, 0},
    {"stem of small images", "conv20k3p1", 2, 3, 8, 8, 0},
    {"two convs", "conv20k3p1 conv7k1", 2, 3, 5, 6, 0},
    /* what Winograd's 4x4 tiles do at their edges */
    {"winograd 8x8", "conv32k3p1", 2, 32, 8, 8, 0},
    {"winograd 7x5", "conv48k3p1", 2, 32, 7, 5, 0},
    {"winograd 6x9, odd channels", "conv33k3p1", 2, 40, 6, 9, 0},
    {"winograd 2x3", "conv32k3p1", 3, 64, 2, 3, 0},
    {"winograd 1 pixel", "conv32k3p1", 3, 32, 1, 1, 0},
    {"winograd twice", "conv32k3p1 norm relu conv32k3p1", 2, 32, 5, 5, 0},
    /* batch norm and what is fused with it */
    {"norm", "norm", 3, 5, 4, 3, 0},
    {"norm relu", "norm relu", 3, 19, 4, 3, 0},
    {"norm of 1 image", "norm relu", 1, 16, 3, 3, 0},
    {"norm of 1 image of 1 pixel", "norm relu", 1, 18, 1, 1, 1},
    {"norm of vectors", "mean linear9 norm", 5, 4, 2, 2, 0},
    {"norm relu of vectors", "mean linear9 norm relu linear3", 4, 4, 2, 2, 0},
    {"conv norm relu", "conv20k3p1 norm relu", 2, 3, 5, 5, 0},
    {"norm add", "( conv5k3p1 norm | )", 3, 5, 4, 3, 0},
    {"norm add relu", "( conv18k3p1 norm | ) relu", 3, 18, 3, 5, 0},
    {"add norm relu", "( | conv5k3p1 norm ) relu", 3, 5, 4, 3, 0},
    {"norm add norm relu", "( conv6k3p1 norm | conv6k1 norm ) relu", 3, 5, 4, 3, 0},
    {"norm add norm", "( conv20k1 norm | conv20k3p1 norm )", 2, 5, 5, 3, 0},
    {"norm add its input", "conv6k1 ( norm | ) relu", 3, 5, 3, 3, 0},
    {"norm twice of one node", "conv6k1 ( norm | norm ) relu", 3, 5, 3, 3, 0},
    {"norm add of vectors", "mean linear7 ( linear7 norm | ) relu", 5, 6, 2, 2, 0},
    {"norm with two users", "conv6k1 norm ( relu | )", 3, 5, 3, 3, 0},
    {"norm that is read", "conv6k1 norm * relu mean", 3, 5, 3, 3, 0},
    {"norm norm", "norm norm relu", 3, 6, 3, 3, 0},
    /* layers that are not fused */
    {"relu", "relu", 2, 5, 4, 3, 0},
    {"conv relu", "conv19k3p1 relu conv4k1", 2, 5, 4, 3, 0},
    {"relu relu", "conv7k1 relu relu", 2, 5, 4, 3, 0},
    {"add", "( conv6k1 | conv6k3p1 )", 2, 5, 4, 3, 0},
    {"add a node to itself", "conv6k1 ( | )", 2, 5, 4, 3, 0},
    {"add relu", "( relu | conv5k1 ) relu", 2, 5, 4, 3, 0},
    {"add of vectors", "mean ( linear4 | relu linear4 )", 3, 5, 2, 2, 0},
    {"four users of a node", "conv6k1 ( ( relu | conv6k1 ) | ( norm | ) )", 3, 5, 3, 3, 0},
    {"images with two users", "( conv3k3p1 norm | conv3k1 ) mean", 3, 3, 3, 3, 0},
    {"max pool 3x3 stride 2, odd image", "maxk3s2p1", 2, 5, 7, 9, 0},
    {"max pool 3x3 stride 2, even image", "conv20k1 maxk3s2p1", 2, 3, 6, 8, 0},
    {"max pool 2x2 that leaves a row over", "maxk2s2", 2, 17, 5, 7, 0},
    {"max pool 3x3 stride 1", "maxk3s1p1 conv4k1", 2, 6, 4, 4, 0},
    {"max pool of 1 pixel", "maxk3s2p1", 2, 5, 1, 1, 0},
    {"average pool 2x2", "avgk2s2", 2, 18, 6, 7, 0},
    {"average pool 3x3 stride 2", "conv5k1 avgk3s2p1", 2, 3, 7, 5, 0},
    {"mean", "mean", 3, 21, 3, 5, 0},
    {"mean of 1 pixel", "mean linear3", 1, 5, 1, 1, 0},
    {"linear", "mean linear10", 3, 21, 2, 2, 0},
    {"linear of 1", "mean linear1 linear5", 3, 1, 2, 2, 0},
    {"unit", "mean unit", 4, 9, 2, 2, 0},
    {"outputs on the way", "conv6k1 * norm relu * mean * linear4 unit", 3, 5, 3, 3, 0},
    /* projectors and predictors */
    {"mlp of 2", "mean linear12 relu linear6 unit", 4, 9, 2, 2, 0},
    {"mlp of 3", "mean linear12 norm relu linear11 norm relu linear6 norm unit", 6, 9, 2, 2, 0},
    {"gelu", "mean gelu", 4, 9, 2, 2, 0},
    {"mlp with gelu", "mean linear12 gelu linear11 norm gelu linear6 unit", 6, 9, 2, 2, 0},
    {"norm without scale and shift", "mean linear12 plain relu linear6 plain unit", 6, 9, 2, 2,
     0},
    {"projection and prediction",
     "conv9k3p1 norm relu mean linear12 norm relu linear6 norm [ unit * ] linear8 norm relu "
     "linear6 unit",
     6, 3, 4, 4, 0},
    /* blocks of residual networks */
    {"basic block", BASIC, 2, 20, 6, 5, 0},
    {"basic block down", BASIC_DOWN, 2, 17, 7, 5, 0},
    {"basic block of 1 pixel", BASIC_DOWN "mean", 4, 12, 1, 1, 0},
    {"basic block, 1 image in evaluation", BASIC_DOWN "mean", 1, 12, 1, 1, 1},
    {"bottleneck down", BOTTLENECK, 2, 33, 7, 5, 0},
    {"two blocks", "conv20k3p1 norm relu " BASIC BASIC_DOWN "mean linear5", 2, 3, 7, 6, 0},
    {"wide block", "( conv32k3p1 norm relu conv32k3p1 norm | ) relu mean", 2, 32, 6, 6, 0},
    {"small resnet",
     "conv20k3s2p1 norm relu maxk3s2p1 " BASIC BASIC BASIC_DOWN BOTTLENECK
     "mean linear10 norm relu linear6 unit",
     8, 3, 19, 17, 0},
};
const int nlayer_cases = sizeof layer_cases / sizeof *layer_cases;

const struct layer_case *layer_case_named(const char *name)
{
    for (int i = 0; i < nlayer_cases; i++)
        if (strcmp(layer_cases[i].name, name) == 0)
            return &layer_cases[i];
    fail_msg("there is no case \"%s\"", name);
    return NULL;
}

void each_conv_shape(void (*fn)(const struct layer_case *c))
{
    static const int64_t size[] = {1, 2, 5}, channels[] = {3, 20};
    for (int i = 0; i < 108; i++) {
        char name[64], layers[32];
        int kernel = 2 * (i % 3) + 1, stride = 1 + i / 3 % 2;
        int64_t h = size[i / 6 % 3], w = size[i / 18 % 3], c = channels[i / 54];
        snprintf(layers, sizeof layers, "conv18k%ds%dp%d", kernel, stride, kernel / 2);
        snprintf(name, sizeof name, "%s of %lld channels, %lldx%lld", layers, (long long)c,
                 (long long)h, (long long)w);
        struct layer_case shape_case = {name, layers, 2, c, h, w, 0};
        fn(&shape_case);
    }
}

/* ---- from a description to a network ---- */

enum { DEPTH = 8 };

struct parser {
    struct layer_net *l;
    int node, layers;
    int start[DEPTH], first[DEPTH], depth; /* of open brackets */
};

/* "conv8k3": the number behind `letter`, or behind the word itself if it is 0. */
static int64_t number_in(const char *token, char letter, int64_t otherwise)
{
    const char *p = token + strcspn(token, "0123456789");
    p = letter ? strchr(token, letter) : p - 1;
    return p && isdigit((unsigned char)p[1]) ? strtoll(p + 1, NULL, 10) : otherwise;
}

static int add_layer(struct parser *p, const char *token)
{
    struct ck_net *net = &p->l->net;
    int64_t k = number_in(token, 'k', 1), s = number_in(token, 's', 1),
            pad = number_in(token, 'p', 0);
    char name[CK_NET_NAME];
    snprintf(name, sizeof name, "%.*s%d", (int)strcspn(token, "0123456789"), token,
             ++p->layers);
    if (strncmp(token, "conv", 4) == 0)
        return ck_net_conv(net, name, p->node, number_in(token, 0, 1), k, s, pad);
    if (strncmp(token, "linear", 6) == 0)
        return ck_net_linear(net, name, p->node, number_in(token, 0, 1));
    if (strncmp(token, "max", 3) == 0)
        return ck_net_max_pool(net, p->node, k, s, pad);
    if (strncmp(token, "avg", 3) == 0)
        return ck_net_avg_pool(net, p->node, k, s, pad);
    if (strcmp(token, "norm") == 0)
        return ck_net_norm(net, name, p->node);
    if (strcmp(token, "plain") == 0)
        return ck_net_norm_plain(net, name, p->node);
    if (strcmp(token, "relu") == 0)
        return ck_net_relu(net, p->node);
    if (strcmp(token, "gelu") == 0)
        return ck_net_gelu(net, p->node);
    if (strcmp(token, "mean") == 0)
        return ck_net_mean(net, p->node);
    assert_string_equal(token, "unit");
    return ck_net_unit(net, p->node);
}

static void take(struct parser *p, const char *token)
{
    switch (*token) {
    case '(':
    case '[':
        p->start[p->depth++] = p->node;
        break;
    case '|':
        p->first[p->depth - 1] = p->node;
        p->node = p->start[p->depth - 1];
        break;
    case ')':
        p->depth--;
        p->node = ck_net_add(&p->l->net, p->first[p->depth], p->node);
        break;
    case ']':
        p->node = p->start[--p->depth];
        break;
    case '*':
        p->l->out[p->l->nout++] = p->node;
        break;
    default:
        p->node = add_layer(p, token);
    }
    if (p->node < 0)
        fail_msg("%s: \"%s\": %s", p->l->c->name, token, coke_last_error());
}

static void build(struct layer_net *l)
{
    struct parser p = {.l = l, .node = ck_net_input(&l->net, l->c->c)};
    char text[512], *rest = NULL;
    snprintf(text, sizeof text, "%s", l->c->layers);
    for (char *t = strtok_r(text, " ", &rest); t; t = strtok_r(NULL, " ", &rest))
        take(&p, t);
    l->out[l->nout++] = p.node;
}

/* ---- numbers ---- */

static void fill_param(struct ck_param *p, uint64_t seed, int is_norm)
{
    double fan_in = (double)(p->size / p->shape[0]);
    int scale = is_norm && strstr(p->name, "weight") != NULL;
    for (int64_t i = 0; i < p->size; i++) {
        double x = (double)test_normal(seed, (uint64_t)i), u = test_unit(seed, (uint64_t)i);
        p->value[i] = (float)(p->ndim > 1 ? x / sqrt(fan_in) : scale ? 0.5 + u : u - 0.5);
    }
    p->version++;
}

static void fill_net(struct ck_net *net, uint64_t seed)
{
    for (int i = 0; i < net->nnodes; i++) {
        const struct ck_node *v = &net->node[i];
        for (int j = 0; v->param >= 0 && j < (v->kind == CK_LAYER_CONV ? 1 : 2); j++)
            fill_param(&net->param[v->param + j], seed + 100 * (uint64_t)i + (uint64_t)j,
                       v->kind == CK_LAYER_NORM);
    }
    for (int i = 0; i < net->nbuffers; i++)
        for (int64_t j = 0; j < net->buffer[i].size; j++) {
            double u = test_unit(seed + 7777 + (uint64_t)i, (uint64_t)j);
            net->buffer[i].value[j] = (float)(i % 2 ? 0.5 + u : u - 0.5);
        }
}

static float *normal_floats(int64_t n, uint64_t seed)
{
    float *x = test_array((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = test_normal(seed, (uint64_t)i);
    return x;
}

/* Random numbers for everything in the network that was built, and for what goes in. */
static void fill(struct layer_net *l)
{
    struct naive v;
    uint64_t seed = l->number * 1000003;
    fill_net(&l->net, seed);
    naive_init(&v, &l->net, l->c->n, l->c->h, l->c->w, 0);
    l->images = normal_floats(v.value[0].size, seed + 1);
    for (int i = 0; i < l->nout; i++)
        l->seed[i] = normal_floats(v.value[l->out[i]].size, seed + 2 + (uint64_t)i);
    naive_release(&v);
}

void layer_net_init(struct layer_net *l, const struct layer_case *c, uint64_t number)
{
    *l = (struct layer_net){.c = c, .number = number};
    build(l);
    fill(l);
}

static int ends_a_branch(const struct ck_net *net, int node)
{
    int found = 0;
    for (int i = node + 1; i < net->nnodes; i++)
        found |= net->node[i].kind == CK_LAYER_ADD && net->node[i].in[0] == node;
    return found;
}

void layer_net_init_encoder(struct layer_net *l, const struct layer_case *c,
                            const struct ck_encoder_options *o)
{
    struct coke_encoder e;
    assert_ok(ck_encoder_init(&e, o));
    *l = (struct layer_net){.c = c, .number = 1, .net = e.net, .nout = 2};
    l->out[0] = e.node[COKE_OUTPUT_PROJ];
    l->out[1] = e.node[COKE_OUTPUT_PRED];
    fill(l);
    for (int i = 0; i < l->net.nnodes; i++)
        for (int64_t j = 0; ends_a_branch(&l->net, i) && j < l->net.node[i].channels; j++)
            l->net.param[l->net.node[i].param].value[j] *= 0.1f;
}

void layer_net_release(struct layer_net *l)
{
    ck_net_release(&l->net);
    free(l->images);
    for (int i = 0; i < l->nout; i++)
        free(l->seed[i]);
}

struct ck_plan_request layer_request(const struct layer_net *l, int train)
{
    struct ck_plan_request r = ck_plan_request_default();
    r.n = l->c->n;
    r.h = l->c->h;
    r.w = l->c->w;
    r.train = train;
    r.backward = r.input_grad = 1;
    r.nwant = r.ngrad = l->nout;
    for (int i = 0; i < l->nout; i++)
        r.want[i] = r.grad[i] = l->out[i];
    return r;
}

static void set_images(struct naive *v, const struct layer_net *l)
{
    for (int64_t i = 0; i < v->value[0].size; i++)
        v->value[0].x[i] = (double)l->images[i];
}

void layer_net_init_clear(struct layer_net *l, const struct layer_case *c, int train)
{
    for (uint64_t number = 1; number < 200; number++) {
        struct naive v;
        layer_net_init(l, c, number);
        naive_init(&v, &l->net, c->n, c->h, c->w, train);
        set_images(&v, l);
        naive_forward(&v);
        double margin = v.margin;
        naive_release(&v);
        if (margin > 3e-5)
            return;
        layer_net_release(l);
    }
    fail_msg("%s: no numbers away from all kinks", c->name);
}

/* ---- results ---- */

static double *add_part(struct layer_result *r, int64_t n, const char *name)
{
    assert_true(r->nparts < LAYER_PARTS);
    struct layer_part *p = &r->part[r->nparts++];
    snprintf(p->name, sizeof p->name, "%s", name);
    p->from = r->n;
    p->n = n;
    p->scale = 0;
    double *more = test_array((size_t)(r->n + n), sizeof *more);
    if (r->n)
        memcpy(more, r->v, (size_t)r->n * sizeof *more);
    free(r->v);
    r->v = more;
    r->n += n;
    return more + p->from;
}

static void add_floats(struct layer_result *r, const float *x, int64_t n, const char *name)
{
    double *to = add_part(r, n, name);
    for (int64_t i = 0; i < n; i++)
        to[i] = (double)x[i];
}

void layer_result_of(struct layer_result *r, struct layer_net *l, struct ck_plan *p)
{
    char name[32];
    memset(r, 0, sizeof *r);
    assert_ok(ck_plan_forward(p, l->images));
    for (int i = 0; i < l->nout; i++) {
        float *out = test_array((size_t)ck_plan_elements(p, l->out[i]), sizeof *out);
        snprintf(name, sizeof name, "output %d", i);
        assert_ok(ck_plan_read(p, l->out[i], out));
        add_floats(r, out, ck_plan_elements(p, l->out[i]), name);
        free(out);
    }
    assert_ok(ck_plan_backward(p, (const float *const *)l->seed));
    float *g = test_array((size_t)ck_plan_elements(p, 0), sizeof *g);
    assert_ok(ck_plan_read_input_grad(p, g));
    add_floats(r, g, ck_plan_elements(p, 0), "images");
    free(g);
    for (int i = 0; i < l->net.nparams; i++)
        add_floats(r, l->net.param[i].grad, l->net.param[i].size, l->net.param[i].name);
    for (int i = 0; i < l->net.nbuffers; i++)
        add_floats(r, l->net.buffer[i].value, l->net.buffer[i].size, l->net.buffer[i].name);
}

void layer_result_by(struct layer_result *r, struct layer_net *l,
                     const struct ck_plan_request *request)
{
    struct ck_plan *p;
    ck_net_zero_grad(&l->net);
    assert_ok(ck_plan_new(&p, &l->net, request));
    layer_result_of(r, l, p);
    ck_plan_free(p);
}

void layer_result_poisoned(struct layer_result *r, struct layer_net *l,
                           const struct ck_plan_request *request)
{
    struct ck_plan *p;
    ck_net_zero_grad(&l->net);
    assert_ok(ck_plan_new(&p, &l->net, request));
    memset(p->arena, 0xff, p->arena_bytes);
    memset(p->scratch, 0xff, p->scratch_bytes);
    layer_result_of(r, l, p);
    ck_plan_free(p);
}

static double largest(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

static void set_scales(struct layer_result *r)
{
    for (int i = 0; i < r->nparts; i++) {
        double most = largest(r->v + r->part[i].from, r->part[i].n);
        r->part[i].scale = most > r->part[i].scale ? most : r->part[i].scale;
    }
}

/* As PyTorch updates them: with the unbiased variance. */
static void add_running(struct layer_result *r, const struct naive *v, int node)
{
    const struct ck_node *b = &v->net->node[node];
    const struct naive_value *y = &v->value[node];
    double count = (double)(y->size / y->c);
    for (int i = 0; i < 2; i++) {
        const struct ck_param *old = &v->net->buffer[b->buffer + i];
        double *to = add_part(r, y->c, old->name);
        for (int64_t c = 0; c < y->c; c++) {
            double now = i ? y->var[c] * count / (count - 1) : y->mean[c];
            to[c] = (double)old->value[c];
            if (v->train)
                to[c] = 0.9 * to[c] + 0.1 * now;
        }
    }
}

void layer_result_naive(struct layer_result *r, struct layer_net *l,
                        const struct ck_plan_request *request)
{
    int train = request->train;
    struct naive v;
    char name[32];
    memset(r, 0, sizeof *r);
    naive_init(&v, &l->net, l->c->n, l->c->h, l->c->w, train);
    set_images(&v, l);
    naive_follow(&v, &l->net, request, l->images);
    naive_forward(&v);
    for (int i = 0; i < l->nout; i++) {
        const struct naive_value *y = &v.value[l->out[i]];
        snprintf(name, sizeof name, "output %d", i);
        memcpy(add_part(r, y->size, name), y->x, (size_t)y->size * sizeof *y->x);
        for (int64_t j = 0; j < y->size; j++)
            y->g[j] += (double)l->seed[i][j];
    }
    naive_backward(&v);
    memcpy(add_part(r, v.value[0].size, "images"), v.value[0].g,
           (size_t)v.value[0].size * sizeof(double));
    for (int i = 0; i < l->net.nparams; i++) {
        memcpy(add_part(r, l->net.param[i].size, l->net.param[i].name), v.param_grad[i],
               (size_t)l->net.param[i].size * sizeof(double));
        r->part[r->nparts - 1].scale = 0.1 * largest(v.terms[i], l->net.param[i].size);
    }
    for (int i = 0; i < l->net.nnodes; i++)
        if (l->net.node[i].kind == CK_LAYER_NORM)
            add_running(r, &v, i);
    set_scales(r);
    naive_release(&v);
}

void layer_result_release(struct layer_result *r)
{
    free(r->v);
    memset(r, 0, sizeof *r);
}

/* ---- comparisons ---- */

void assert_same_bytes(const struct layer_result *a, const struct layer_result *b,
                       const char *what)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->nparts; i++) {
        const struct layer_part *p = &a->part[i];
        if (memcmp(a->v + p->from, b->v + p->from, (size_t)p->n * sizeof(double)) != 0)
            fail_msg("%s: %s has other bytes", what, p->name);
    }
}

static void assert_same_parts(const struct layer_result *a, const struct layer_result *b)
{
    assert_int_equal(a->nparts, b->nparts);
    for (int i = 0; i < a->nparts; i++) {
        assert_string_equal(a->part[i].name, b->part[i].name);
        assert_int_equal(a->part[i].n, b->part[i].n);
    }
}

static int is_output(const char *part)
{
    return strncmp(part, "output", 6) == 0 || strstr(part, "running") != NULL;
}

static void assert_elements(const struct layer_result *a, const struct layer_result *b,
                            double tolerance, const char *what)
{
    for (int i = 0; i < a->nparts; i++) {
        const struct layer_part *p = &a->part[i];
        double apart = 0, scale = b->part[i].scale;
        for (int64_t j = p->from; j < p->from + p->n; j++)
            apart = fabs(a->v[j] - b->v[j]) <= apart ? apart : fabs(a->v[j] - b->v[j]);
        if (!(apart <= tolerance * scale))
            fail_msg("%s: %s: %g apart, %g of %g, more than %g", what, p->name, apart,
                     apart / scale, scale, tolerance);
    }
}

void assert_near_in_length(const struct layer_result *a, const struct layer_result *b,
                           const char *kind, double tolerance, const char *what)
{
    assert_same_parts(a, b);
    for (int i = 0; i < a->nparts; i++) {
        const struct layer_part *p = &b->part[i];
        double apart = 0, square = 0, cancelled = p->scale * p->scale * (double)p->n;
        if (is_output(p->name) != (strcmp(kind, "outputs") == 0))
            continue;
        for (int64_t j = p->from; j < p->from + p->n; j++) {
            apart += (a->v[j] - b->v[j]) * (a->v[j] - b->v[j]);
            square += b->v[j] * b->v[j];
        }
        double share = sqrt(apart / (square < 1e-6 * cancelled ? cancelled : square));
        if (!(share <= tolerance) && apart > 0)
            fail_msg("%s: %s: %g apart in length, more than %g", what, p->name, share,
                     tolerance);
    }
}

void assert_f32(const struct layer_result *a, const struct layer_result *b, const char *what)
{
    assert_near_in_length(a, b, "outputs", LAYER_NEAR, what);
    assert_near_in_length(a, b, "gradients", LAYER_NEAR, what);
    assert_elements(a, b, 2 * LAYER_NEAR, what);
}
