/* api_options.h - public options inside the library: as the plain struct of a kind. */
#ifndef CK_API_OPTIONS_H
#define CK_API_OPTIONS_H

#include "coke.h"
#include "core/option.h"

/* The struct that table t describes: the object's own, or the part of it that has this table,
 * borrowed from o; for o NULL the defaults, which go to `storage` (of t->size bytes). Any other
 * kind is an error: NULL. Usage:
 *
 *     struct ck_cluster_options storage;
 *     const struct ck_cluster_options *o =
 *         ck_options_as(options, ck_cluster_option_table(), &storage);
 *     if (!o)
 *         return COKE_EUSAGE;
 */
const void *ck_options_as(const struct coke_options *o, const struct ck_option_table *t,
                          void *storage);
/* The same, to be changed; o is not NULL. */
void *ck_options_edit(struct coke_options *o, const struct ck_option_table *t);
/* A new object of a kind with copies of these values. */
int ck_options_wrap(struct coke_options **out, const char *kind, const void *values);

#endif
