/* types.h - libcoke's version, statuses, choices and plain structs: no functions.
 *
 * coke.h includes this file and explains how the pieces are used. The layers of the library
 * below the public functions include it too, and never coke.h.
 *
 * Structs of three sorts:
 * - `struct coke_rows;` and others without members here are opaque: made and freed by functions.
 * - Structs that begin with `size_t size` are the caller's: inputs, callbacks, results. Set size
 *   to sizeof, as COKE_INIT does; the library reads and writes that many bytes and no more. A
 *   size of 0, or larger than the library knows, is COKE_EUSAGE.
 * - Structs that the library owns and shows by const pointer may grow at their end.
 * Other structs, which are elements of arrays, never change.
 *
 * Types: int64_t counts (rows, images, clusters, bytes). int32_t is a dimension, a class or a
 * label. int is a status, a flag, or a small index or count (heads, views, threads, processes). */
#ifndef COKE_TYPES_H
#define COKE_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* ---- version ---- */

#define COKE_VERSION_MAJOR 0
#define COKE_VERSION_MINOR 1
#define COKE_VERSION_PATCH 0
/* For comparisons: 10203 is 1.2.3. */
#define COKE_VERSION_NUMBER                                                                    \
    (COKE_VERSION_MAJOR * 10000 + COKE_VERSION_MINOR * 100 + COKE_VERSION_PATCH)

#define COKE_TEXT_(x) #x
#define COKE_TEXT(x) COKE_TEXT_(x)
#define COKE_VERSION                                                                           \
    COKE_TEXT(COKE_VERSION_MAJOR)                                                              \
    "." COKE_TEXT(COKE_VERSION_MINOR) "." COKE_TEXT(COKE_VERSION_PATCH)

/* ---- sized structs ---- */

/* A zeroed struct with its size set: struct coke_batch b = COKE_INIT(struct coke_batch); */
#ifdef __cplusplus
#define COKE_INIT(type)                                                                        \
    ([] {                                                                                      \
        type coke_init_ = type();                                                              \
        coke_init_.size = sizeof(type);                                                        \
        return coke_init_;                                                                     \
    }())
#else
#define COKE_INIT(type) ((type){.size = sizeof(type)})
#endif

/* ---- status ---- */

/* What functions that can fail return. The negated value is the exit code of the program `coke`
 * (commands that cannot resume exit with 1 when stopped). Values never change. */
enum coke_status {
    COKE_OK = 0,
    COKE_EFAIL = -1,    /* anything else */
    COKE_EUSAGE = -2,   /* an argument or option is invalid */
    COKE_EFORMAT = -3,  /* an input file is malformed, truncated or of another kind */
    COKE_EIO = -4,      /* reading or writing failed, or the disk is full */
    COKE_ENOMEM = -5,   /* out of memory */
    COKE_ENUMERIC = -6, /* NaN or infinity in a computation */
    COKE_ELOST = -7,    /* another process of the group is gone */
    COKE_ESTOPPED = -75 /* stopped by a callback */
};

/* ---- options ---- */

#define COKE_MAX_HEADS 64
#define COKE_MAX_THREADS 4096

struct coke_options;

enum coke_option_type {
    COKE_OPTION_TYPE_INT,
    COKE_OPTION_TYPE_FLOAT,
    COKE_OPTION_TYPE_FLAG,   /* "on" or "off", 1 or 0 */
    COKE_OPTION_TYPE_CHOICE, /* one word of `choices`, or its position */
    COKE_OPTION_TYPE_INTS,   /* comma-separated, at most COKE_MAX_HEADS of them */
    COKE_OPTION_TYPE_TEXT,   /* "" = not set */
    /* One word of `choices`, or comma-separated numbers instead. As an integer: the word's
     * position. Only the library's own options have this type. */
    COKE_OPTION_TYPE_NUMBERS,
    /* One word of `choices`, or layers of an MLP ("2048-bn-relu-256"). As an integer: the word's
     * position. Only the library's own options have this type. */
    COKE_OPTION_TYPE_LAYERS
};

