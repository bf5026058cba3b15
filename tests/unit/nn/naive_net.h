/* naive_net.h - networks computed slowly, in double, by loops over [n][c][h][w]: the oracle of
 * the engine. It uses the list of layers and the parameters' values of src/nn, and nothing that
 * computes. */
#ifndef CK_NAIVE_NET_H
#define CK_NAIVE_NET_H

#include "nn/net.h"

struct naive_value {
    int64_t c, h, w, size; /* size = n * c * h * w; vectors have h = w = 1 */
    double *x, *g;         /* the node's output and its gradient */
    double *mean, *var;    /* [c] of batch norms: those of the last forward pass */
};

struct naive {
    const struct ck_net *net;
    int64_t n;
    int train;
    struct naive_value *value;    /* [nnodes]; the images are value[0].x */
    double **param, **param_grad; /* [nparams] */
    double **terms;               /* like param_grad: the sums of the terms' absolute values */
    float **followed; /* [nnodes], each NULL or what another run of the network yielded there:
                         ReLUs and maxima then decide as it did (naive_follow.h) */
    double margin; /* of the last forward pass: how far the nearest ReLU was from its kink, and
                      the nearest maximum from the runner-up */
};

void naive_init(struct naive *v, const struct ck_net *net, int64_t n, int64_t h, int64_t w,
                int train);
void naive_release(struct naive *v);

void naive_forward(struct naive *v);
/* Propagates the gradients g of the nodes, which it completes; naive_zero_grad clears them. */
void naive_backward(struct naive *v);
void naive_zero_grad(struct naive *v);

#endif
