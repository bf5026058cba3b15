/* net.h - a network: a static graph of layers, its parameters and running statistics.
 *
 * Layers are added input first; each add function returns the new node (>= 0) or a status. Node
 * numbers identify the outputs of layers. plan.h compiles and runs networks.
 *
 * The network owns its tensors; plans and optimizers borrow them and must be freed first.
 * Nothing is locked: one thread at a time may add layers, run plans or change values. */
#ifndef CK_NET_H
#define CK_NET_H

#include "core/state.h"
#include "nn/param.h"

enum ck_layer {
    CK_LAYER_INPUT, /* images */
    CK_LAYER_CONV,  /* square kernel, no bias */
    CK_LAYER_NORM,  /* batch norm */
    CK_LAYER_RELU,
    CK_LAYER_GELU, /* x * Phi(x), exact; vectors only */
    CK_LAYER_ADD,
    CK_LAYER_MAX_POOL,
    CK_LAYER_AVG_POOL,
    CK_LAYER_MEAN,   /* mean over the whole image: images -> vectors */
    CK_LAYER_LINEAR, /* with bias; vectors -> vectors */
    CK_LAYER_UNIT,   /* scales vectors to length 1 */
};

enum { CK_NET_NAME = 48 };
#define CK_NORM_EPS 1e-5     /* added to the variance */
#define CK_NORM_MOMENTUM 0.1 /* of the running statistics */

struct ck_node {
    enum ck_layer kind;
    char name[CK_NET_NAME]; /* "layer1.0.conv1"; without parameters "" or a tap's name */
    int in[2];              /* nodes, -1 = none */
    int64_t channels;
    int is_vector; /* the output is [n][channels], else images */
    int64_t kernel, stride, pad;
    int param;   /* index of its first parameter, -1 = none */
    int buffer;  /* index of its first running statistic, -1 = none */
    int counter; /* index of its batch counter, -1 = none */
};

/* Number of batches a batch norm has seen; saved for PyTorch, not used in computations. */
struct ck_counter {
    char name[CK_PARAM_NAME];
    int64_t value;
};

struct ck_copies;

struct ck_net {
    struct ck_node *node;
    int nnodes;
    int64_t room_nodes;
    struct ck_param *param; /* learned parameters */
    int nparams;
    int64_t room_params;
    struct ck_param *buffer; /* running mean and variance of each batch norm; grad is NULL */
    int nbuffers;
    int64_t room_buffers;
    struct ck_counter *counter; /* num_batches_tracked */
    int ncounters;
    int64_t room_counters;
    struct ck_copies *copies; /* the parameters in the layouts that plans use; owned */
};

/* A zeroed struct is an empty network. Releasing leaves an empty one. */
void ck_net_release(struct ck_net *net);

/* Names must be unique; they become the prefixes of the parameters' names. Passing a failed
 * node (< 0) as input returns that status, so that calls can be nested. */
int ck_net_input(struct ck_net *net, int64_t channels);
int ck_net_conv(struct ck_net *net, const char *name, int in, int64_t out, int64_t kernel,
                int64_t stride, int64_t pad);
int ck_net_norm(struct ck_net *net, const char *name, int in);
/* Batch norm without scale and shift: its two parameters are fixed. */
int ck_net_norm_plain(struct ck_net *net, const char *name, int in);
int ck_net_relu(struct ck_net *net, int in);
int ck_net_gelu(struct ck_net *net, int in);
int ck_net_add(struct ck_net *net, int a, int b);
int ck_net_max_pool(struct ck_net *net, int in, int64_t kernel, int64_t stride, int64_t pad);
int ck_net_avg_pool(struct ck_net *net, int in, int64_t kernel, int64_t stride, int64_t pad);
int ck_net_mean(struct ck_net *net, int in);
int ck_net_linear(struct ck_net *net, const char *name, int in, int64_t out);
int ck_net_unit(struct ck_net *net, int in);

/* Names a node without parameters, so that ck_net_find finds it. */
void ck_net_tap(struct ck_net *net, int node, const char *name);
int ck_net_find(const struct ck_net *net, const char *name);         /* -1 = none */
struct ck_param *ck_net_param(struct ck_net *net, const char *name); /* NULL = none */

void ck_net_zero_grad(struct ck_net *net);
int64_t ck_net_size(const struct ck_net *net); /* number of learned values */

/* Initial values as in PyTorch: convolutions normal with variance 2 / (out * kernel^2), linear
 * layers uniform within 1 / sqrt(in), batch norm 1 and 0. A function of (seed, name) only. */
void ck_net_init(struct ck_net *net, uint64_t seed);

/* Adds parameters, running statistics and counters under PyTorch's names. `s` borrows them from
 * net. */
int ck_net_save(const struct ck_net *net, struct ck_state *s);
/* Loads all or nothing; the message names the first tensor that is missing, unexpected or of
 * another shape. Skips tensors whose names begin with `ignore` (NULL = none). `source` is used
 * in messages. */
int ck_net_load(struct ck_net *net, const struct ck_state *s, const char *source,
                const char *ignore);

#endif
