/* exchange.h - encoders to and from the files of other programs. */
#ifndef CK_EXCHANGE_H
#define CK_EXCHANGE_H

#include "coke/types.h"
#include "nn/nn_options.h"
#include "train/use_options.h"

int ck_exchange_export(const char *source, const char *path, const struct ck_export_options *o,
                       int force, struct ck_encoder_options *encoder,
                       struct coke_exchange_summary *out);
int ck_exchange_import(const char *source, const char *path, const struct ck_import_options *o,
                       int force, struct ck_encoder_options *encoder,
                       struct coke_exchange_summary *out);

#endif
