/* weights.h - tensors from a file of either kind: safetensors, or what torch.save wrote. */
#ifndef CK_WEIGHTS_H
#define CK_WEIGHTS_H

#include "core/state.h"

/* What the file is, is seen from its first bytes. Overwrites *out. */
int ck_weights_read(const char *path, struct ck_state *out);

#endif
