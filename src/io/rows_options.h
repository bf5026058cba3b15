/* rows_options.h - options of reading rows. */
#ifndef CK_ROWS_OPTIONS_H
#define CK_ROWS_OPTIONS_H

#include "core/option.h"

struct ck_rows_options {
    int32_t one_pass;      /* "-" is read once, in order, and not spooled to a file */
    const char *spool_dir; /* for what cannot be read in place; NULL = $TMPDIR or /tmp */
    const char *raw; /* the files have no header: TYPE:COLUMNS[:OFFSET]; NULL = they have */
};

const struct ck_option_table *ck_rows_option_table(void);
struct ck_rows_options ck_rows_options_default(void);

#endif
