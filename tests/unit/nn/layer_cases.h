/* layer_cases.h - one table of small networks, and the results of each: by the engine and by
 * naive_net.c. */
#ifndef CK_LAYER_CASES_H
#define CK_LAYER_CASES_H

#include "naive_net.h"
#include "nn/encoder.h"
#include "nn/plan.h"

/* Layers are written input first:
 *   conv8k3s2p1   8 channels, kernel 3, stride 2, padding 1 (default: k1s1p0)
 *   norm relu mean unit linear10 maxk3s2p1 avgk2s2
 *   ( a | b )     the sum of two branches; one of them may be empty
 *   [ a ]         a side branch: what follows goes on from before it
 *   *             the node is an output that gets a gradient; the last one always is */
struct layer_case {
    const char *name, *layers;
    int64_t n, c, h, w;
    int only_eval; /* training is not defined: one value a channel */
};

extern const struct layer_case layer_cases[];
extern const int nlayer_cases;
const struct layer_case *layer_case_named(const char *name);
/* Besides the table: one convolution for every kernel up to 5, stride up to 2, and small height
 * and width, of few channels and of more than a block. */
void each_conv_shape(void (*fn)(const struct layer_case *c));

/* A case built, with random numbers in all parameters and running statistics, images and
 * gradients of the outputs. */
struct layer_net {
    const struct layer_case *c;
    uint64_t number; /* that all of these come from */
    struct ck_net net;
    int out[CK_PLAN_NODES], nout;
    float *images;              /* [n][c][h][w] */
    float *seed[CK_PLAN_NODES]; /* [nout] */
};

void layer_net_init(struct layer_net *l, const struct layer_case *c, uint64_t number);
/* The same with the first number for which no ReLU and no maximum is so near its kink that f32
 * may decide otherwise than double. */
void layer_net_init_clear(struct layer_net *l, const struct layer_case *c, int train);
/* An encoder in the place of a case's layers, with projections and predictions as outputs; of c
 * it takes the images' shape. What residual branches add is scaled down: deep networks of
 * random numbers magnify roundings up to a hundred times in training. */
void layer_net_init_encoder(struct layer_net *l, const struct layer_case *c,
                            const struct ck_encoder_options *o);
void layer_net_release(struct layer_net *l);
struct ck_plan_request layer_request(const struct layer_net *l, int train);

/* Everything a training step changes: outputs, the gradients of images and parameters, running
 * statistics; as one list of numbers in named parts. */
enum { LAYER_PARTS = 320 };

struct layer_part {
    char name[80]; /* "output 0", "images", "conv1.weight", "norm2.running_mean" */
    int64_t from, n;
    double scale; /* what an error is measured by: the largest number, or a tenth of the terms
                     that a gradient is the sum of, where they cancel */
};

struct layer_result {
    struct layer_part part[LAYER_PARTS];
    int nparts;
    double *v;
    int64_t n;
};

/* Runs forward and backward on plan p and collects. */
void layer_result_of(struct layer_result *r, struct layer_net *l, struct ck_plan *p);
/* Makes the plan, too; the gradients begin at 0. */
void layer_result_by(struct layer_result *r, struct layer_net *l,
                     const struct ck_plan_request *request);
/* The same with memory that is full of NaN when the pass begins: nobody may read what was not
 * written before. */
void layer_result_poisoned(struct layer_result *r, struct layer_net *l,
                           const struct ck_plan_request *request);
/* The same in double, where ReLUs and maxima decide as by that request (naive_follow.h). */
void layer_result_naive(struct layer_result *r, struct layer_net *l,
                        const struct ck_plan_request *request);
void layer_result_release(struct layer_result *r);

void assert_same_bytes(const struct layer_result *a, const struct layer_result *b,
                       const char *what);
/* Parts of a kind, "outputs" with the running statistics or "gradients": the length (l2 norm)
 * of a - b is at most tolerance times that of b, part by part. Where a gradient is a sum of
 * terms that cancel to less than a thousandth, b's scale takes the place of its numbers. */
void assert_near_in_length(const struct layer_result *a, const struct layer_result *b,
                           const char *kind, double tolerance, const char *what);
/* f32 against double: every part is near in length by LAYER_NEAR, and no number is off by more
 * than twice that of b's scale. Measured in length: 2e-7 to 1e-6 in a layer, 1.4e-6 by Winograd,
 * 5e-6 in the deepest networks. */
#define LAYER_NEAR 1e-5
void assert_f32(const struct layer_result *a, const struct layer_result *b, const char *what);

#endif
