/* report_options.c - the options of a report. */
#include "report/report_options.h"

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_report_options, field, name, def, min, max, choices, help)

static const struct ck_option rows[] = {
    ROW(CK_OPT_FLOAT, budget, "budget", 0, 0, 1e6, "auto",
        "MB that images may take; auto: 20 in the page, 200 in a folder"),
    ROW(CK_OPT_INT, sample, "sample", 50000, 1, 1e12, NULL,
        "maximum number of images or rows to read, drawn at random"),
    ROW(CK_OPT_FLAG, best, "best", 0, 0, 1, NULL,
        "of a run: the best checkpoint, not the last"),
};

const struct ck_option_table *ck_report_option_table(void)
{
    static const struct ck_option_table t = CK_OPTION_TABLE(rows, struct ck_report_options);
    return &t;
}

struct ck_report_options ck_report_options_default(void)
{
    struct ck_report_options o;
    ck_options_default(ck_report_option_table(), &o);
    return o;
}
