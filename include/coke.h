/* coke.h - libcoke: online constrained k-means on embedding vectors.
 *
 * Functions that can fail return COKE_OK (0) or a negative status; coke_last_error() then has
 * one sentence, per thread. Pointers to const are borrowed for the call. *_free accepts NULL.
 * Shapes stand in brackets: x [n][dim] is row-major. docs/algorithm.md has the equations. */
#ifndef COKE_H
#define COKE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COKE_API __attribute__((visibility("default")))

/* ---- status ---- */

/* The negated value is the exit code of the program `coke` (which exits with 1 when stopped).
 */
enum coke_status {
    COKE_OK = 0,
    COKE_EFAIL = -1,    /* anything else */
    COKE_EUSAGE = -2,   /* arguments or options that cannot be */
    COKE_EFORMAT = -3,  /* an input file is not what it should be */
    COKE_EIO = -4,      /* reading, writing, disk full */
    COKE_ENOMEM = -5,   /* memory */
    COKE_ENUMERIC = -6, /* NaN or infinity */
    COKE_ELOST = -7,    /* another process of the job is gone */
    COKE_ESTOPPED = -75 /* stopped by the caller */
};

COKE_API const char *coke_last_error(void); /* one sentence about this thread's last failure */
COKE_API const char *coke_version(void);
COKE_API const char *coke_isa(void);  /* instruction set in use: ref, avx2, avx512, vnni */
COKE_API int coke_set_threads(int n); /* 0 = all cores */
COKE_API int coke_threads(void);

/* ---- options ----
 *
 * Functions take their options as one opaque type: values of a kind ("cluster", "train", ...),
 * set and read by name. NULL stands for the defaults wherever options are taken. A kind that is
 * composed of others may be used in their place: coke_dataset_open() accepts options of kind
 * "train". Values are validated when they are set; a value that is refused changes nothing. An
 * object may be read by several threads at once, but not while one of them sets a value. */

#define COKE_MAX_HEADS 64
#define COKE_MAX_THREADS 4096

struct coke_options;

enum coke_option_type {
    COKE_OPT_INT,
    COKE_OPT_FLOAT,
    COKE_OPT_FLAG,   /* "on" or "off", 1 or 0 */
    COKE_OPT_CHOICE, /* one word of `choices`, or its position */
    COKE_OPT_INTS,   /* comma-separated, at most COKE_MAX_HEADS of them */
    COKE_OPT_TEXT    /* "" = not set */
};

/* One option. Strings live as long as the object that they describe. */
struct coke_option_info {
    size_t size; /* sizeof(struct coke_option_info), set by the caller */
    const char *name;
    enum coke_option_type type;
    double def, min, max; /* numbers and lists; a flag's and a choice's default is its number */
    /* "a|b|c"; of numbers "auto": the word for the default; of texts "DIR": what it is; or NULL
     */
    const char *choices;
    const char *help;
};

/* Kinds: kmeans, cluster, rows, encoder, plan, optimizer, loss, dataset, pack, view, loader,
 * train, use, knn, linear, finetune, report, export, import. Holds the defaults. */
COKE_API int coke_options_new(struct coke_options **out, const char *kind);
/* Options of the caller's own, described by rows [n], whose strings are copied. */
COKE_API int coke_options_define(struct coke_options **out, const struct coke_option_info *rows,
                                 int n);
COKE_API void coke_options_free(struct coke_options *o);
COKE_API int coke_options_copy(struct coke_options **out, const struct coke_options *o);
COKE_API const char *coke_options_kind(const struct coke_options *o); /* "" = defined */

/* An unknown name is an error that names the nearest one. */
COKE_API int coke_options_set(struct coke_options *o, const char *name, const char *text);
COKE_API int coke_options_set_int(struct coke_options *o, const char *name, int64_t value);
COKE_API int coke_options_set_float(struct coke_options *o, const char *name, double value);
/* The value as text, as coke_options_set takes it; COKE_EUSAGE if it needs more than `size`
 * bytes with its 0. */
COKE_API int coke_options_get(const struct coke_options *o, const char *name, char *text,
                              size_t size);
COKE_API int coke_options_get_int(const struct coke_options *o, const char *name,
                                  int64_t *value);
COKE_API int coke_options_get_float(const struct coke_options *o, const char *name,
                                    double *value);

/* A JSON object of names and values: all of them are set, or none. */
COKE_API int coke_options_load_json(struct coke_options *o, const char *path);
COKE_API int coke_options_print_json(const struct coke_options *o, FILE *to);

COKE_API int coke_options_count(const struct coke_options *o);
/* Option i, 0 .. count - 1. */
COKE_API int coke_options_describe(const struct coke_options *o, int i,
                                   struct coke_option_info *out);
/* The word of words [n] that is nearest to `word`, or NULL if none is near. */
COKE_API const char *coke_nearest(const char *word, const char *const *words, int n);

/* ---- options as structs: until the functions below take struct coke_options ---- */

#include "cluster/job_options.h"
#include "eval/eval_options.h"
#include "io/rows_options.h"
#include "report/report_options.h"
#include "train/train_options.h"
#include "train/use_options.h"

