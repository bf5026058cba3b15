/* conv.h - one pass of a convolution, computed by one of several algorithms. */
#ifndef CK_CONV_H
#define CK_CONV_H

#include "kernels/conv_tiles_weights.h"
#include "kernels/winograd.h"
#include "nn/dnn.h"

enum ck_conv_way {
    CK_DIRECT,   /* oneDNN; f32 */
    CK_WINOGRAD, /* kernels/winograd.h: f32, 3x3, padding 1, blocks of 16 channels */
    CK_F32_WAYS, /* those above: a file of choices may name them */
    CK_ON_TILES = CK_F32_WAYS /* kernels/conv_tiles.h: all of bf16 */
};

/* Embedded in the layer; one thread at a time may run it. */
struct ck_conv {
    enum ck_conv_pass pass;
    enum ck_conv_way way;
    struct ck_dnn_op *dnn;     /* CK_DIRECT only; owned */
    struct ck_wino_shape wino; /* CK_WINOGRAD only */
    /* CK_ON_TILES only: forward and data; weights */
    struct ck_tiles_conv tiles;
    struct ck_tiles_gradient gradient;
    int64_t oc, ic;            /* of the weights it uses: padded to whole blocks */
    size_t bytes[CK_DNN_ARGS]; /* of its arguments, by enum ck_dnn_arg */
    size_t scratch;            /* bytes that a run needs, for the team size at creation */
};

/* Images are blocked; src is the format of the input where it differs (the first layer's), else
 * NULL. COKE_EUSAGE: this algorithm does not exist for the shape, type or CPU. */
int ck_conv_init(struct ck_conv *c, const struct ck_conv_shape *s, enum ck_conv_pass pass,
                 enum ck_dtype t, const struct ck_format *src, enum ck_conv_way way);
void ck_conv_release(struct ck_conv *c);

/* Layout of the weights, or of their gradient. NULL: plain f32 OIHW like the parameter, and the
 * gradient is added to the old contents. */
const struct ck_format *ck_conv_weights(const struct ck_conv *c);
const char *ck_conv_how(const struct ck_conv *c);
/* Whether it can use a producer (kernels/winograd.h). */
int ck_conv_takes_producer(const struct ck_conv *c);
/* The pass if its weights are packed (ck_copies_get_packed); else NULL. */
const struct ck_tiles_conv *ck_conv_packing(const struct ck_conv *c);
/* data is indexed by enum ck_dnn_arg, scratch has c->scratch bytes; producer NULL = the input
 * is already computed. sums: those of the output, if the way is CK_ON_TILES and they are wanted. */
int ck_conv_run(struct ck_conv *c, void *const data[CK_DNN_ARGS],
                const struct ck_wino_producer *producer, const struct ck_tiles_sums *sums,
                void *scratch);

#endif
