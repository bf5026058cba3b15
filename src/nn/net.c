/* net.c - a network: a static graph of layers, its parameters and running statistics. */
#include "nn/net.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "kernels/layers.h"
#include "nn/copies.h"

#include <stdio.h>
#include <string.h>

/* ---- parameters and buffers: indices stay valid as the lists grow, pointers do not ---- */

/* Adds "LAYER.WHAT", filled with 0; version 1, so that copies (version 0) are stale. */
static int add_tensor(struct ck_param **list, int *n, int64_t *room, const char *layer,
                      const char *what, int ndim, const int64_t *shape, int learned)
{
    CK_RETURN_IF(CK_VEC_RESERVE(*list, *room, *n + 1));
    struct ck_param *p = &(*list)[*n];
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s.%s", layer, what);
    p->ndim = ndim;
    p->size = 1;
    for (int i = 0; i < ndim; i++) {
        p->shape[i] = shape[i];
        p->size *= shape[i];
    }
    p->version = 1;
    p->value = ck_calloc_array((size_t)p->size, sizeof *p->value);
    if (learned)
        p->grad = ck_calloc_array((size_t)p->size, sizeof *p->grad);
    if (!p->value || (learned && !p->grad)) {
        ck_free(p->value);
        ck_free(p->grad);
        return COKE_ENOMEM;
    }
    ++*n;
    return COKE_OK;
}

static int add_param(struct ck_net *net, const char *layer, const char *what, int ndim,
                     const int64_t *shape)
{
    return add_tensor(&net->param, &net->nparams, &net->room_params, layer, what, ndim, shape,
                      1);
}

static int add_buffer(struct ck_net *net, const char *layer, const char *what, int64_t channels)
{
    return add_tensor(&net->buffer, &net->nbuffers, &net->room_buffers, layer, what, 1,
                      &channels, 0);
}

static void free_tensors(struct ck_param *list, int n)
{
    for (int i = 0; i < n; i++) {
        ck_free(list[i].value);
        ck_free(list[i].grad);
    }
    ck_free(list);
}

/* Plans and optimizers of the network must be gone: they point into it. */
void ck_net_release(struct ck_net *net)
{
    ck_copies_free(net->copies);
    free_tensors(net->param, net->nparams);
    free_tensors(net->buffer, net->nbuffers);
    ck_free(net->counter);
    ck_free(net->node);
    memset(net, 0, sizeof *net);
}

/* ---- adding layers ---- */

/* Adds a node with the shape of its input; NULL with the error set. */
static struct ck_node *add_node(struct ck_net *net, enum ck_layer kind, const char *name, int a,
                                int b)
{
    if (CK_VEC_RESERVE(net->node, net->room_nodes, net->nnodes + 1))
        return NULL;
    struct ck_node *v = &net->node[net->nnodes];
    memset(v, 0, sizeof *v);
    v->kind = kind;
    snprintf(v->name, sizeof v->name, "%s", name);
    v->in[0] = a;
    v->in[1] = b;
    v->param = v->buffer = v->counter = -1;
    if (a >= 0) {
        v->channels = net->node[a].channels;
        v->is_vector = net->node[a].is_vector;
    }
    net->nnodes++;
    return v;
}

static int made(const struct ck_net *net, const struct ck_node *v)
{
    return v ? (int)(v - net->node) : COKE_ENOMEM;
}

/* Adding to a failed node returns its status, so that builders need to check the last node
 * only. */
#define NEEDS(in, vector)                                                                      \
    do {                                                                                       \
        if ((in) < 0)                                                                          \
            return (in);                                                                       \
        if (net->node[in].is_vector != (vector))                                               \
            return ck_fail(COKE_EUSAGE, "node %d: the input must be %s", net->nnodes,          \
                           (vector) ? "vectors" : "images");                                   \
    } while (0)

int ck_net_input(struct ck_net *net, int64_t channels)
{
    if (channels < 1)
        return ck_fail(COKE_EUSAGE, "images must have at least 1 channel, not %lld",
                       (long long)channels);
    struct ck_node *v = add_node(net, CK_LAYER_INPUT, "input", -1, -1);
    if (v)
        v->channels = channels;
    return made(net, v);
}

int ck_net_conv(struct ck_net *net, const char *name, int in, int64_t out, int64_t kernel,
                int64_t stride, int64_t pad)
{
    NEEDS(in, 0);
    if (out < 1 || kernel < 1 || stride < 1 || pad < 0)
        return ck_fail(
            COKE_EUSAGE,
            "%s: invalid convolution: %lld channels, kernel %lld, stride %lld, padding %lld",
            name, (long long)out, (long long)kernel, (long long)stride, (long long)pad);
    int64_t shape[4] = {out, net->node[in].channels, kernel, kernel};
    int first = net->nparams, rc = add_param(net, name, "weight", 4, shape);
    if (rc)
        return rc;
    struct ck_node *v = add_node(net, CK_LAYER_CONV, name, in, -1);
    if (v) {
        v->channels = out;
        v->kernel = kernel;
        v->stride = stride;
        v->pad = pad;
        v->param = first;
    }
    return made(net, v);
}

static int add_counter(struct ck_net *net, const char *layer)
{
    CK_RETURN_IF(CK_VEC_RESERVE(net->counter, net->room_counters, net->ncounters + 1));
    struct ck_counter *c = &net->counter[net->ncounters++];
    c->value = 0;
    snprintf(c->name, sizeof c->name, "%s.num_batches_tracked", layer);
    return COKE_OK;
}

