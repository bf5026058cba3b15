/* report.h - everything that a page tells, as plain numbers: filled from the files of a run or
 * of a clustering, then written. */
#ifndef CK_REPORT_H
#define CK_REPORT_H

#include "coke/types.h"
#include "data/data_options.h"
#include "data/names.h"
#include "eval/agreement.h"
#include "eval/exemplars.h"
#include "report/report_options.h"
#include "report/sheets.h"
#include "report/table.h"

enum {
    CK_REPORT_PATH = 4096,
    CK_REPORT_MEMBERS = 12, /* of each kind, at most */
    CK_REPORT_NEIGHBOURS = 8,
    CK_REPORT_DOTS = 1500 /* rows on the map, at most */
};

/* Columns of metrics.jsonl. */
enum ck_step_column {
    CK_STEP_EPOCH,
    CK_STEP_STEP,
    CK_STEP_LOSS,
    CK_STEP_RATE,
    CK_STEP_COLUMNS
};
enum ck_epoch_column {
    CK_EPOCH_EPOCH,
    CK_EPOCH_LOSS,
    CK_EPOCH_RATE,
    CK_EPOCH_KNN20,
    CK_EPOCH_KNN200,
    CK_EPOCH_ACC,
    CK_EPOCH_NMI,
    CK_EPOCH_ARI,
    CK_EPOCH_COLUMNS
};
enum ck_head_column {
    CK_HEAD_EPOCH,
    CK_HEAD_MIN,
    CK_HEAD_MEDIAN,
    CK_HEAD_MAX,
    CK_HEAD_BOUND,
    CK_HEAD_CHANGED,
    CK_HEAD_DUAL_MIN,
    CK_HEAD_DUAL_MAX,
    CK_HEAD_COLUMNS
};

/* One clustering. */
struct ck_report_head {
    int64_t k;
    int32_t *label;           /* [n] -1 = none */
    float *center;            /* [k][dim] */
    float *dual;              /* [k] */
    int64_t *min_size;        /* [k] */
    int64_t *size;            /* [k] of all n */
    struct ck_exemplars look; /* rows are places in report.row */
    struct ck_table history;  /* enum ck_head_column */
    float *spot;              /* [k][2] of the centers on the map */
    /* Where classes are known. */
    struct ck_agreement agreement;
    int64_t *count;   /* [classes][k], or NULL: unknown, or too many */
    double *purity;   /* [k] */
    int32_t *major;   /* [k] */
    int32_t *match;   /* [k] */
    double objective; /* mean similarity to the label's center; NaN = not known */
    double gap;       /* of the certificate of coke cluster; NaN = none */
};

struct ck_report {
    int is_run, complete;
    char source[CK_REPORT_PATH]; /* the folder */
    char images[CK_REPORT_PATH]; /* the data set, "" = none */
    char weights[CK_REPORT_PATH];
    char about[256]; /* encoder or vectors, in words */
    int64_t n;       /* images, or rows */
    int dim;
    int64_t epoch, epochs;   /* done, and wanted; -1 = not known */
    double seconds, speed;   /* of the training; NaN = not known */
    struct ck_names facts;   /* option, value, option, value ... that are not the default */
    struct ck_names options; /* all of them */
    struct ck_table steps, history;
    struct coke_dataset *data; /* or NULL */
    int32_t classes;
    const int32_t *truth; /* [n], or NULL; of data */
    int heads;
    int first; /* the head to show first */
    struct ck_report_head head[COKE_MAX_HEADS];
    /* The rows that were looked at. */
    int64_t rows;
    int64_t *row; /* [rows] ascending: which of the n */
    float *x;     /* [rows][dim] unit vectors, or NULL */
    /* On the map. */
    int64_t dots;
    int64_t *dot;    /* [dots] places in row */
    float *spot;     /* [dots][2] */
    double shown[2]; /* share of the spread along each axis */
    struct ck_sheets sheets;
};

void ck_report_release(struct ck_report *r);

/* What the user may say. */
struct ck_report_request {
    const char *source;         /* a run, or the folder of a clustering */
    const char *images;         /* or NULL: those of the run */
    const char *const *vectors; /* [nvectors] files of the rows that were clustered */
    int nvectors;
    struct ck_dataset_options data; /* of images, for a clustering */
    struct ck_report_options o;
    int embed; /* pictures go into the page: as base64, which takes a third more */
    const struct coke_callbacks *callbacks;
};

/* read_run.c, read_cluster.c: which one follows from what is in the folder. */
int ck_report_read_run(struct ck_report *r, const struct ck_report_request *q);
int ck_report_read_cluster(struct ck_report *r, const struct ck_report_request *q);

/* report.c: all of it. */
int ck_report_read(struct ck_report *r, const struct ck_report_request *q);

/* For those: the shared parts. */
int ck_report_open_images(struct ck_report *r, const struct ck_report_request *q,
                          const char *source, const struct ck_dataset_options *o);
int ck_report_choose_rows(struct ck_report *r, int64_t most);
/* The name of row i of the n. */
void ck_report_row_name(const struct ck_report *r, int64_t i, char *text, size_t size);

/* page.c: writes it. images_dir: a folder beside the page, or NULL: all in the page. */
struct ck_page_target {
    const char *page, *images_dir;
    int force;
};
/* To be asked before the work: may these files be written? */
int ck_page_check_target(const struct ck_page_target *to);
int ck_page_write(const struct ck_report *r, const struct ck_page_target *to,
                  struct coke_report_summary *out);

/* report_write.c: the whole way from a folder to a page. q->o.budget 0 = chosen. */
int ck_report_write(const struct ck_report_request *q, const struct ck_page_target *to,
                    struct coke_report_summary *out);

#endif
