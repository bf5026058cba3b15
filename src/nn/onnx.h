/* onnx.h - writes an encoder as an ONNX model (opset 13) for other runtimes. */
#ifndef CK_ONNX_H
#define CK_ONNX_H

#include "io/file.h"
#include "nn/encoder.h"

/* Input "images" [N][channels][height][width] with free N, height and width; outputs "features"
 * and, if `heads` and the encoder has a projector, "projection" (length 1). Batch norms use the
 * running statistics. The metadata are copied from `meta`. COKE_EUSAGE for more than 2 GB,
 * which the format cannot hold. The caller commits or aborts w. */
int ck_onnx_write_to(struct ck_writer *w, const struct coke_encoder *e, int heads,
                     const struct ck_state *meta);

#endif