#define coke_ints ck_ints
#define coke_option ck_option
#define coke_option_table ck_option_table
#define coke_rows_options ck_rows_options
#define coke_kmeans_options ck_kmeans_options
#define coke_cluster_options ck_cluster_options
#define coke_encoder_options ck_encoder_options
#define coke_plan_options ck_plan_options
#define coke_optimizer_options ck_optimizer_options
#define coke_dataset_options ck_dataset_options
#define coke_pack_options ck_pack_options
#define coke_view_options ck_view_options
#define coke_loader_options ck_loader_options
#define coke_train_options ck_train_options
#define coke_use_options ck_use_options
#define coke_knn_options ck_knn_options
#define coke_linear_options ck_linear_options
#define coke_finetune_options ck_finetune_options
#define coke_report_options ck_report_options
#define coke_export_options ck_export_options
#define coke_import_options ck_import_options
#define coke_loss_options ck_loss_setup

/* The struct that an object holds. */
COKE_API void *coke_options_struct(const struct coke_options *o);
#define AS_STRUCT(o) coke_options_struct(o)

COKE_API void coke_table_default(const struct coke_option_table *t, void *options);
COKE_API int coke_table_set(const struct coke_option_table *t, void *options, const char *name,
                            const char *value);
COKE_API int coke_table_get(const struct coke_option_table *t, const void *options,
                            const char *name, char *value, size_t size);
COKE_API int coke_table_load_json(const struct coke_option_table *t, void *options,
                                  const char *path);
COKE_API int coke_table_print_json(const struct coke_option_table *t, const void *options,
                                   FILE *to);

/* ---- rows: vectors from files or memory ---- */

struct coke_rows;

/* .npy (f4 f2 f8 u1 i1), .fvecs, .bvecs; several files are one stream; "-" = .npy on stdin. */
COKE_API int coke_rows_open(struct coke_rows **out, const char *const *paths, int npaths,
                            const struct coke_rows_options *options);
COKE_API int coke_rows_from_array(struct coke_rows **out, const float *x, int64_t n,
                                  int32_t dim); /* x is borrowed until _free */
COKE_API void coke_rows_free(struct coke_rows *rows);
COKE_API int64_t coke_rows_count(const struct coke_rows *rows);
COKE_API int32_t coke_rows_dim(const struct coke_rows *rows);
COKE_API const char *
coke_rows_note(const struct coke_rows *rows); /* what to tell the user, or "" */

/* One number a line (text) or a one-dimensional .npy of integers or floats. */
COKE_API int coke_numbers_load(const char *path, double **out, int64_t *n);
COKE_API void coke_numbers_free(double *numbers);

/* ---- k-means, batch by batch ---- */

struct coke_kmeans;

COKE_API const struct coke_option_table *coke_kmeans_option_table(void);
COKE_API struct coke_kmeans_options coke_kmeans_options_default(void);

/* centers [k][dim]: the first ones, copied as they are. min_sizes, max_sizes [k]: bounds of
 * each cluster instead of ratio and max_ratio, or NULL. */
COKE_API int coke_kmeans_new(struct coke_kmeans **out,
                             const struct coke_kmeans_options *options, const float *centers,
                             const int64_t *min_sizes, const int64_t *max_sizes);
COKE_API void coke_kmeans_free(struct coke_kmeans *km);

/* One batch: assign x [n][dim], move duals and centers, store labels under ids [n]
 * (NULL: not stored). labels [n] receives the assignment. x is used as it is: normalise it. */
COKE_API int coke_kmeans_step(struct coke_kmeans *km, const float *x, const int64_t *ids,
                              int64_t n, int32_t *labels);
COKE_API int coke_kmeans_epoch_end(struct coke_kmeans *km);

/* argmax_k x.c_k with the fixed centers of the last epoch, no duals; scores may be NULL. */
COKE_API int coke_kmeans_predict(const struct coke_kmeans *km, const float *x, int64_t n,
                                 int32_t *labels, float *scores);

enum coke_kmeans_array {
    COKE_KM_CURRENT,     /* float [k][dim] centers being moved */
    COKE_KM_PREVIOUS,    /* float [k][dim] centers of the last epoch */
    COKE_KM_DUALS,       /* float [k] rho of the lower bounds */
    COKE_KM_UPPER,       /* float [k] duals of the upper bounds */
    COKE_KM_AVERAGE,     /* float [k] average of (lower - upper) duals over the last epoch */
    COKE_KM_COUNTS,      /* int64_t [k] instances received in this epoch */
    COKE_KM_LABELS,      /* int32_t [n] stored labels, -1 = none yet */
    COKE_KM_SLOT_LABELS, /* int32_t [n][slots], -1 = free */
    COKE_KM_SLOT_WEIGHTS /* float [n][slots] */
};

/* Copies an array into out, which has room for `room` elements. */
COKE_API int coke_kmeans_copy(const struct coke_kmeans *km, enum coke_kmeans_array what,
                              void *out, int64_t room);
/* Dense second-stage targets [n][k] of instances ids [n]. */
COKE_API int coke_kmeans_soft_targets(const struct coke_kmeans *km, const int64_t *ids,
                                      int64_t n, float *targets);

/* The whole state, at any batch; loading continues as if never interrupted. */
COKE_API int coke_kmeans_save(const struct coke_kmeans *km, const char *path);
COKE_API int coke_kmeans_load(struct coke_kmeans **out, const char *path);

