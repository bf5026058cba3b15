/* foreign.h - encoders under the names that other programs give their parts, in and out. */
#ifndef CK_FOREIGN_H
#define CK_FOREIGN_H

#include "nn/encoder.h"

enum ck_naming {
    CK_NAMES_TORCHVISION, /* our own: conv1.weight, layer1.0.bn1.bias, fc.*, predictor.* */
    CK_NAMES_AUTHORS,     /* module.encoder.* and module.predictor.* */
    CK_NAMES_DETECTRON2   /* stem.conv1.norm.weight, res2.0.shortcut.weight, ... */
};

/* Appends the encoder's tensors, which `out` borrows; heads: also those behind the backbone. */
int ck_foreign_save(const struct coke_encoder *e, enum ck_naming naming, int heads,
                    struct ck_state *out);

struct ck_foreign_options {
    const char *prefix; /* what stands before conv1.weight; NULL = found out */
    int heads;          /* 0 = the backbone alone */
    const char *ignore; /* names that begin so behind the prefix are left out; NULL = none */
};

enum { CK_FOREIGN_NOTE = 1024 };

/* An encoder of the tensors of torchvision's, MoCo's or the authors' networks, whatever they
 * are called before conv1.weight. What it is follows from names and shapes. Every tensor is
 * used or, in `note`, named as left out; one below the prefix that does not belong is an error.
 * f16, bf16 and f64 become f32. path is for sentences. */
int ck_foreign_load(struct coke_encoder *e, const struct ck_state *s, const char *path,
                    const struct ck_foreign_options *o, char note[CK_FOREIGN_NOTE]);

#endif
