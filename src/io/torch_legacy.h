/* torch_legacy.h - files of torch.save from before its version 1.6: pickles one after the
 * other, then the storages. */
#ifndef CK_TORCH_LEGACY_H
#define CK_TORCH_LEGACY_H

#include "io/pickle.h"
#include "io/zip.h"

/* The pickle with the tensors, and the storages under their keys. */
int ck_torch_legacy(const char *path, const struct ck_map *map, struct ck_pickle *pickle,
                    struct ck_zip *storage);

#endif