/* Several clusterings of one stream. */
struct coke_multihead;
COKE_API int coke_multihead_new(struct coke_multihead **out, struct coke_kmeans *const *heads,
                                int n);
COKE_API void coke_multihead_free(struct coke_multihead *mh); /* and its heads */
COKE_API struct coke_kmeans *coke_multihead_head(struct coke_multihead *mh, int h);
/* labels [heads][n] */
COKE_API int coke_multihead_step(struct coke_multihead *mh, const float *x, const int64_t *ids,
                                 int64_t n, int32_t *labels);
COKE_API int coke_multihead_epoch_end(struct coke_multihead *mh);

/* ---- the whole job: rows in, labels with guaranteed sizes out ---- */

COKE_API const struct coke_option_table *coke_cluster_option_table(void);
COKE_API struct coke_cluster_options coke_cluster_options_default(void);

struct coke_cluster_input {
    struct coke_rows *rows;
    const double *min_sizes; /* [k] or NULL; one head only */
    const double *max_sizes; /* [k] or NULL */
    const double *weights;   /* [n] or NULL */
};

struct coke_progress {
    const char *phase; /* "init", "epoch", "final", "repair" */
    int64_t epoch, epochs;
    int64_t done, total; /* rows of this phase */
    double objective;
    const char *unit;   /* what done and total count; NULL = rows */
    const char *detail; /* more for people, or NULL */
};

struct coke_callbacks {
    void *user;
    int (*progress)(void *user, const struct coke_progress *p); /* non-zero = stop */
    void (*say)(void *user, const char *line);                  /* choices made, and why */
    void (*warn)(void *user, const char *line);
};

struct coke_cluster;

/* What one head came to. Objectives are means over (weighted) rows. */
struct coke_head_summary {
    int64_t n, k, dim, skipped;
    int64_t epochs;
    int32_t converged;
    double eta;
    double objective;        /* mean cosine to the nearest center */
    double labels_objective; /* mean cosine to the center of the returned label */
    int64_t size_min, size_median, size_max;
    int64_t below_before_repair; /* clusters under their bound: labels of the last epoch, or,
                                  * without a repair, those returned */
    int64_t above_before_repair;
    int64_t short_before_repair;  /* points missing in all */
    int64_t bound_min, bound_max; /* smallest and largest lower bound */
    int32_t repaired;
    int64_t moved;        /* labels that the solver changed against its last pass */
    double primal;        /* sum of similarities of the returned labels */
    double dual;          /* upper bound on any assignment that keeps the sizes */
    double gap;           /* dual - primal */
    int64_t repair_bytes; /* of the solver's rows and lists */
    double passes;        /* times the data was read */
};

struct coke_cluster_timing {
    double init, epochs, final, total; /* seconds */
    double vectors_per_second;         /* rows a second in the epochs */
};

COKE_API int coke_cluster_run(struct coke_cluster **out, const struct coke_cluster_input *input,
                              const struct coke_cluster_options *options,
                              const struct coke_callbacks *callbacks);
COKE_API void coke_cluster_free(struct coke_cluster *c);
COKE_API int coke_cluster_heads(const struct coke_cluster *c);
COKE_API const struct coke_head_summary *coke_cluster_summary(const struct coke_cluster *c,
                                                              int h);
COKE_API const struct coke_cluster_timing *coke_cluster_timing(const struct coke_cluster *c);
COKE_API int coke_cluster_labels(const struct coke_cluster *c, int h,
                                 int32_t *labels);                               /* [n] */
COKE_API const float *coke_cluster_centers(const struct coke_cluster *c, int h); /* [k][dim] */
/* Writes labels.npy, centers.npy, model.safetensors (several heads: labels-h0-k10.npy, ...)
 * and summary.json into dir: all of them or none. */
COKE_API int coke_cluster_write(const struct coke_cluster *c, const char *dir, int force);

/* ---- models: label new vectors ---- */

struct coke_model;

COKE_API int coke_model_load(struct coke_model **out,
                             const char *path); /* file or its folder */
COKE_API void coke_model_free(struct coke_model *m);
COKE_API int64_t coke_model_k(const struct coke_model *m);
COKE_API int32_t coke_model_dim(const struct coke_model *m);
/* labels [n], scores [n] (may be NULL), in row order. constrained: sizes in proportion to the
 * model's bounds are kept, exactly. bad: 0 error, 1 skip (label -1). */
COKE_API int coke_model_assign(const struct coke_model *m, struct coke_rows *rows,
                               int constrained, int bad, const struct coke_callbacks *callbacks,
                               int32_t *labels, float *scores,
                               struct coke_head_summary *summary);

/* ---- files ---- */

/* Writes atomically: the file is there and whole, or not there. */
COKE_API int coke_npy_write_i32(const char *path, const int32_t *x, int64_t n, int force);
COKE_API int coke_npy_write_f32(const char *path, const float *x, int64_t rows, int64_t cols,
                                int force);
/* What a model, .npy, .fvecs, .bvecs or safetensors file holds, as text or JSON. */
COKE_API int coke_info_print(const char *path, int json, FILE *to);

/* ---- built-in data ---- */

