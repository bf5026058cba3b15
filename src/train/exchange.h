/* exchange.h - exports and imports encoders to and from the files of other programs.
 *
 * Both write `path` atomically, fill *out (zeroed by the caller) and *encoder. force: replace a file. */
#ifndef CK_EXCHANGE_H
#define CK_EXCHANGE_H

#include "coke/types.h"
#include "nn/nn_options.h"
#include "train/use_options.h"

/* source: a run folder or the file of an encoder or checkpoint. */
int ck_exchange_export(const char *source, const char *path, const struct ck_export_options *o,
                       int force, struct ck_encoder_options *encoder,
                       struct coke_exchange_summary *out);
/* source: a safetensors or .pth file; writes an encoder that the other commands open. */
int ck_exchange_import(const char *source, const char *path, const struct ck_import_options *o,
                       int force, struct ck_encoder_options *encoder,
                       struct coke_exchange_summary *out);

#endif
