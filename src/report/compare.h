/* compare.h - several trainings on one page: results, curves over epochs and over minutes, and the
 * options in which they differ. */
#ifndef CK_COMPARE_H
#define CK_COMPARE_H

#include "data/names.h"
#include "report/report.h"

enum { CK_COMPARE_RUNS = 16 };

enum ck_compare_column {
    CK_COMPARE_EPOCH,
    CK_COMPARE_MINUTES, /* since the start, all processes of the run; NaN = unknown */
    CK_COMPARE_LOSS,
    CK_COMPARE_KNN,
    CK_COMPARE_ACC,
    CK_COMPARE_NMI,
    CK_COMPARE_ARI,
    CK_COMPARE_COLUMNS
};

/* One run; owns its members. */
struct ck_compare_run {
    char source[CK_REPORT_PATH], name[256]; /* name: the shortest that tells the runs apart */
    char method[64], about[256], data[CK_REPORT_PATH];
    int64_t epoch, epochs;
    double seconds, speed;
    struct ck_names options; /* option, value, ... */
    struct ck_table history; /* enum ck_compare_column */
};

struct ck_compare {
    int n;
    struct ck_compare_run run[CK_COMPARE_RUNS];
};

/* compare_read.c: reads the folders, also of trainings that run. On failure *c is released. */
int ck_compare_read(struct ck_compare *c, const char *const *runs, int n);
void ck_compare_release(struct ck_compare *c);

/* compare_page.c: reads the runs and writes the page, whole or not at all. */
int ck_compare_write(const char *const *runs, int n, const struct ck_page_target *to,
                     struct coke_report_summary *out);

#endif