/* Unit vectors [n][dim] around `clusters` directions in groups, sizes as a Zipf law:
 * heavy-tailed, as real embeddings are. */
COKE_API int coke_synthetic_fill(float *x, int64_t n, int32_t dim, int32_t clusters,
                                 uint64_t seed);

/* ---- encoders: images to vectors ----
 *
 * An encoder is a ResNet with torchvision's names (conv1.weight, layer1.0.bn1.running_mean,
 * ...), a projection (fc.*) and a prediction MLP (predictor.*). A pass is an encoder compiled
 * for one batch size and image size; passes of one encoder share its weights. A training step:
 *
 *     coke_encoder_zero_grad(e);
 *     coke_plan_forward(pass, images);
 *     ... gradients of the loss with respect to coke_plan_output(pass, COKE_PROJ), ... ...
 *     coke_plan_backward(pass, &grads);
 *     coke_optimizer_step(optimizer, rate);
 */

enum coke_arch { COKE_RESNET18, COKE_RESNET34, COKE_RESNET50 };
enum coke_stem { COKE_STEM_IMAGENET, COKE_STEM_CIFAR };
enum coke_projector {
    COKE_PROJECTOR_NONE,
    COKE_PROJECTOR_LINEAR,
    COKE_PROJECTOR_MLP2, /* Linear-ReLU-Linear */
    COKE_PROJECTOR_MLP3  /* Linear-BN-ReLU-Linear-BN-ReLU-Linear-BN */
};

struct coke_encoder;

COKE_API const struct coke_option_table *coke_encoder_option_table(void);
COKE_API struct coke_encoder_options coke_encoder_options_default(void);
COKE_API int coke_encoder_new(struct coke_encoder **out,
                              const struct coke_encoder_options *options);
/* Free its passes and optimizers first. */
COKE_API void coke_encoder_free(struct coke_encoder *e);
COKE_API struct coke_encoder_options coke_encoder_options_of(const struct coke_encoder *e);
COKE_API int64_t coke_encoder_size(const struct coke_encoder *e); /* numbers learned */

/* An encoder as it was saved, weights and options, or the one in a checkpoint. safetensors. */
COKE_API int coke_encoder_open(struct coke_encoder **out, const char *path);
COKE_API int coke_encoder_save(const struct coke_encoder *e, const char *path, int force);
/* Weights from anywhere, all or nothing: a tensor that is missing, unexpected or of another
 * shape is an error that names it. Names that begin with `ignore` (NULL = none), in the file or
 * in the encoder, are left alone: "fc." takes the backbone of a classifier. */
COKE_API int coke_encoder_load_weights(struct coke_encoder *e, const char *path,
                                       const char *ignore);
/* One parameter or running statistic by name: its numbers, in PyTorch's order; NULL if there is
 * none. To change them, write and call coke_encoder_touch. */
COKE_API float *coke_encoder_tensor(struct coke_encoder *e, const char *name, int64_t *size);
COKE_API const float *coke_encoder_gradient(const struct coke_encoder *e, const char *name,
                                            int64_t *size);
COKE_API void coke_encoder_touch(struct coke_encoder *e);
COKE_API void coke_encoder_zero_grad(struct coke_encoder *e);

enum coke_precision { COKE_F32, COKE_BF16 };

enum coke_output {
    COKE_FEATURES, /* of the backbone, pooled */
    COKE_LOGITS,   /* what the head gives, before it is normalised */
    COKE_PROJ,     /* that with length 1 */
    COKE_PRED,     /* of the prediction MLP, with length 1 */
    COKE_OUTPUTS
};

struct coke_plan;

COKE_API struct coke_plan_options coke_plan_options_default(void);
COKE_API int coke_plan_new(struct coke_plan **out, struct coke_encoder *e,
                           const struct coke_plan_options *options);
COKE_API void coke_plan_free(struct coke_plan *p);
/* images [batch][channels][height][width] */
COKE_API int coke_plan_forward(struct coke_plan *p, const float *images);
/* [batch][dim], until the next forward pass; NULL if it was not asked for. */
COKE_API const float *coke_plan_output(const struct coke_plan *p, enum coke_output which,
                                       int64_t *dim);
/* grad [COKE_OUTPUTS]: arrays like the outputs' for those that get gradients. Gradients of the
 * weights are added to those that are there. */
COKE_API int coke_plan_backward(struct coke_plan *p, const float *const grad[COKE_OUTPUTS]);
COKE_API int64_t coke_plan_bytes(const struct coke_plan *p);

enum coke_optimizer_kind { COKE_LARS, COKE_SGD };

struct coke_optimizer;

COKE_API struct coke_optimizer_options coke_optimizer_options_default(void);
COKE_API int coke_optimizer_new(struct coke_optimizer **out, struct coke_encoder *e,
                                const struct coke_optimizer_options *options);
COKE_API void coke_optimizer_free(struct coke_optimizer *o);
/* A gradient that is not finite is an error that names the layer and the step, counted from 1;
 * nothing has changed then. */
COKE_API int coke_optimizer_step(struct coke_optimizer *o, double rate);

/* The discrimination loss: cross-entropy of unit vectors to the centers of every head. */
struct coke_loss;

