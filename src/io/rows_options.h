/* rows_options.h - options of reading rows. */
#ifndef CK_ROWS_OPTIONS_H
#define CK_ROWS_OPTIONS_H

#include "core/option.h"

struct ck_rows_options {
    int32_t one_pass;      /* "-" is read once, in order, and not spooled to a file */
    const char *spool_dir; /* where "-" is spooled; NULL = $TMPDIR or /tmp */
};

const struct ck_option_table *ck_rows_option_table(void);
struct ck_rows_options ck_rows_options_default(void);

#endif
