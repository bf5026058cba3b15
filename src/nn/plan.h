/* plan.h - a network compiled for one batch size, image size and precision.
 *
 * Plans of one network share its parameters. Activations and gradients lie in one arena that is
 * planned from their lifetimes; after ck_plan_new nothing is allocated. A training step:
 *
 *     ck_net_zero_grad(net);
 *     for each view v:  ck_plan_forward(plan[v], images[v]);
 *     ... loss from ck_plan_vector(plan[v], node) ...
 *     for each view v:  ck_plan_backward(plan[v], seeds);       adds to the gradients of net
 *
 * A plan holds the activations of its last forward pass: views that are in flight at the same
 * time need a plan each. */
#ifndef CK_PLAN_H
#define CK_PLAN_H

#include "nn/dnn.h"
#include "nn/net.h"

struct ck_plan;

enum { CK_PLAN_NODES = 8 };

struct ck_plan_request {
    int64_t n, h, w;     /* batch and image size */
    enum ck_dtype dtype; /* of images inside the network: CK_F32 or CK_BF16; vectors are f32 */
    int train;           /* batch statistics, which move the running ones; else the running */
    int backward;        /* gradients will be asked for */
    int input_grad;      /* also of the images */
    int recompute;       /* normalised images are computed again instead of kept */
    int want[CK_PLAN_NODES]; /* nodes that are read after the forward pass */
    int nwant;
    int seed[CK_PLAN_NODES]; /* among them, those whose gradients are given */
    int nseed;
};

struct ck_plan_request ck_plan_request_default(void);

int ck_plan_new(struct ck_plan **out, struct ck_net *net, const struct ck_plan_request *r);
void ck_plan_free(struct ck_plan *p);

/* Adds v [n] over all processes of a group, in place, in the same way everywhere. */
struct ck_reduce {
    int (*sum)(void *arg, double *v, int64_t n);
    void *arg;
    int absent; /* this process has no part of the batch: its images count for nothing */
};

/* Batch norm then uses the statistics of the whole group. NULL = this process alone. */
void ck_plan_synchronise(struct ck_plan *p, const struct ck_reduce *reduce);

/* Someone who waits for gradients: parameters first .. first + n - 1 of the network have got
 * those of this backward pass. */
struct ck_grad_hook {
    int (*ready)(void *arg, int first, int n);
    void *arg;
};

/* NULL = no one. */
void ck_plan_watch(struct ck_plan *p, const struct ck_grad_hook *watch);

/* images [n][channels][h][w]. */
int ck_plan_forward(struct ck_plan *p, const float *images);
/* Vectors [n][channels] of a wanted node, until the next forward pass. */
const float *ck_plan_vector(const struct ck_plan *p, int node);
/* Any wanted node, images as [n][channels][h][w]. */
int ck_plan_read(const struct ck_plan *p, int node, float *out);
int64_t ck_plan_elements(const struct ck_plan *p, int node); /* of that array */

/* seed [nseed]: gradients in the order of the request, laid out as ck_plan_read does. */
int ck_plan_backward(struct ck_plan *p, const float *const *seed);
int ck_plan_read_input_grad(const struct ck_plan *p, float *out);

/* ---- what it costs ---- */

size_t ck_plan_bytes(const struct ck_plan *p); /* arena and scratch */

/* Time since the plan was made, one row a layer and pass. */
struct ck_plan_cost {
    const char *layer, *kind, *pass; /* "layer1.0.conv1", "conv", "weights" */
    const char *how;                 /* implementation, or "" */
    double seconds, flops;           /* of one run: the fastest */
};

/* Writes up to `room` rows, returns how many there are. */
int ck_plan_costs(const struct ck_plan *p, struct ck_plan_cost *row, int room);

#endif
