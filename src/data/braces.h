/* braces.h - expands x-{000..146}.tar to file names. */
#ifndef CK_BRACES_H
#define CK_BRACES_H

#include "data/names.h"

/* Names that one pattern may expand to: a typing error must not fill the memory. */
enum { CK_BRACES_MAX = 100000 };

/* Appends all expansions of pattern to *out: {a..b} counts, with leading zeros as in a; {a,b}
 * lists. Several braces give all combinations, the last one varying fastest. */
int ck_braces_expand(const char *pattern, struct ck_names *out);

#endif
