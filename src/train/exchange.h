/* exchange.h - encoders to and from the files of other programs. */
#ifndef CK_EXCHANGE_H
#define CK_EXCHANGE_H

#include "coke.h"
#include "train/use_options.h"

int ck_exchange_export(const char *source, const char *path, const struct ck_export_options *o,
                       int force, struct coke_exchanged *out);
int ck_exchange_import(const char *source, const char *path, const struct ck_import_options *o,
                       int force, struct coke_exchanged *out);

#endif