COKE_API struct coke_loss_options coke_loss_options_default(void);
COKE_API int coke_loss_new(struct coke_loss **out, const struct coke_loss_options *options);
COKE_API void coke_loss_free(struct coke_loss *l);
/* proj, pred [views][n][dim] unit vectors; pred NULL: there is none, beta
 * counts as 0; centers [heads], each
 * [k][dim]; labels [heads][n]. The gradients are like proj and pred, or NULL. */
COKE_API int coke_loss_step(struct coke_loss *l, int64_t n, const float *proj,
                            const float *pred, const float *const *centers,
                            const int32_t *labels, float *grad_proj, float *grad_pred,
                            double *loss);

/* The learning rate of step `step` of `steps` in epoch `epoch` of `epochs`: 0 in epoch 0, a
 * straight line over `warmup` epochs (-1: the default), then half a cosine. */
COKE_API int coke_schedule_rate(double rate, int64_t epochs, int64_t warmup, int64_t steps,
                                int64_t epoch, int64_t step, double *out);

/* Convolutions are computed in ways that a table in the library names. coke_tune measures on
 * this machine instead, for passes that are made afterwards; the file makes it repeatable:
 * written atomically if it does not exist, read if it does. Several processes only read. */
COKE_API int coke_tune(const char *path);

/* ---- images: data sets, and batches of augmented views ---- */

enum coke_split { COKE_SPLIT_TRAIN, COKE_SPLIT_TEST };

struct coke_dataset;

COKE_API const struct coke_option_table *coke_dataset_option_table(void);
COKE_API struct coke_dataset_options coke_dataset_options_default(void);

/* A folder of images, a list, tar shards "x-{000..146}.tar", CIFAR or IDX files, a .npy of u8
 * images, "synthetic:". docs/data.md says what each looks like. */
COKE_API int coke_dataset_open(struct coke_dataset **out, const char *source,
                               const struct coke_dataset_options *options);
COKE_API void coke_dataset_free(struct coke_dataset *d);
COKE_API int64_t
coke_dataset_count(const struct coke_dataset *d); /* -1: known after a single pass */
COKE_API int32_t coke_dataset_classes(const struct coke_dataset *d); /* 0 = no labels */
COKE_API const char *coke_dataset_class_name(const struct coke_dataset *d, int32_t c);
COKE_API int32_t coke_dataset_label(const struct coke_dataset *d, int64_t i); /* -1 = unknown */
COKE_API void coke_dataset_name(const struct coke_dataset *d, int64_t i, char *text,
                                size_t size);
COKE_API const char *coke_dataset_note(const struct coke_dataset *d); /* for the user, or "" */
COKE_API int64_t coke_dataset_channels(const struct coke_dataset *d);
/* What is there: kind, images, sizes, classes. Looks into some of the files. */
COKE_API int coke_dataset_print(struct coke_dataset *d, int json, FILE *to);

/* Decodes everything; say_bad gets each image that cannot be. */
struct coke_dataset_verified {
    int64_t good, bad;
};
COKE_API int coke_dataset_verify(struct coke_dataset *d, const struct coke_callbacks *callbacks,
                                 void (*say_bad)(void *user, int64_t i, const char *sentence),
                                 struct coke_dataset_verified *out);

enum coke_pack_format { COKE_PACK_JPEG, COKE_PACK_PNG, COKE_PACK_PPM };

COKE_API const struct coke_option_table *coke_pack_option_table(void);
COKE_API struct coke_pack_options coke_pack_options_default(void);

struct coke_packed {
    int64_t images, bad, shards, bytes;
};
/* Writes PREFIX-000000.tar and so on: WebDataset shards that coke_dataset_open reads. Pictures
 * that cannot be read are left out and told to say_bad. */
COKE_API int coke_dataset_pack(struct coke_dataset *d, const char *prefix,
                               const struct coke_pack_options *options, int force,
                               const struct coke_callbacks *callbacks,
                               void (*say_bad)(void *user, int64_t i, const char *sentence),
                               struct coke_packed *out);

enum coke_recipe {
    COKE_RECIPE_AUTO, /* cifar for pictures up to 64 pixels, double for others */
    COKE_RECIPE_SINGLE,
    COKE_RECIPE_DOUBLE,
    COKE_RECIPE_MULTI,
    COKE_RECIPE_CIFAR_SINGLE,
    COKE_RECIPE_CIFAR,
    COKE_RECIPE_CIFAR_SMALL,
    COKE_RECIPE_LINEAR,
    COKE_RECIPE_EVAL,
    COKE_RECIPE_NONE
};

#define COKE_MAX_VIEWS 16

COKE_API const struct coke_option_table *coke_view_option_table(void);
COKE_API struct coke_view_options coke_view_options_default(void);

/* A PNG: each row an image and what training would see of it in `columns` drawings. */
COKE_API int coke_dataset_preview(struct coke_dataset *d,
                                  const struct coke_view_options *options, int rows,
                                  int columns, const char *path, int force);

struct coke_loader;

/* A batch is valid until the next one is asked for. */
struct coke_batch {
    int64_t epoch, step, steps;
    int64_t n;            /* images; those that could not be read are left out, so even 0 */
    int64_t first, total; /* place of this rank's part in the batch of all ranks */
    int32_t views, channels;
    int32_t width[COKE_MAX_VIEWS], height[COKE_MAX_VIEWS];
    const float *x[COKE_MAX_VIEWS]; /* [n][channels][height][width], normalised */
    const int64_t *index;           /* [n] position in the data set */
    const int32_t *label;           /* [n] -1 = unknown */
};

