/* torch_legacy.h - torch.save files from before torch 1.6: consecutive pickles, then the
 * storages. */
#ifndef CK_TORCH_LEGACY_H
#define CK_TORCH_LEGACY_H

#include "io/pickle.h"
#include "io/zip.h"

/* Reads the pickle that describes the tensors, and the storages by key, in the form of a zip
 * directory. Both borrow from map and path; the caller releases both, also on failure. */
int ck_torch_legacy(const char *path, const struct ck_map *map, struct ck_pickle *pickle,
                    struct ck_zip *storage);

#endif
