/* exchange.h - exports and imports encoders to and from the files of other programs.
 *
 * Both write `path` atomically and fill *out, zeroed by the caller. force: replace a file. */
#ifndef CK_EXCHANGE_H
#define CK_EXCHANGE_H

#include "coke.h"
#include "train/use_options.h"

/* source: a run folder or the file of an encoder or checkpoint. */
int ck_exchange_export(const char *source, const char *path, const struct ck_export_options *o,
                       int force, struct coke_exchanged *out);
/* source: a safetensors or .pth file; writes an encoder that the other commands open. */
int ck_exchange_import(const char *source, const char *path, const struct ck_import_options *o,
                       int force, struct coke_exchanged *out);

#endif