/* The options beside those of the views. */
COKE_API const struct coke_option_table *coke_loader_option_table(void);
COKE_API struct coke_loader_options coke_loader_options_default(void);
/* Free the loader before its data. It starts at step 0 of epoch 0. */
COKE_API int coke_loader_new(struct coke_loader **out, struct coke_dataset *data,
                             const struct coke_loader_options *options);
COKE_API void coke_loader_free(struct coke_loader *l);
COKE_API int64_t coke_loader_steps(const struct coke_loader *l); /* batches an epoch */
COKE_API int coke_loader_seek(struct coke_loader *l, int64_t epoch, int64_t step);
/* The next batch; after the last one of an epoch the first of the next. */
COKE_API int coke_loader_next(struct coke_loader *l, struct coke_batch *out);
COKE_API double coke_loader_waited(const struct coke_loader *l); /* seconds spent in _next */
COKE_API int64_t coke_loader_bytes(const struct coke_loader *l); /* memory in use */
/* Images that could not be read so far. */
COKE_API int64_t coke_loader_bad_count(const struct coke_loader *l);
COKE_API int64_t coke_loader_bad(const struct coke_loader *l, int64_t i, const char **sentence);

/* ---- how well clusters agree with known classes ---- */

struct coke_agreement {
    int64_t n;          /* samples with both a class and a cluster; 0: the others are NaN */
    double accuracy;    /* best one-to-one matching of clusters and classes */
    double many_to_one; /* every cluster stands for its most frequent class */
    double nmi, ari;
};
/* truth [n] in 0..classes-1, labels [n] in 0..clusters-1; negative = not known. */
COKE_API int coke_agreement(const int32_t *truth, const int32_t *labels, int64_t n,
                            int32_t classes, int32_t clusters, struct coke_agreement *out);

/* ---- training: images in, an encoder and its clusters out ---- */

enum coke_coupling { COKE_LAST, COKE_CURRENT };
enum coke_eta_mode { COKE_ETA_SCALED, COKE_ETA_SHARED };

COKE_API const struct coke_option_table *coke_train_option_table(void);
COKE_API struct coke_train_options coke_train_options_default(void);
/* Names of the presets, one after the other, NULL after the last. */
COKE_API const char *coke_train_preset_name(int i);
COKE_API const char *coke_train_preset_about(int i);
/* Sets the options that the preset names; the others stay. */
COKE_API int coke_train_preset(struct coke_train_options *options, const char *name);

/* What a training came to, or stands at. */
struct coke_train_summary {
    int64_t epochs, images;         /* done so far */
    double loss;                    /* of the last epoch */
    double seconds, waited, saving; /* in this process: all, for data, for checkpoints */
    int32_t resumed;
    int32_t monitored; /* the next are known */
    double knn20, knn200;
    int32_t matched_head; /* -1 = no head has as many clusters as there are classes */
    double accuracy, nmi, ari;
};

struct coke_train_control {
    int32_t fresh;         /* do not continue what is in the run directory */
    int32_t resume_anyway; /* continue although versions, threads or options differ */
    int32_t force;         /* with fresh: overwrite an earlier run */
};

/* Trains into the folder `run`, which is made if there is none, or goes on where its last
 * checkpoint stands. callbacks->progress: 0 = go on, COKE_SAVE = write a checkpoint and go on,
 * anything else = finish the step, write a checkpoint and return COKE_ESTOPPED. */
enum { COKE_SAVE = 2 };
COKE_API int coke_train_run(struct coke_dataset *data, const struct coke_train_options *options,
                            const char *run, const struct coke_train_control *control,
                            const struct coke_callbacks *callbacks,
                            struct coke_train_summary *out);

/* ---- use: what a trained encoder says of images ---- */

COKE_API const struct coke_option_table *coke_use_option_table(void);
COKE_API struct coke_use_options coke_use_options_default(void);

struct coke_run;

/* Is path the folder of a training, a checkpoint or an encoder? */
COKE_API int coke_run_is(const char *path);
/* path: the folder of a training, also of one that still runs; a checkpoint; an encoder; or the
 * weights of a torchvision ResNet-18/34/50 (its fc.* are left alone; stem, width and channels
 * follow from the tensors). safetensors, weights also .pth. A tensor that is missing,
 * unexpected or of another shape is an error that names it. */
COKE_API int coke_run_open(struct coke_run **out, const char *path,
                           const struct coke_use_options *options);
COKE_API void coke_run_free(struct coke_run *r);
COKE_API const char *coke_run_weights(const struct coke_run *r); /* the file that was read */
COKE_API int64_t coke_run_epoch(const struct coke_run *r);    /* epochs done; -1 = not known */
COKE_API int64_t coke_run_channels(const struct coke_run *r); /* of the images it takes */
/* Side of what it sees of an image of d, in pixels; 0: it cannot use them. */
COKE_API int64_t coke_run_image_size(const struct coke_run *r, struct coke_dataset *d);
COKE_API int coke_run_heads(const struct coke_run *r);
COKE_API int64_t coke_run_k(const struct coke_run *r, int head); /* its clusters */
/* The first head with as many clusters as there are classes; -1 = none. */
COKE_API int coke_run_match(const struct coke_run *r, int32_t classes);

