/* rows_options.c - options of reading rows. */
#include "io/rows_options.h"

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_rows_options, field, name, def, min, max, choices, help)

static const struct ck_option rows[] = {
    ROW(CK_OPT_FLAG, one_pass, "one-pass", 0, 0, 1, NULL,
        "read standard input once, in order, and do not spool it to a file"),
    ROW(CK_OPT_TEXT, spool_dir, "spool", 0, 0, 0, "DIR",
        "folder for temporary copies of standard input and of compressed or column-wise files; "
        "otherwise $TMPDIR or /tmp"),
    ROW(CK_OPT_TEXT, raw, "raw", 0, 0, 0, "TYPE:COLUMNS",
        "the files have no header, such as f16:768; f16:768:128 skips 128 bytes; types f64 f32 "
        "f16 "
        "bf16 i64 i32 i16 i8 u64 u32 u16 u8 bool"),
};

const struct ck_option_table *ck_rows_option_table(void)
{
    static const struct ck_option_table t = CK_OPTION_TABLE(rows, struct ck_rows_options);
    return &t;
}

struct ck_rows_options ck_rows_options_default(void)
{
    struct ck_rows_options o;
    ck_options_default(ck_rows_option_table(), &o);
    return o;
}
