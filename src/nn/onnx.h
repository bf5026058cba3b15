/* onnx.h - an encoder as an ONNX model (opset 13) that other runtimes compute. */
#ifndef CK_ONNX_H
#define CK_ONNX_H

#include "io/file.h"
#include "nn/encoder.h"

/* Input "images" [N][channels][height][width], N, height and width free; outputs "features"
 * and, if the encoder has a head and it is asked for, "projection" (length 1). Batch norms use
 * the running statistics. The metadata are those of `meta`. More than 2 GB, which the format
 * cannot hold, are COKE_EUSAGE. */
int ck_onnx_write_to(struct ck_writer *w, const struct coke_encoder *e, int heads,
                     const struct ck_state *meta);

#endif
