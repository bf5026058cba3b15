/* braces.h - x-{000..146}.tar as the names of its files. */
#ifndef CK_BRACES_H
#define CK_BRACES_H

#include "data/names.h"

enum { CK_BRACES_MOST = 100000 };

/* Appends all that pattern stands for: {a..b} counts, with leading zeros as in a; {a,b} lists.
 * Several braces are all combinations, the last changing fastest. */
int ck_braces_expand(const char *pattern, struct ck_names *out);

#endif
