/* plan_ops.h - between plan.c and the layers: what a compiled layer is. */
#ifndef CK_PLAN_OPS_H
#define CK_PLAN_OPS_H

#include "kernels/layers.h"
#include "nn/arena.h"
#include "nn/plan.h"

enum { CK_VALUE_GRADS = 4, CK_OP_PASSES = 3 };

/* What a node yields in this plan. */
struct ck_value {
    int64_t c, h, w;
    int is_vector;
    enum ck_dtype dtype;
    struct ck_format *format; /* of images */
    struct ck_act_shape act;  /* not of the input */
    size_t bytes;
    int needed, wanted, uses; /* by other nodes that are needed */
    int producer;             /* op */
    int buffer;               /* -1 = none (fused away) */
    int saved;                /* buffer that the backward pass reads, -1 = none */
    int recomputed;           /* `saved` is filled again during the backward pass */
    int grad[CK_VALUE_GRADS]; /* buffers whose sum is the gradient */
    int ngrads;
};

struct ck_op;

/* Results of a batch norm that a convolution makes, image by image, right before it reads them
 * (plan_defer.c). */
enum ck_deferred {
    CK_NORM_OUT, /* the output, in the forward pass of the convolution behind */
    CK_NORM_DIN, /* the gradient of the input, in the backward pass of the one before */
    CK_DEFERREDS
};

struct ck_op_class {
    const char *kind;
    int two_grads; /* takes two gradients of its output; else they are added before */
    /* Makes op->data; sets op->scratch, op->aux and the op->keeps_*. */
    int (*prepare)(struct ck_op *op);
    /* Sets op->din from op->dout: by ck_plan_grad_buffer, or one of dout passed on. */
    int (*prepare_backward)(struct ck_op *op);
    int (*forward)(struct ck_op *op);
    int (*backward)(struct ck_op *op);
    /* Computes the output again; NULL = cannot. */
    int (*recompute)(struct ck_op *op, void *out);
    void (*release)(struct ck_op *op);
    const char *(*how)(const struct ck_op *op, int pass);
};

struct ck_op {
    const struct ck_op_class *class;
    struct ck_plan *plan;
    int index;
    const struct ck_node *node; /* that its name and parameters come from */
    int in[2], out;             /* values, -1 = none */
    void *data;                 /* the layer's own */
    size_t scratch;             /* bytes of scratch that a run may use */
    size_t aux_bytes;           /* kept from the forward to the backward pass */
    int aux;                    /* that buffer, -1 = none */
    int keeps_in[2], keeps_out; /* the backward pass reads them */
    int din[2];                 /* buffers for the gradients of the inputs, -1 = not wanted */
    int dout[2], ndout;         /* gradients of the output; ndout = 0: no backward pass */
    double seconds[CK_OP_PASSES], flops[CK_OP_PASSES]; /* forward, data, weights */
    double weights_seconds; /* of the last backward pass, the share of the weights */
    /* Of a batch norm: the convolution that makes it; of a convolution: for whom; or NULL. */
    struct ck_op *share[CK_DEFERREDS];
    /* fused batch norms only */
    const struct ck_node *second; /* the batch norm of the other branch */
    int relu;
};

struct ck_buffer {
    struct ck_span span;
    unsigned char *data;
};

struct ck_plan {
    struct ck_net *net;
    struct ck_plan_request r;
    struct ck_reduce reduce;
    struct ck_grad_hook watch;
    const float *images; /* during a forward pass */
    int ran;             /* a forward pass has filled the arena: outputs can be read */
    int fresh;           /* and no backward pass has used it up */
    int threads;         /* that scratch was measured for */
    struct ck_value *value;
    struct ck_op *op;
    int nops;
    struct ck_buffer *buffer;
    int nbuffers;
    int64_t room_buffers;
    unsigned char *arena, *scratch;
    size_t arena_bytes, scratch_bytes;
};

extern const struct ck_op_class ck_op_input, ck_op_conv, ck_op_norm, ck_op_relu, ck_op_add,
    ck_op_max_pool, ck_op_avg_pool, ck_op_mean, ck_op_linear, ck_op_unit;

/* Makes some images of what a batch norm left to a convolution. */
void ck_norm_compute_deferred(const struct ck_op *norm, enum ck_deferred what, int64_t first,
                              int64_t images);
/* Whether a pass of a convolution can make what a batch norm leaves to it. */
int ck_conv_can_produce(const struct ck_op *conv, enum ck_conv_pass pass);

/* "NAME: batch norm over a single value per channel ..." */
int ck_norm_fail_single(const struct ck_op *op);

/* A new buffer, alive from step `first` to `last`; its number, or a status. */
int ck_plan_buffer(struct ck_plan *p, size_t bytes, int first, int last);
/* The buffer lives at least until then. */
void ck_plan_live_until(struct ck_plan *p, int buffer, int step);
/* A buffer for the gradient of input `which`, or -1 if nobody asks for it; *rc on failure. */
int ck_plan_grad_buffer(struct ck_op *op, int which, int *rc);
/* Passes a gradient buffer of the output on as that of input `which` (or drops it). */
int ck_plan_pass_grad(struct ck_op *op, int which, int buffer);
int ck_plan_wants_grad(const struct ck_op *op, int which);
/* Steps: forward op i at i, its backward pass at 2 nops - 1 - i. */
int ck_plan_backward_step(const struct ck_op *op);

static inline void *ck_buffer_data(const struct ck_plan *p, int buffer)
{
    return buffer < 0 ? NULL : p->buffer[buffer].data;
}

/* Of the forward pass. */
static inline void *ck_op_in(const struct ck_op *op, int which)
{
    return ck_buffer_data(op->plan, op->plan->value[op->in[which]].buffer);
}

static inline void *ck_op_out(const struct ck_op *op)
{
    return ck_buffer_data(op->plan, op->plan->value[op->out].buffer);
}

/* The same, in the backward pass. */
static inline const void *ck_op_saved(const struct ck_op *op, int value)
{
    return ck_buffer_data(op->plan, op->plan->value[value].saved);
}

static inline void *ck_op_din(const struct ck_op *op, int which)
{
    return ck_buffer_data(op->plan, op->din[which]);
}

static inline void *ck_op_dout(const struct ck_op *op, int which)
{
    return which < op->ndout ? ck_buffer_data(op->plan, op->dout[which]) : NULL;
}

#endif
