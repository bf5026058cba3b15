/* options.h - the object behind struct coke_options: a kind's table and its values.
 *
 * api knows the kinds by name; here an object is made of any table, or of rows that a caller
 * describes. */
#ifndef CK_OPTIONS_H
#define CK_OPTIONS_H

#include "coke/types.h"
#include "core/option.h"

struct coke_options {
    const char *kind; /* borrowed; "" = defined by the caller */
    const struct ck_option_table *table;
    void *values;               /* [table->size]; owns the texts in it */
    struct ck_option *row;      /* of a caller's own table, with copied strings; else NULL */
    struct ck_option_table own; /* that table */
};

/* Holds the defaults. kind and t must outlive the object. */
int ck_options_object_new(struct coke_options **out, const char *kind,
                          const struct ck_option_table *t);
/* A table of the caller's own; the strings of row [n] are copied. */
int ck_options_object_define(struct coke_options **out, const struct coke_option_info *row,
                             int n);
int ck_options_object_copy(struct coke_options **out, const struct coke_options *o);
void ck_options_object_free(struct coke_options *o);

/* Row i < o->table->n, but for out->size. */
void ck_options_object_describe(const struct coke_options *o, int i,
                                struct coke_option_info *out);
/* The struct in o that table t describes: the object's own or that of a part; NULL = none. */
void *ck_options_object_part(const struct coke_options *o, const struct ck_option_table *t);

#endif