/* One option. Strings live as long as the object that they describe. */
struct coke_option_info {
    size_t size;
    const char *name;
    enum coke_option_type type;
    double def, min, max; /* numbers and lists; a flag's and a choice's default is its number */
    /* "a|b|c"; of numbers "auto": the word for the default; of texts "DIR": what it is; or NULL
     */
    const char *choices;
    const char *help;
};

/* ---- callbacks ---- */

/* What a callback answers. Any other value is COKE_ANSWER_STOP. */
enum coke_answer {
    COKE_ANSWER_CONTINUE = 0,
    COKE_ANSWER_STOP = 1, /* the function returns COKE_ESTOPPED */
    COKE_ANSWER_SAVE = 2  /* training: write a checkpoint and continue */
};

/* Valid during the callback. */
struct coke_progress {
    const char *phase; /* "init", "epoch", "final", "repair", "embed", ... */
    int64_t epoch, epochs;
    int64_t done, total; /* in this phase; total 0 = unknown */
    double objective;    /* NaN = not known */
    const char *unit;    /* of done and total: "rows", "images", "clusters"; NULL = rows */
    const char *detail;  /* additional text for display, or NULL */
};

/* Each member may be NULL. All are called on the thread that called the library, with `user`. */
struct coke_callbacks {
    size_t size;
    void *user;
    int (*progress)(void *user, const struct coke_progress *p); /* enum coke_answer */
    void (*say)(void *user, const char *line);                  /* choices made, and why */
    void (*warn)(void *user, const char *line);
    /* An image that could not be read: its position in the data set, and why. */
    void (*bad_image)(void *user, int64_t index, const char *sentence);
};

/* ---- rows, clusterings, models ---- */

/* What to do with rows that are not finite or are zero, and with unreadable images. */
enum coke_bad {
    COKE_BAD_ERROR,  /* the function fails */
    COKE_BAD_SKIP,   /* skipped */
    COKE_BAD_REPLACE /* another image takes the place; loaders and trainings only */
};

struct coke_rows;
struct coke_cluster;
struct coke_kmeans;
struct coke_multihead;
struct coke_model;

enum coke_number {
    COKE_NUMBER_F32,
    COKE_NUMBER_F16,
    COKE_NUMBER_F64,
    COKE_NUMBER_U8,
    COKE_NUMBER_I8
};

/* Rows in memory: element (i, j) is at data + i * row_stride + j * column_stride. */
struct coke_memory {
    size_t size;
    const void *data;
    int64_t n;
    int32_t dim;
    enum coke_number type;
    int64_t row_stride, column_stride; /* bytes; any, also negative */
};

struct coke_cluster_input {
    size_t size;
    struct coke_rows *rows;
    const int64_t *min_sizes; /* [k] bounds of each cluster, or NULL; one head only */
    const int64_t *max_sizes; /* [k] or NULL */
    const double *weights;    /* [n] or NULL */
    /* [k][dim] initial centers, or NULL: by the option init. One head only. Cluster i starts from
     * center i and is never moved to another place in the result. */
    const float *centers;
    /* A clustering to continue from, or NULL: its centers, duals and sizes (docs/algorithm.md,
     * part 6). One head; the option k may be left out. */
    const struct coke_model *model;
    int keep_bounds; /* with a model: its bounds, as fractions of the rows, replace the options
                      * ratio and max-ratio; not together with min_sizes or max_sizes */
};

enum coke_metric {
    COKE_METRIC_COSINE,   /* similarity: the cosine, higher is better */
    COKE_METRIC_EUCLIDEAN /* squared distance, lower is better */
};

/* Result of one head. Objectives are means over (weighted) rows. A clustering by cosine states
 * similarities, which it maximizes; a Euclidean one states squared distances, which it minimizes,
 * in the units of the rows. */