/* A .npy of f32 [images][dim], a row for each image in their order, written as it is computed.
 * output: COKE_FEATURES or COKE_PROJ. Images that are skipped are rows of zeros. */
struct coke_embedded {
    int64_t images, dim, bad;
};
COKE_API int coke_run_embed(struct coke_run *r, struct coke_dataset *d, enum coke_output output,
                            const char *path, int force, const struct coke_callbacks *callbacks,
                            struct coke_embedded *out);

/* The cluster of each image in one head: cluster [n], the cosine to its center [n], and margin
 * [n], the confidence: that cosine minus the one to the second nearest center. Skipped images:
 * -1, 0, 0. similarity and margin may be NULL. */
COKE_API int coke_run_assign(struct coke_run *r, struct coke_dataset *d, int head,
                             const struct coke_callbacks *callbacks, int32_t *cluster,
                             float *similarity, float *margin);

/* Writes a file atomically; one that exists needs force. */
COKE_API int coke_file_write(const char *path, const void *bytes, size_t size, int force);

/* Sorts images into dir/cluster-0, dir/cluster-1, ...: dir must not exist or be empty. Files
 * keep their names (a second one of a name gets its number in the data set added) and bytes;
 * pixels that are in no file of their own become PNG. Links are for files only. Images of
 * cluster -1 are left out. cluster NULL: only says whether it could be done. */
enum coke_sort_how { COKE_SORT_COPY, COKE_SORT_LINK };
struct coke_sorted {
    int64_t images, folders, renamed, left_out;
};
COKE_API int coke_dataset_sort(struct coke_dataset *d, const int32_t *cluster, int32_t clusters,
                               const char *dir, enum coke_sort_how how,
                               const struct coke_callbacks *callbacks, struct coke_sorted *out);

/* ---- judge: how good are an encoder's features and clusters? ---- */

/* Does the data set have a test split beside the train split? */
COKE_API int coke_dataset_has_split(const struct coke_dataset *d);

/* Classes go together by their names. */
struct coke_eval_input {
    struct coke_run *run;
    struct coke_dataset *train, *test;
    const struct coke_callbacks *callbacks; /* NULL = none */
};

#define COKE_EVAL_ROWS 16

COKE_API const struct coke_option_table *coke_knn_option_table(void);
COKE_API struct coke_knn_options coke_knn_options_default(void);

struct coke_eval_knn {
    int64_t bank, asked, bad;
    int32_t classes, leave_one_out, n;
    int64_t k[COKE_EVAL_ROWS];
    double accuracy[COKE_EVAL_ROWS];
};
/* Votes of the train images on the test images; without test images every train image is asked
 * and does not vote for itself. */
COKE_API int coke_eval_knn(const struct coke_eval_input *in,
                           const struct coke_knn_options *options, struct coke_eval_knn *out);

/* A learning rate and weight decay, and what came of it: means over trials and the deviations
 * (of the sample) between them, 0 for one trial. */
struct coke_eval_row {
    double rate, weight_decay;
    double loss, top1, top5; /* of the test images */
    double loss_deviation, top1_deviation, top5_deviation;
};
struct coke_eval_table {
    int64_t train, test, bad; /* images with a class, and those that could not be read */
    int32_t classes;
    int64_t epochs, batch, trials, seed;
    int32_t n, best; /* rows, and the one with the highest top1 */
    struct coke_eval_row row[COKE_EVAL_ROWS];
};

enum coke_linear_protocol { COKE_LINEAR_PAPER, COKE_LINEAR_ABLATION };

COKE_API const struct coke_option_table *coke_linear_option_table(void);
COKE_API struct coke_linear_options coke_linear_options_default(void);
/* A linear classifier on the features of the backbone, which stays as it is. */
COKE_API int coke_eval_linear(const struct coke_eval_input *in,
                              const struct coke_linear_options *options,
                              struct coke_eval_table *out);

COKE_API const struct coke_option_table *coke_finetune_option_table(void);
COKE_API struct coke_finetune_options coke_finetune_options_default(void);
/* The whole network as a classifier; the last layer learns 10 times as fast. */
COKE_API int coke_eval_finetune(const struct coke_eval_input *in,
                                const struct coke_finetune_options *options,
                                struct coke_eval_table *out);

struct coke_eval_head {
    int64_t k;
    double accuracy;    /* best one-to-one matching of clusters and classes */
    double many_to_one; /* every cluster stands for its most frequent class */
    double nmi, ari;
};
struct coke_eval_cluster {
    int64_t images, bad;
    int32_t classes, heads;
    int32_t matched; /* head with as many clusters as classes; -1 = none */
    struct coke_eval_head head[COKE_MAX_HEADS];
};
/* Clusters of the test images by the heads' centers, against their classes. */
COKE_API int coke_eval_cluster(const struct coke_eval_input *in, struct coke_eval_cluster *out);

/* ---- report: a run or a clustering as one page to look at ---- */

