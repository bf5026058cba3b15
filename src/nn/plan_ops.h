/* plan_ops.h - compiled layers: the interface between plan*.c and layer_*.c. Private to nn/. */
#ifndef CK_PLAN_OPS_H
#define CK_PLAN_OPS_H

#include "kernels/conv_tiles.h"
#include "kernels/layers.h"
#include "nn/arena.h"
#include "nn/plan.h"

enum { CK_VALUE_GRADS = 4, CK_OP_PASSES = 3 };

/* The output of a node in this plan. Buffers are given by index into ck_plan.buffer. */
struct ck_value {
    int64_t c, h, w;
    int is_vector;
    enum ck_dtype dtype;
    struct ck_format *format; /* images in f32 only; owned */
    struct ck_act_shape act;  /* zero if the input has a layout of its own */
    size_t bytes;
    int needed, wanted, uses; /* uses: by needed nodes */
    int producer;             /* index of the op */
    int buffer;               /* output of the forward pass; -1 = none (fused away) */
    int saved;                /* what the backward pass reads; -1 = nothing */
    int recomputed;           /* backward step that refills `saved`; 0 = it was kept */
    int grad[CK_VALUE_GRADS]; /* buffers whose sum is the gradient */
    int ngrads;
};

struct ck_op;

/* Results of a batch norm that a convolution computes, image by image, just before it reads
 * them (plan_defer.c). */
enum ck_deferred {
    CK_NORM_OUT, /* the output: by the forward pass of the next convolution */
    CK_NORM_DIN, /* the gradient of the input: by the data pass of the previous one */
    CK_DEFERREDS
};

/* The functions of one kind of layer; constant. plan.c calls them on the thread that runs the
 * plan; a layer spreads its work over the team itself. */
struct ck_op_class {
    const char *kind;
    int two_grads; /* accepts two gradients of its output; else plan.c adds them first */
    /* Makes op->data; sets op->scratch, op->aux_bytes and the op->keeps_*. */
    int (*prepare)(struct ck_op *op);
    /* Sets op->din from op->dout: with ck_plan_grad_buffer, or by passing one of dout on. */
    int (*prepare_backward)(struct ck_op *op);
    int (*forward)(struct ck_op *op);
    int (*backward)(struct ck_op *op);
    /* Recomputes the output into `out`; NULL = not possible. */
    int (*recompute)(struct ck_op *op, void *out);
    void (*release)(struct ck_op *op);
    const char *(*how)(const struct ck_op *op, int pass);
};

struct ck_op {
    const struct ck_op_class *class;
    struct ck_plan *plan;
    int index;
    const struct ck_node *node; /* gives its name and parameters; borrowed from the net */
    int in[2], out;             /* values (node numbers), -1 = none */
    void *data;                 /* the layer's state; released by class->release */
    size_t scratch;             /* bytes of scratch that a run needs */
    size_t aux_bytes;           /* bytes kept from the forward to the backward pass */
    int aux;                    /* the buffer for them, -1 = none */
    int keeps_in[2], keeps_out; /* set if the backward pass reads them */
    int din[2];                 /* buffers for the gradients of the inputs, -1 = not wanted */
    int dout[2], ndout;         /* gradients of the output; ndout = 0: no backward pass */
    double seconds[CK_OP_PASSES], flops[CK_OP_PASSES]; /* forward, data, weights */
    double weights_seconds; /* part of the last backward pass spent on the weights */
    /* Batch norm: the convolution that computes the deferred result; convolution: the batch
     * norm it computes for; else NULL. */
    struct ck_op *deferred[CK_DEFERREDS];
    /* Convolution: where the batch norm that reads its output wants the sums of it; NULL = not
     * wanted. Batch norm: owns them. */
    struct ck_tiles_sums sums;
    /* fused batch norms only */
    const struct ck_node *second; /* the batch norm of the residual branch */
    int relu;
};

/* A region of the arena; data is set when all lifetimes are known. */
struct ck_buffer {
    struct ck_span span;
    unsigned char *data;
};

/* A plan owns everything but net, images and what reduce and hook point to. */
struct ck_plan {
    struct ck_net *net;
    struct ck_plan_request r;
    struct ck_reduce reduce;
    struct ck_grad_hook hook;
    const float *images; /* set during a forward pass only; borrowed */
    int ran;             /* a forward pass has filled the arena: outputs can be read */
    int fresh;           /* and no backward pass has overwritten it */
    int threads;         /* the team size that scratch was sized for */
    struct ck_value *value;
    struct ck_op *op;
    int nops;
    struct ck_buffer *buffer;
    int nbuffers;
    int64_t room_buffers;
    unsigned char *arena, *scratch;
    size_t arena_bytes, scratch_bytes;
};

extern const struct ck_op_class ck_op_input, ck_op_conv, ck_op_norm, ck_op_relu, ck_op_gelu,
    ck_op_add, ck_op_max_pool, ck_op_avg_pool, ck_op_mean, ck_op_linear, ck_op_unit;

/* Computes some images of a deferred result. Workers of the team call it concurrently, for
 * disjoint images. */
void ck_norm_compute_deferred(const struct ck_op *norm, enum ck_deferred what, int64_t first,
                              int64_t images);
/* Whether a pass of a convolution can compute deferred results. */
int ck_conv_can_produce(const struct ck_op *conv, enum ck_conv_pass pass);

/* Whether the forward pass of an op yields the sums of its output. */
int ck_conv_gives_sums(const struct ck_op *op);

/* Fails with "NAME: batch norm over a single value per channel ...". */
int ck_norm_fail_single(const struct ck_op *op);

/* Adds a buffer that is live from step `first` to `last`; returns its index, or a status. */
int ck_plan_buffer(struct ck_plan *p, size_t bytes, int first, int last);
/* Extends the buffer's life to at least that step. */
void ck_plan_live_until(struct ck_plan *p, int buffer, int step);
/* Adds a buffer for the gradient of input `which`; -1 if it is not wanted. *rc on failure. */
int ck_plan_grad_buffer(struct ck_op *op, int which, int *rc);
/* Passes a gradient buffer of the output on as that of input `which`, in place (or drops
 * it). */
int ck_plan_pass_grad(struct ck_op *op, int which, int buffer);
int ck_plan_wants_grad(const struct ck_op *op, int which);
/* Lifetimes are measured in steps: op i runs forward in step i, backward in step 2 nops - 1 -
 * i. */
int ck_plan_backward_step(const struct ck_op *op);

static inline void *ck_buffer_data(const struct ck_plan *p, int buffer)
{
    return buffer < 0 ? NULL : p->buffer[buffer].data;
}

/* Buffers of the forward pass. */
static inline void *ck_op_in(const struct ck_op *op, int which)
{
    return ck_buffer_data(op->plan, op->plan->value[op->in[which]].buffer);
}

static inline void *ck_op_out(const struct ck_op *op)
{
    return ck_buffer_data(op->plan, op->plan->value[op->out].buffer);
}

/* Buffers of the backward pass. */
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