struct coke_head_summary {
    size_t size;
    int64_t n, k;
    int32_t dim;
    int64_t skipped;
    int64_t epochs;
    int converged;
    double eta;
    double objective;        /* mean cosine, or squared distance, to the nearest center */
    double labels_objective; /* the same to the center of the returned label */
    int64_t size_min, size_median, size_max;
    int64_t below_before_repair; /* clusters below their bound: labels of the last epoch, or,
                                  * without a repair, those returned */
    int64_t above_before_repair;
    int64_t missing_before_repair;            /* rows that these clusters lack in total */
    int64_t lower_bound_min, lower_bound_max; /* smallest and largest lower bound of a size */
    int64_t upper_bound_min, upper_bound_max; /* of the upper bounds; -1 = there are none */
    int64_t not_nearest; /* rows that are nearer to another center than to that of their label;
                          * -1 = not counted: a stream is read once */
    int repaired;
    double primal;        /* sum of cosines, or squared distances, of the returned labels */
    double dual;          /* no assignment within the bounds has a better sum than this */
    double gap;           /* |dual - primal| */
    int64_t repair_bytes; /* memory of the solver's rows and lists */
    double reads;         /* times the data was read, in all starts */
    int64_t fit_rows;     /* rows that the centers were fitted on */
    int32_t metric;       /* enum coke_metric */
    double inertia;       /* Euclidean: primal, as other programs call it; cosine: NaN */
    int32_t levels; /* 2: rows were compared with the leaves of `probes` of `groups` groups
                           * only, and objective and dual refer to these candidates */
    int32_t probes;
    int64_t groups;
    int64_t beyond;   /* rows with a label beyond their candidates, to keep the sizes */
    int64_t restarts; /* starts, of which this is the best */
    int64_t polish;   /* rounds of assignment and means after the epochs */
    int settled;      /* one more would change nothing */
};

struct coke_timing {
    double init, epochs, final, total; /* seconds */
    double vectors_per_second;         /* rows per second in the epochs */
};

/* Arrays of a clustering that can be copied. */
enum coke_array {
    COKE_ARRAY_CURRENT,       /* float [k][dim] centers being moved */
    COKE_ARRAY_PREVIOUS,      /* float [k][dim] centers of the last epoch */
    COKE_ARRAY_DUALS,         /* float [k] duals of the lower bounds */
    COKE_ARRAY_UPPER_DUALS,   /* float [k] duals of the upper bounds */
    COKE_ARRAY_AVERAGE_DUALS, /* float [k] mean of (lower - upper) duals over the last epoch */
    COKE_ARRAY_COUNTS,        /* int64_t [k] rows received in this epoch */
    COKE_ARRAY_LABELS,        /* int32_t [n] stored labels, -1 = none yet */
    COKE_ARRAY_SLOT_LABELS,   /* int32_t [n][slots], -1 = free */
    COKE_ARRAY_SLOT_WEIGHTS   /* float [n][slots] */
};

/* Rows for a model to label. */
struct coke_assign_job {
    size_t size;
    struct coke_rows *rows;
    int32_t *labels; /* [n] out, in row order; -1 = skipped */
    float *
        scores; /* [n] out: cosine, or squared distance, to the label's center, NaN = skipped; or NULL */
    int constrained;   /* keep sizes in proportion to the model's bounds, exactly; see gap */
    enum coke_bad bad; /* error or skip */
    const struct coke_callbacks *callbacks; /* or NULL */
    /* Each of the following may be NULL. */
    int32_t
        *second;    /* [n] out: nearest center other than the label's; -1 = skipped, or k = 1 */
    float *margins; /* [n] out: the score minus that of `second`, below 0 where a size bound
                      * chose the label; NaN = skipped, or k = 1 */
    int64_t *sorted; /* [n] out: rows by cluster, in each by falling score; skipped rows last */
    int64_t *offsets; /* [k + 1] out: cluster c has sorted[offsets[c]] to
                       * sorted[offsets[c + 1] - 1], its medoid first */
    double gap; /* constrained: accepted distance from the best possible labels, as a fraction of
                 * the total similarity, which saves time; 0 = the best */
};

struct coke_agreement_scores {
    size_t size;
    int64_t n;          /* samples with both a class and a cluster; 0: the others are NaN */
    double accuracy;    /* best one-to-one matching of clusters and classes */
    double many_to_one; /* every cluster counts as its most frequent class */
    double nmi, ari;
};

/* ---- images ---- */

struct coke_dataset;
struct coke_loader;

#define COKE_MAX_VIEWS 16

struct coke_verify_summary {
    size_t size;
    int64_t good, bad;
};

