/* foreign.h - reads and writes encoders under the tensor names of other programs. */
#ifndef CK_FOREIGN_H
#define CK_FOREIGN_H

#include "nn/encoder.h"

enum ck_naming {
    CK_NAMES_TORCHVISION, /* our own: conv1.weight, layer1.0.bn1.bias, fc.*, predictor.* */
    CK_NAMES_AUTHORS,     /* module.encoder.* and module.predictor.* */
    CK_NAMES_LIGHTLY,     /* backbone.0.weight, backbone.4.0.conv1.weight: children in order */
    CK_NAMES_SOLO,        /* backbone.conv1.weight */
    CK_NAMES_MOCO,        /* module.encoder_q.* */
    CK_NAMES_DINO,        /* module.backbone.* */
    CK_NAMES_VISSL,       /* _feature_blocks.* */
    CK_NAMES_DETECTRON2   /* stem.conv1.norm.weight, res2.0.shortcut.weight, ... */
};

/* Adds the encoder's tensors, which `out` borrows; heads: also those of projector and
 * predictor. */
int ck_foreign_save(const struct coke_encoder *e, enum ck_naming naming, int heads,
                    struct ck_state *out);

struct ck_foreign_options {
    const char *prefix; /* what precedes conv1.weight; NULL = detect */
    int heads;          /* 0 = the backbone only */
    const char *ignore; /* skip names that begin with this after the prefix; NULL = none */
};

enum { CK_FOREIGN_NOTE = 1024 };

/* Builds an encoder from the tensors of torchvision's, MoCo's or the authors' networks,
 * whatever precedes conv1.weight. Names and shapes determine the options. Every tensor is used
 * or named in `note` as left out; one under the prefix that does not belong is an error.
 * Converts f16, bf16 and f64 to f32. `path` is used in messages. On failure e owns nothing. */
int ck_foreign_load(struct coke_encoder *e, const struct ck_state *s, const char *path,
                    const struct ck_foreign_options *o, char note[CK_FOREIGN_NOTE]);

#endif
