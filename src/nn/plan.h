/* plan.h - a network compiled for one batch size, image size and precision.
 *
 * Plans of one network use the same parameters. Activations and gradients are placed in one
 * arena according to their lifetimes; after ck_plan_new nothing is allocated. A training step:
 *
 *     ck_net_zero_grad(net);
 *     for each view v:  ck_plan_forward(plan[v], images[v]);
 *     ... loss from ck_plan_vector(plan[v], node) ...
 *     for each view v:  ck_plan_backward(plan[v], gradients);   adds to the gradients of net
 *
 * A plan holds the activations of its last forward pass: views that are in flight at the same
 * time need a plan each. One thread at a time may use the plans of a network; each layer
 * spreads its work over the OpenMP team. The network must outlive its plans. */
#ifndef CK_PLAN_H
#define CK_PLAN_H

#include "nn/dnn.h"
#include "nn/net.h"

struct ck_plan;

enum { CK_PLAN_NODES = 8 };

struct ck_plan_request {
    int64_t n, h, w;     /* batch and image size */
    enum ck_dtype dtype; /* of images inside the network: CK_F32 or CK_BF16; vectors are f32 */
    int train; /* use batch statistics and update the running ones; else use the running ones */
    int backward;   /* ck_plan_backward will be called */
    int input_grad; /* also compute the gradient of the images */
    int recompute;  /* recompute normalised images in the backward pass, to save memory */
    int want[CK_PLAN_NODES]; /* nodes to read after the forward pass */
    int nwant;
    int grad[CK_PLAN_NODES]; /* those of them whose gradients the caller provides */
    int ngrad;
};

struct ck_plan_request ck_plan_request_default(void);

/* Compiles the network; COKE_EUSAGE if the request does not fit it. The plan is made for the
 * current number of threads and runs on no more than that. */
int ck_plan_new(struct ck_plan **out, struct ck_net *net, const struct ck_plan_request *r);
void ck_plan_free(struct ck_plan *p);
/* ck_plan_bytes of the plan that the request would make, without allocating them. */
int ck_plan_measure(struct ck_net *net, const struct ck_plan_request *r, size_t *bytes);

/* All-reduce over the processes of a group: adds v [n] in place, in the same order everywhere.
 * Called from the thread that runs the plan. */
struct ck_reduce {
    int (*sum)(void *arg, double *v, int64_t n);
    void *arg;
    int absent; /* this rank has no part of the batch; its images do not count */
};

/* Makes batch norm use the statistics of the whole group. NULL = this process alone. `reduce`
 * is copied; its arg must outlive the plan's use. */
void ck_plan_synchronise(struct ck_plan *p, const struct ck_reduce *reduce);

/* Called during a backward pass, on the thread that runs it, when the gradients of parameters
 * first .. first + n - 1 of the network are complete for this pass. train/ranks.c starts their
 * all-reduce from here. A status other than COKE_OK stops the pass. */
struct ck_grad_hook {
    int (*ready)(void *arg, int first, int n);
    void *arg;
};

/* NULL removes the hook. */
void ck_plan_watch(struct ck_plan *p, const struct ck_grad_hook *hook);

/* images [n][channels][h][w], borrowed for the call. */
int ck_plan_forward(struct ck_plan *p, const float *images);
/* The vectors [n][channels] of a wanted node, owned by the plan and valid until the next
 * forward pass; NULL if the node is not wanted or yields images. */
const float *ck_plan_vector(const struct ck_plan *p, int node);
/* Copies the output of any wanted node; images as [n][channels][h][w]. Allocates for images:
 * meant for taps and tests. */
int ck_plan_read(const struct ck_plan *p, int node, float *out);
int64_t ck_plan_elements(const struct ck_plan *p, int node); /* elements of that array */

/* grad [ngrad]: gradients in the order of the request, laid out like ck_plan_read's output;
 * borrowed. Once per forward pass: gradients overwrite activations. */
int ck_plan_backward(struct ck_plan *p, const float *const *grad);
/* Copies the gradient of the images, out [n][channels][h][w], after a backward pass.
 * COKE_EUSAGE unless the request had input_grad. */
int ck_plan_read_input_grad(const struct ck_plan *p, float *out);

/* ---- costs ---- */

size_t ck_plan_bytes(const struct ck_plan *p); /* arena and scratch */

/* Times since the plan was made, one row per layer and pass. Strings belong to the plan. */
struct ck_plan_cost {
    const char *layer, *kind, *pass; /* "layer1.0.conv1", "conv", "weights" */
    const char *how;                 /* implementation, or "" */
    double seconds, flops;           /* of the fastest run */
};

/* Writes up to `room` rows and returns how many exist. */
int ck_plan_costs(const struct ck_plan *p, struct ck_plan_cost *row, int room);

#endif
