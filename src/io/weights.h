/* weights.h - reads tensors from a safetensors or torch.save file. */
#ifndef CK_WEIGHTS_H
#define CK_WEIGHTS_H

#include "core/state.h"

/* Detects the format by the first bytes. Overwrites *out; the caller releases it with
 * ck_state_release, which also frees the file's map. */
int ck_weights_read(const char *path, struct ck_state *out);

#endif
