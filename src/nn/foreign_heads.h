/* foreign_heads.h - finds the layers of projector and predictor in tensors that other programs
 * saved. */
#ifndef CK_FOREIGN_HEADS_H
#define CK_FOREIGN_HEADS_H

#include "core/state.h"
#include "nn/nn_options.h"

struct ck_foreign_names {
    const struct ck_state *own; /* the tensors, renamed: fc.0.weight, predictor.0.weight, ... */
    const char *path, *prefix;  /* for messages */
};

/* Sets projector, predictor, hidden and dim of an encoder whose backbone has this many features:
 * a word where one stands for the layers, else the layers. */
int ck_foreign_find_heads(const struct ck_foreign_names *f, int64_t features,
                          struct ck_encoder_options *e);

#endif
