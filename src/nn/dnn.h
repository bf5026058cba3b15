/* dnn.h - f32 convolutions and layout conversions by oneDNN, without exposing its headers.
 *
 * The engine and its stream are process-global and created on first use, from any thread. An
 * operation runs on the OpenMP team and may be used by one thread at a time. */
#ifndef CK_DNN_H
#define CK_DNN_H

#include "core/state.h"

#include <stddef.h>
#include <stdint.h>

/* Memory layouts of images. Blocked: [n][c / block][h][w][block], channels padded with zeros to
 * whole blocks. */
enum ck_layout { CK_PLAIN, CK_BLOCKED };

int ck_dnn_block(void);           /* channels per block: 16, or 8 without AVX-512 */
const char *ck_dnn_version(void); /* "2.6.3" */

/* ---- formats: sizes and layout. The caller frees what it creates. ---- */

struct ck_format;

int ck_format_image(struct ck_format **out, const int64_t dims[4], enum ck_layout layout);
int ck_format_weights(struct ck_format **out, const int64_t dims[4]); /* OIHW */
int ck_format_copy(struct ck_format **out, const struct ck_format *f);
void ck_format_free(struct ck_format *f);
size_t ck_format_bytes(const struct ck_format *f);
int ck_format_equal(const struct ck_format *a, const struct ck_format *b);

/* ---- operations ---- */

struct ck_dnn_op;

struct ck_conv_shape {
    int64_t n, ic, ih, iw, oc, oh, ow;
    int64_t kernel, stride, pad; /* the same vertically and horizontally */
};

enum ck_conv_pass { CK_CONV_FORWARD, CK_CONV_DATA, CK_CONV_WEIGHTS, CK_CONV_PASSES };

/* src and dst: formats of the images, or NULL for whatever is fastest; backward passes have
 * gradients in their place. winograd: use oneDNN's own Winograd algorithm. COKE_EUSAGE if there
 * is no such implementation. */
int ck_dnn_conv_new(struct ck_dnn_op **out, const struct ck_conv_shape *s,
                    enum ck_conv_pass pass, const struct ck_format *src,
                    const struct ck_format *dst, int winograd);
int ck_reorder_new(struct ck_dnn_op **out, const struct ck_format *from,
                   const struct ck_format *to);
void ck_dnn_op_free(struct ck_dnn_op *op);

enum ck_dnn_arg { CK_ARG_SRC, CK_ARG_WEIGHTS, CK_ARG_DST, CK_DNN_ARGS };

/* Borrowed from the operation; NULL if it has no such argument. */
const struct ck_format *ck_dnn_op_format(const struct ck_dnn_op *op, enum ck_dnn_arg arg);
size_t ck_dnn_op_scratch(const struct ck_dnn_op *op); /* bytes that a run needs */
const char *ck_dnn_op_impl(const struct ck_dnn_op *op);

/* data [CK_DNN_ARGS]; NULL where the pass has no such argument. Gradients take the place of the
 * tensors they belong to. Blocks until the result is complete. */
int ck_dnn_op_run(struct ck_dnn_op *op, void *const data[CK_DNN_ARGS], void *scratch);

#endif