struct coke_pack_summary {
    size_t size;
    int64_t images, bad, shards, bytes;
};

enum coke_sort { COKE_SORT_COPY, COKE_SORT_LINK };

struct coke_sort_summary {
    size_t size;
    int64_t images, folders, renamed, left_out;
};

/* The pointers are the loader's: valid until its next batch is requested, or it is freed. */
struct coke_batch {
    size_t size;
    int64_t epoch, step, steps;
    int64_t n;            /* images; unreadable ones are skipped, so it may be 0 */
    int64_t first, total; /* place of this rank's part in the batch of all ranks */
    int views;
    int32_t channels;
    int32_t width[COKE_MAX_VIEWS], height[COKE_MAX_VIEWS];
    const float *x[COKE_MAX_VIEWS]; /* [n][channels][height][width], normalised */
    const int64_t *index;           /* [n] position in the data set */
    const int32_t *label;           /* [n] -1 = unknown */
};

/* ---- encoders ---- */

struct coke_encoder;
struct coke_plan;
struct coke_optimizer;
struct coke_loss;

enum coke_output {
    COKE_OUTPUT_FEATURES, /* of the backbone, pooled */
    COKE_OUTPUT_LOGITS,   /* of the projector, before normalisation */
    COKE_OUTPUT_PROJ,     /* the same with length 1 */
    COKE_OUTPUT_PRED      /* of the predictor, with length 1 */
};

/* Adds v [n] over the processes of a group, in place, with the same result everywhere. */
struct coke_reduce {
    size_t size;
    int (*sum)(void *arg, double *v, int64_t n); /* a status */
    void *arg;
};

/* Gradients of a loss with respect to the outputs of a plan, each [batch][dim]; NULL where the
 * plan takes none. */
struct coke_gradients {
    size_t size;
    const float *features, *logits, *proj, *pred;
};

struct coke_loss_input {
    size_t size;
    int64_t n;                   /* images, at most the option batch */
    const float *proj;           /* [views][n][dim] unit vectors */
    const float *pred;           /* the same, or NULL: beta counts as 0 */
    const float *const *centers; /* [heads], each [k][dim] */
    const int32_t *labels;       /* [heads][n] */
};

struct coke_loss_output {
    size_t size;
    float *grad_proj; /* [views][n][dim], written; or NULL */
    float *grad_pred; /* the same; or NULL */
    double loss;
};

/* ---- training ---- */

struct coke_run;

struct coke_train_control {
    size_t size;
    int fresh;         /* do not resume from the run folder */
    int resume_anyway; /* resume although versions, threads or options differ */
    int force;         /* overwrite files of others; with fresh also an earlier run */
};

/* Result of a training, or its current state. */
struct coke_train_summary {
    size_t size;
    int64_t epochs, images;         /* done so far */
    double loss;                    /* of the last epoch */
    double seconds, waited, saving; /* in this process: all, for data, for checkpoints */
    int resumed;
    int monitored; /* the next are known */
    double knn20, knn200;
    int matched_head; /* -1 = no head has as many clusters as there are classes */
    double accuracy, nmi, ari;
};

struct coke_embed_summary {
    size_t size;
    int64_t images;
    int32_t dim;
    int64_t bad;
};

/* ---- evaluation ---- */

/* Classes are matched by their names. */
struct coke_eval_input {
    size_t size;
    struct coke_run *run;
    struct coke_dataset *train, *test;
    const struct coke_callbacks *callbacks; /* or NULL */
};

#define COKE_EVAL_ROWS 16

struct coke_knn_result {
    size_t size;
    int64_t bank, asked, bad;
    int32_t classes;
    int leave_one_out, n;
    int64_t k[COKE_EVAL_ROWS];
    double accuracy[COKE_EVAL_ROWS];
    int64_t views; /* option views of the run; of more than 1 the accuracy is: */
    double views_accuracy[COKE_EVAL_ROWS];
};

/* A learning rate and weight decay, and the result: means over trials and the standard
 * deviations between them, 0 for one trial. */
struct coke_eval_row {
    double rate, weight_decay;
    double loss, top1, top5; /* of the test images */
    double loss_deviation, top1_deviation, top5_deviation;
};

