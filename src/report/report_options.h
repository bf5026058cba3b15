/* report_options.h - the options of a report. */
#ifndef CK_REPORT_OPTIONS_H
#define CK_REPORT_OPTIONS_H

#include "core/option.h"

struct ck_report_options {
    double budget;  /* MB that images may take; 0 = chosen */
    int64_t sample; /* maximum number of images or rows that are read */
    int32_t best;   /* of a run: the best checkpoint, not the last */
};

const struct ck_option_table *ck_report_option_table(void);
struct ck_report_options ck_report_options_default(void);

#endif
