/* report.h - the content of a report page as plain numbers: read from the files of a run or of
 * a clustering, then written as HTML.
 *
 * ck_report_read fills a struct ck_report, ck_page_write only reads it. One calling thread;
 * projections and pictures are computed with all threads, and the page does not depend on
 * their number. */
#ifndef CK_REPORT_H
#define CK_REPORT_H

#include "coke/types.h"
#include "data/data_options.h"
#include "data/names.h"
#include "data/row_lists.h"
#include "eval/agreement.h"
#include "eval/exemplars.h"
#include "eval/row_sample.h"
#include "report/report_options.h"
#include "report/sheets.h"
#include "report/table.h"

enum {
    CK_REPORT_PATH = 4096,
    CK_REPORT_MEMBERS = 12,   /* shown per cluster and kind, at most */
    CK_REPORT_NEIGHBOURS = 8, /* nearest clusters per cluster, at most */
    CK_REPORT_DOTS = 1500     /* rows on the map, at most */
};

/* Columns of the tables read from metrics.jsonl: per step, per epoch, per epoch and head. */
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

/* One clustering (head). Owns its arrays. */
struct ck_report_head {
    int64_t k;
    int32_t *label;           /* [n] cluster of each row, -1 = none */
    float *center;            /* [k][dim] */
    float *dual;              /* [k] dual variables */
    int64_t *min_size;        /* [k] */
    int64_t *max_size;        /* [k]; NULL = no upper bounds */
    int64_t *size;            /* [k] counted over all n rows */
    struct ck_exemplars look; /* its row numbers are positions in report.row */
    struct ck_table history;  /* enum ck_head_column */
    float *spot;              /* [k][2] coordinates of the centers on the map */
    /* If classes are known: */
    struct ck_agreement agreement;
    int64_t *count;    /* [classes][k]; NULL = classes unknown, or table too large */
    double *purity;    /* [k] fraction of the most frequent class */
    int32_t *major;    /* [k] that class */
    int32_t *match;    /* [k] class of the one-to-one matching, or -1 */
    double objective;  /* mean similarity to the label's center; NaN = unknown */
    double silhouette; /* of a clustering with vectors; NaN = unknown */
    double gap;        /* of a clustering's optimality certificate; NaN = none */
};

/* Owns everything except truth; free with ck_report_release. */
struct ck_report {
    int is_run, complete;         /* training or clustering; no epochs left */
    int euclidean;                /* closeness is a distance with a minus sign, else a cosine */
    char source[CK_REPORT_PATH];  /* the folder it was read from */
    char images[CK_REPORT_PATH];  /* source of the data set, "" = none */
    char root[CK_REPORT_PATH];    /* sheets.root: folder of the images that the run names */
    char weights[CK_REPORT_PATH]; /* file of the encoder, of a run */
    char about[256];              /* description of the encoder or the vectors */
    int64_t n;                    /* images, or rows */
    int dim;
    int64_t epoch, epochs;    /* completed and total; -1 = unknown */
    double seconds, speed;    /* wall time, and rows or images per second; NaN = unknown */
    struct ck_names facts;    /* option, value, ...: those that differ from the default */
    struct ck_names options;  /* option, value, ...: all of them */
    struct ck_names warnings; /* of the training, in the order in which they were given */
    struct ck_table steps, history;
    struct coke_dataset *data; /* or NULL */
    int32_t classes;
    const int32_t *truth;        /* [n] class per row, borrowed from data or known; or NULL */
    struct ck_names names;       /* [n] names of the rows that the user gave, or empty */
    struct ck_row_classes known; /* classes of the rows that the user gave */
    int heads;
    int first; /* index of the head that is shown first */
    struct ck_report_head head[COKE_MAX_HEADS];
    /* The sample of rows that members and the map are taken from: row numbers below n, and their
     * vectors, of length 1 unless euclidean, or NULL. */
    struct ck_row_sample sample;
    int64_t silhouette_rows; /* rows that the silhouettes are of; 0 = none */
    /* The map. */
    int64_t dots;
    int64_t *dot;    /* [dots] positions in row */
    float *spot;     /* [dots][2] coordinates */
    double shown[2]; /* fraction of the variance along each axis */
    struct ck_sheets sheets;
};

void ck_report_release(struct ck_report *r);

/* Arguments of a report; everything is borrowed. */
struct ck_report_request {
    const char *source;         /* a run, or the folder of a clustering */
    const char *images;         /* NULL = those of the run */
    const char *const *vectors; /* [nvectors] files with the clustered rows */
    int nvectors;
    const char *names, *classes, *table; /* of a clustering; NULL = none */
    struct ck_dataset_options data;      /* for `images` of a clustering */
    struct ck_rows_options rows;         /* for `vectors` */
    struct ck_report_options o;
    int embed; /* pictures are embedded as base64, which adds a third */
    const struct coke_callbacks *callbacks;
    int *no_clusters; /* becomes 1 if it fails since the run's method has none; or NULL */
};

/* read_run.c, read_cluster.c: read the folder of a training or of a clustering. Called by
 * ck_report_read, which chooses by the files of the folder. */
int ck_report_read_run(struct ck_report *r, const struct ck_report_request *q);
int ck_report_read_cluster(struct ck_report *r, const struct ck_report_request *q);

/* report.c: fills *r completely. On failure *r is released. */
int ck_report_read(struct ck_report *r, const struct ck_report_request *q);

/* Shared by read_run.c and read_cluster.c. Opens the data set as r->data; if it is missing or
 * does not match and the user did not name it, warns and goes on without pictures. */
int ck_report_open_images(struct ck_report *r, const struct ck_report_request *q,
                          const char *source, const struct ck_dataset_options *o);
/* After a failure with the images: drops them with a warning if the run named them, else returns
 * the status. */
int ck_report_drop_images(struct ck_report *r, const struct ck_report_request *q, int status);
/* Writes the name of row i < n: the one that the user gave, of an image its file name, else its
 * number. */
void ck_report_row_name(const struct ck_report *r, int64_t i, char *text, size_t size);
/* The name of a class, borrowed from r. */
const char *ck_report_class_name(const struct ck_report *r, int32_t class);

/* page.c: writes the page. images_dir: name of a folder beside the page for the pictures; NULL
 * = embed them. */
struct ck_page_target {
    const char *page, *images_dir;
    int force;
};
/* Fails if a target exists and force is not set. Call it before ck_report_read, which takes
 * long. */
int ck_page_check_target(const struct ck_page_target *to);
/* Writes the page and the pictures whole or not at all. *out: sizes for the user. */
int ck_page_write(const struct ck_report *r, const struct ck_page_target *to,
                  struct coke_report_summary *out);

/* cluster_table.c: one line per cluster, as CSV or, if the name ends so, JSON. Whole or absent. */
int ck_cluster_table_write(const struct ck_report *r, const char *path, int force);

/* report_write.c: the whole way from a folder to a page; to->page NULL: only the table.
 * q->o.budget 0 = chosen. */
int ck_report_write(const struct ck_report_request *q, const struct ck_page_target *to,
                    struct coke_report_summary *out);

#endif