/* Accepts images and vectors. The running variance starts at 1, like gamma. */
int ck_net_norm(struct ck_net *net, const char *name, int in)
{
    if (in < 0)
        return in;
    int param = net->nparams, buffer = net->nbuffers, counter = net->ncounters;
    int64_t c = net->node[in].channels;
    CK_RETURN_IF(add_param(net, name, "weight", 1, &c));
    CK_RETURN_IF(add_param(net, name, "bias", 1, &c));
    CK_RETURN_IF(add_buffer(net, name, "running_mean", c));
    CK_RETURN_IF(add_buffer(net, name, "running_var", c));
    CK_RETURN_IF(add_counter(net, name));
    for (int64_t i = 0; i < c; i++)
        net->param[param].value[i] = net->buffer[buffer + 1].value[i] = 1;
    struct ck_node *v = add_node(net, CK_LAYER_NORM, name, in, -1);
    if (v) {
        v->param = param;
        v->buffer = buffer;
        v->counter = counter;
    }
    return made(net, v);
}

int ck_net_norm_plain(struct ck_net *net, const char *name, int in)
{
    int node = ck_net_norm(net, name, in);
    for (int i = 0; node >= 0 && i < 2; i++)
        net->param[net->node[node].param + i].fixed = 1;
    return node;
}

int ck_net_relu(struct ck_net *net, int in)
{
    return in < 0 ? in : made(net, add_node(net, CK_LAYER_RELU, "", in, -1));
}

int ck_net_gelu(struct ck_net *net, int in)
{
    NEEDS(in, 1);
    return made(net, add_node(net, CK_LAYER_GELU, "", in, -1));
}

int ck_net_add(struct ck_net *net, int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? a : b;
    if (net->node[a].channels != net->node[b].channels ||
        net->node[a].is_vector != net->node[b].is_vector)
        return ck_fail(COKE_EUSAGE, "node %d: cannot add %lld and %lld channels", net->nnodes,
                       (long long)net->node[a].channels, (long long)net->node[b].channels);
    return made(net, add_node(net, CK_LAYER_ADD, "", a, b));
}

static int add_pool(struct ck_net *net, enum ck_layer kind, int in, int64_t kernel,
                    int64_t stride, int64_t pad)
{
    NEEDS(in, 0);
    if (kernel < 1 || kernel > 15 || stride < 1 || pad < 0 || pad > kernel / 2)
        return ck_fail(COKE_EUSAGE,
                       "invalid pooling: window %lld (1..15), stride %lld, padding %lld "
                       "(at most half the window)",
                       (long long)kernel, (long long)stride, (long long)pad);
    struct ck_node *v = add_node(net, kind, "", in, -1);
    if (v) {
        v->kernel = kernel;
        v->stride = stride;
        v->pad = pad;
    }
    return made(net, v);
}

int ck_net_max_pool(struct ck_net *net, int in, int64_t kernel, int64_t stride, int64_t pad)
{
    return add_pool(net, CK_LAYER_MAX_POOL, in, kernel, stride, pad);
}

int ck_net_avg_pool(struct ck_net *net, int in, int64_t kernel, int64_t stride, int64_t pad)
{
    return add_pool(net, CK_LAYER_AVG_POOL, in, kernel, stride, pad);
}

int ck_net_mean(struct ck_net *net, int in)
{
    NEEDS(in, 0);
    struct ck_node *v = add_node(net, CK_LAYER_MEAN, "", in, -1);
    if (v)
        v->is_vector = 1;
    return made(net, v);
}

int ck_net_linear(struct ck_net *net, const char *name, int in, int64_t out)
{
    NEEDS(in, 1);
    if (out < 1)
        return ck_fail(COKE_EUSAGE, "%s: invalid number of outputs: %lld", name,
                       (long long)out);
    int64_t shape[2] = {out, net->node[in].channels};
    int first = net->nparams, rc = add_param(net, name, "weight", 2, shape);
    if (!rc)
        rc = add_param(net, name, "bias", 1, shape);
    if (rc)
        return rc;
    struct ck_node *v = add_node(net, CK_LAYER_LINEAR, name, in, -1);
    if (v) {
        v->channels = out;
        v->param = first;
    }
    return made(net, v);
}

int ck_net_unit(struct ck_net *net, int in)
{
    NEEDS(in, 1);
    return made(net, add_node(net, CK_LAYER_UNIT, "", in, -1));
}

/* ---- lookup ---- */

void ck_net_tap(struct ck_net *net, int node, const char *name)
{
    if (node >= 0)
        snprintf(net->node[node].name, sizeof net->node[node].name, "%s", name);
}

int ck_net_find(const struct ck_net *net, const char *name)
{
    for (int i = 0; i < net->nnodes; i++)
        if (strcmp(net->node[i].name, name) == 0)
            return i;
    return -1;
}

struct ck_param *ck_net_param(struct ck_net *net, const char *name)
{
    for (int i = 0; i < net->nparams; i++)
        if (strcmp(net->param[i].name, name) == 0)
            return &net->param[i];
    return NULL;
}

void ck_net_zero_grad(struct ck_net *net)
{
    for (int i = 0; i < net->nparams; i++)
        ck_zero_f32(net->param[i].size, net->param[i].grad);
}

int64_t ck_net_size(const struct ck_net *net)
{
    int64_t n = 0;
    for (int i = 0; i < net->nparams; i++)
        n += net->param[i].fixed ? 0 : net->param[i].size;
    return n;
}
