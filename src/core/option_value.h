/* option_value.h - one option's value: text and numbers to and from a struct's field. */
#ifndef CK_OPTION_VALUE_H
#define CK_OPTION_VALUE_H

#include "core/option.h"

/* A text becomes NULL; what it was before is not freed. */
void ck_option_set_default(const struct ck_option *o, void *options);
/* Is the value in the struct within the row's bounds? */
int ck_option_check(const struct ck_option *o, const void *options);

#endif
