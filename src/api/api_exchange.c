/* api_exchange.c - public functions of encoders in the files of other programs. */
#include "train/exchange.h"

#include <string.h>

int coke_export(const char *source, const char *path, const struct ck_export_options *options,
                int force, struct coke_exchanged *out)
{
    memset(out, 0, sizeof *out);
    return ck_exchange_export(source, path, options, force, out);
}

int coke_import(const char *source, const char *path, const struct ck_import_options *options,
                int force, struct coke_exchanged *out)
{
    memset(out, 0, sizeof *out);
    return ck_exchange_import(source, path, options, force, out);
}