struct coke_classifier_result {
    size_t size;
    int64_t train, test, bad; /* images with a class, and unreadable ones */
    int32_t classes;
    int64_t epochs, batch, trials, seed;
    int n, best; /* rows, and the one with the highest top1 */
    struct coke_eval_row row[COKE_EVAL_ROWS];
    int64_t views; /* option views of the run, 0 for fine-tuning; of more than 1 there are: */
    int views_best;
    struct coke_eval_row views_row[COKE_EVAL_ROWS];
};

struct coke_head_scores {
    int64_t k;
    double accuracy;    /* best one-to-one matching of clusters and classes */
    double many_to_one; /* every cluster counts as its most frequent class */
    double nmi, ari;
};

struct coke_clusters_result {
    size_t size;
    int64_t images, bad;
    int32_t classes;
    int heads;
    int matched; /* head with as many clusters as classes; -1 = none */
    struct coke_head_scores head[COKE_MAX_HEADS];
    int64_t views; /* option views of the run; of more than 1 the scores are: */
    struct coke_head_scores views_head[COKE_MAX_HEADS];
};

struct coke_clustering_input {
    size_t size;
    const char *folder;  /* of coke_cluster_write */
    const char *classes; /* a class per row: lines of text, or a .npy of integers; or NULL */
    const char *const *vectors; /* [nvectors] the files that were clustered, for silhouettes */
    int nvectors;
    int64_t sample; /* rows that the silhouette is computed of, drawn at random; 0 = 5000 */
    const struct coke_callbacks *callbacks; /* or NULL */
    const struct coke_options *rows; /* kind rows: how `vectors` are read; NULL = defaults */
};

/* One clustering; NaN = not known. */
struct coke_clustering_scores {
    int64_t k;
    double objective; /* mean cosine, or squared distance, to the center of the label */
    double
        silhouette;  /* -1..1: how much nearer its own cluster is to a row than the next one */
    double accuracy; /* best one-to-one matching of clusters and classes */
    double many_to_one; /* every cluster counts as its most frequent class */
    double nmi, ari;
};

struct coke_clustering_result {
    size_t size;
    int64_t n;       /* rows, skipped ones included */
    int64_t sample;  /* of the silhouette; 0 = none */
    int32_t classes; /* 0 = unknown */
    int heads;
    int matched; /* head with as many clusters as classes; -1 = none */
    struct coke_clustering_scores head[COKE_MAX_HEADS];
};

/* ---- report and exchange ---- */

struct coke_report_input {
    size_t size;
    const char *source; /* the folder of a run, or of coke_cluster_write */
    const char *images; /* their source; NULL = that of the run, or none */
    const struct coke_options
        *data;                  /* kind dataset, for the images of a clustering; a run knows
                                      * its own. NULL = defaults */
    const char *const *vectors; /* [nvectors] files of the rows that were clustered */
    int nvectors;
    const struct coke_callbacks *callbacks; /* or NULL */
    /* Of a clustering, each may be NULL: */
    const char *names;   /* text file with a name per row */
    const char *classes; /* a class per row: lines of text, or a .npy of integers */
    const char *table;   /* also write a table of the clusters to this .csv or .json file */
    const struct coke_options *rows; /* kind rows: how `vectors` are read */
};

struct coke_report_summary {
    size_t size;
    int64_t page_bytes, picture_bytes; /* of the page, and of pictures in or beside it */
    int64_t pictures;
    int32_t picture_side; /* pixels; 0 = none */
    int heads;
    int64_t clusters; /* of all heads */
};

struct coke_exchange_summary {
    size_t size;
    int64_t tensors, numbers;     /* 0 for ONNX */
    char weights[4096];           /* the file that was read */
    char note[1024];              /* for the user: what was not used; or "" */
    struct coke_options *encoder; /* what it is, kind encoder: the caller frees it */
};

/* ---- JSON ---- */

enum coke_json_style {
    COKE_JSON_STYLE_PRETTY, /* indented, reals with 15 digits */
    COKE_JSON_STYLE_LINE    /* one document per line, reals with 9 digits */
};

struct coke_json;

#endif