COKE_API const struct coke_option_table *coke_report_option_table(void);
COKE_API struct coke_report_options coke_report_options_default(void);

struct coke_report_input {
    const char *source;               /* the folder of a run, or of coke_cluster_write */
    const char *images;               /* where they are; NULL = as the run says, or none */
    struct coke_dataset_options data; /* of images, for a clustering; a run knows its own */
    const char *const *vectors;       /* [nvectors] files of the rows that were clustered */
    int nvectors;
};

struct coke_report_summary {
    int64_t page_bytes, picture_bytes; /* of the page, and of pictures in or beside it */
    int64_t pictures;
    int32_t picture_side; /* pixels; 0 = none */
    int32_t heads;
    int64_t clusters; /* of all heads */
};

/* Writes an HTML page that needs nothing else; images_dir (or NULL): pictures go into a folder
 * of this name beside it. callbacks may be NULL. */
COKE_API int coke_report_write(const struct coke_report_input *input,
                               const struct coke_report_options *options, const char *page,
                               const char *images_dir, int force,
                               const struct coke_callbacks *callbacks,
                               struct coke_report_summary *out);

/* ---- exchange: encoders to and from other programs ---- */

enum coke_export_format {
    COKE_EXPORT_SAFETENSORS,
    COKE_EXPORT_PTH,       /* as torch.save writes it */
    COKE_EXPORT_ONNX,      /* opset 13; any batch and image size */
    COKE_EXPORT_DETECTRON2 /* a .pth with its names */
};
enum coke_part {
    COKE_PART_BACKBONE,
    COKE_PART_ALL /* and the projection and prediction MLPs; of ONNX the projection */
};
enum coke_names {
    COKE_NAMES_TORCHVISION, /* conv1.weight, layer1.0.bn1.bias, ..., fc.*, predictor.* */
    COKE_NAMES_AUTHORS      /* module.encoder.*, as the authors' scripts expect it */
};

struct coke_exchanged {
    struct coke_encoder_options encoder; /* what it is */
    int64_t tensors, numbers;            /* of ONNX 0 */
    char weights[4096];                  /* the file that was read */
    char note[1024];                     /* for the user: what was left out; or "" */
};

/* source: the folder of a training (its final weights, or the last while it runs), a checkpoint
 * or an encoder. path: the file that is written, whole or not at all. */
COKE_API int coke_export(const char *source, const char *path,
                         const struct coke_export_options *options, int force,
                         struct coke_exchanged *out);
/* source: a .pth or .safetensors of torchvision's, MoCo's or the authors' ResNet-18, 34 or 50,
 * whatever their names begin with. Nothing in a .pth is run. path: an encoder that
 * coke_encoder_open reads. */
COKE_API int coke_import(const char *source, const char *path,
                         const struct coke_import_options *options, int force,
                         struct coke_exchanged *out);

/* ---- JSON: results for other programs ---- */

enum coke_json_style {
    COKE_JSON_PRETTY, /* indented, reals with 15 digits */
    COKE_JSON_LINE    /* one document per line, reals with 9 digits */
};

struct coke_json;

/* Writes to a file as it goes, and borrows it until coke_json_close. The result may be NULL
 * (out of memory): the other functions accept that, and coke_json_close reports it, so nothing
 * has to be checked before. One thread at a time. */
COKE_API struct coke_json *coke_json_open(FILE *to, enum coke_json_style style);
/* key: its name in the object, NULL inside an array and at the top. A top-level value after
 * another is the next document. Keys are not checked for duplicates. */
COKE_API void coke_json_begin_object(struct coke_json *j, const char *key);
COKE_API void coke_json_begin_array(struct coke_json *j, const char *key);
COKE_API void coke_json_end(struct coke_json *j); /* the innermost object or array */
COKE_API void coke_json_put_int(struct coke_json *j, const char *key, int64_t value);
COKE_API void coke_json_put_real(struct coke_json *j, const char *key,
                                 double value); /* NaN and infinity = null */
COKE_API void coke_json_put_fixed(struct coke_json *j, const char *key, double value,
                                  int decimals);
COKE_API void coke_json_put_flag(struct coke_json *j, const char *key, int value);
/* Bytes that are not UTF-8 become '?'. */
COKE_API void coke_json_put_text(struct coke_json *j, const char *key, const char *value);
/* Ends what is open, so that the document is whole also after a failure, and frees j; does not
 * flush the file. Returns the first failure of all calls. */
COKE_API int coke_json_close(struct coke_json *j);

/* ---- several processes ---- */

/* Under mpirun or srun: joins the other processes of the job, through the plug-in
 * libcoke-mpi.so that lies beside the library (or where COKE_MPI says). Training and clustering
 * that follow share their work; every process calls them with the same arguments. Started by
 * hand, a process is alone and needs no MPI. Processes that share their cores divide them. */
COKE_API int coke_group_join(void);
COKE_API int coke_group_rank(void); /* 0 .. size - 1 */
COKE_API int coke_group_size(void); /* 1 = alone */
/* With COKE_OK or COKE_ESTOPPED, which all have in common, waits for the others. Any other
 * status ends them all, with the exit code that belongs to it; then it does not return. */
COKE_API int coke_group_leave(int status);

#ifdef __cplusplus
}
#endif

#endif
