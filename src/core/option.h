/* option.h - option tables inside the library. */
#ifndef CK_OPTION_H
#define CK_OPTION_H

#include "coke.h"

/* Options that came as a struct: are all values within their rows' bounds? */
int ck_options_check(const struct coke_option_table *t, const void *options);

#define CK_OPT(type_, struct_, field_, name_, def_, min_, max_, choices_, help_)               \
    {                                                                                          \
        .name = (name_), .type = (type_), .offset = offsetof(struct_, field_), .def = (def_),  \
        .min = (min_), .max = (max_), .choices = (choices_), .help = (help_)                   \
    }

#endif
