/* api_options.h - from struct coke_options (opaque, set by name) to the plain struct of a kind
 * that the layers below use. */
#ifndef CK_API_OPTIONS_H
#define CK_API_OPTIONS_H

#include "coke.h"
#include "core/option.h"

/* The struct that table t describes: the object's own, or the part of it that has this table,
 * borrowed from o; for o NULL the defaults, which are written to `storage` (t->size bytes). NULL
 * if o is of another kind; the message says which. Usage:
 *
 *     struct ck_cluster_options storage;
 *     const struct ck_cluster_options *o =
 *         ck_options_as(options, ck_cluster_option_table(), &storage);
 *     if (!o)
 *         return COKE_EUSAGE;
 */
const void *ck_options_as(const struct coke_options *o, const struct ck_option_table *t,
                          void *storage);
/* The same for writing; o is not NULL. */
void *ck_options_edit(struct coke_options *o, const struct ck_option_table *t);
/* A new object of a kind that holds copies of these values. *out is NULL on failure. */
int ck_options_wrap(struct coke_options **out, const char *kind, const void *values);

#endif
