/* conv.h - one pass of a convolution, computed one of several ways. */
#ifndef CK_CONV_H
#define CK_CONV_H

#include "kernels/winograd.h"
#include "nn/dnn.h"

enum ck_conv_way {
    CK_DIRECT,   /* oneDNN */
    CK_WINOGRAD, /* kernels/winograd.h: f32, 3x3, stride 1, padding 1, blocks of 16 channels */
    CK_CONV_WAYS
};

struct ck_conv {
    enum ck_conv_pass pass;
    enum ck_conv_way way;
    struct ck_dnn_op *dnn; /* direct */
    struct ck_wino_shape wino;
    int64_t oc, ic;            /* of the weights that it takes: padded to whole blocks */
    size_t bytes[CK_DNN_ARGS]; /* of what it takes and gives, by enum ck_dnn_arg */
    size_t scratch; /* bytes that a run needs, for the threads in use when it was made */
};

/* Images lie in blocks; src is the format of the input where it is another one (the first
 * layer's), else NULL. COKE_EUSAGE: this way does not exist for the shape, type or CPU. */
int ck_conv_init(struct ck_conv *c, const struct ck_conv_shape *s, enum ck_conv_pass pass,
                 enum ck_dtype t, const struct ck_format *src, enum ck_conv_way way);
void ck_conv_release(struct ck_conv *c);

/* Layout of the weights, or of their gradient; NULL: plain f32 OIHW as the
 * parameter is, and the gradient is added to what is there. */
const struct ck_format *ck_conv_weights(const struct ck_conv *c);
const char *ck_conv_how(const struct ck_conv *c);
/* Whether it can run a producer (kernels/winograd.h). */
int ck_conv_takes_producer(const struct ck_conv *c);
/* data by enum ck_dnn_arg; producer NULL = none. */
int ck_conv_run(struct ck_conv *c, void *const data[CK_DNN_ARGS],
                const struct ck_wino_producer *producer, void *scratch);

#endif
