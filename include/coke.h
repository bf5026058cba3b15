/* coke.h - libcoke: clusters of guaranteed sizes, and image encoders trained by them.
 *
 * Four levels of use. Each needs only those before it.
 *
 * 1. Cluster an array. One call gives labels; with options every cluster has a minimum and a
 *    maximum size, kept exactly:
 *
 *        coke_cluster_array(x, n, dim, k, NULL, labels, NULL);
 *
 *    or, with options, progress and a certificate of optimality:
 *
 *        coke_options_new(&options, "cluster");
 *        coke_options_set(options, "k", "50");
 *        coke_options_set(options, "ratio", "0.5");
 *        coke_rows_from_array(&rows, x, n, dim);
 *        in.rows = rows;
 *        coke_cluster_run(&c, &in, options, NULL);
 *        coke_cluster_labels(c, 0, labels);
 *
 * 2. Files and models. coke_rows_open reads files of vectors; coke_cluster_write writes a
 *    folder; coke_model_load and coke_model_assign label new rows. coke_kmeans_* is the
 *    algorithm batch by batch, for streams of your own.
 *
 * 3. Encoders and loops. Data sets and loaders of augmented views; ResNets with forward and
 *    backward plans, optimizers and the loss: the parts of a training loop of your own.
 *
 * 4. Training, evaluation, report. coke_train_run makes a run folder; coke_run_* and coke_eval_*
 *    use and evaluate it; coke_report_write makes a page of it; coke_export and coke_import
 *    exchange encoders with other programs. coke_group_* spreads the work over processes.
 *
 * Errors. Functions that can fail return COKE_OK (0) or a negative enum coke_status, and
 * coke_last_error() then has one sentence. A pointer that may be NULL is documented so; any other
 * NULL is COKE_EUSAGE, in functions without a status 0, NULL or "". Constructors set *out to
 * NULL unless they succeed. *_free accepts NULL. Unknown indices (a head, a class) give NULL, 0
 * or -1.
 *
 * Ownership. What a constructor makes is the caller's, to be freed with the matching _free.
 * Pointers to const are borrowed for the call unless documented otherwise. A returned pointer
 * belongs to the object that returned it and lives as long, unless documented otherwise.
 *
 * Files. Writers produce the whole file or nothing, and never replace a file without `force`.
 *
 * Threads and global state. The library keeps, per process: the number of threads
 * (coke_set_threads), the instruction set (chosen once; the environment variable COKE_ISA), the
 * tuning table (coke_tune) and the group (coke_group_*). Set these from one thread before other
 * calls. Everything else belongs to objects: different objects may be used from different threads
 * at once, one object from one thread at a time. Functions that take an object by pointer to
 * const may run at the same time on the same object. The sentence of coke_last_error() is per
 * thread. Work is done by an OpenMP team of coke_threads() threads, which spin while they wait
 * unless OMP_WAIT_POLICY=passive is in the environment when the program starts: set it where the
 * machine is shared. Loaders have threads of their own. Callbacks run on the calling thread. The
 * library neither prints, nor ends the process, nor handles signals (coke_catch_sigbus does);
 * only in a group coke_group_leave may end it, and the loss of another process (see
 * coke_group_join). A child of fork() may use the library; loaders made before the fork fail in
 * it.
 *
 * Compatibility. Before 1.0 a new minor version may change anything. From 1.0 on, programs that
 * were compiled with an older coke.h of the same major version run with a newer library:
 * functions and the numbers of enums stay; options are opaque and set by name, so new ones need
 * no new struct; structs that begin with `size` may grow at their end (coke/types.h has the
 * rules). COKE_VERSION_NUMBER is the version of this header, coke_version_number() that of the
 * library. FILE * and the calling convention are those of the C library on Linux.
 *
 * Shapes are in brackets: x [n][dim] is row-major, without padding. docs/algorithm.md has the
 * equations, docs/networks.md the encoders. */
#ifndef COKE_H
#define COKE_H

#include "coke/types.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COKE_API __attribute__((visibility("default")))
/* A function whose status must be checked. */
#define COKE_CHECKED __attribute__((visibility("default"), warn_unused_result))

/* ==== the library and its process ==== */

/* About this thread's last failure, without a newline; "" if there was none. Valid until the
 * thread's next failure. */
COKE_API const char *coke_last_error(void);
/* Copies text to out [size] for a terminal: control characters, characters that change the
 * direction of writing, and bytes that are not UTF-8 become '?', as in all sentences of the
 * library. For names of files and classes, which others may have chosen. */
COKE_API void coke_text_clean(const char *text, char *out, size_t size);
/* If another process shortens a large file of rows that is being read, the system sends SIGBUS,
 * which ends the process. After this call the function that reads fails with COKE_EIO instead;
 * SIGBUS elsewhere goes to the handler that was installed before. Any thread, once. */
COKE_CHECKED int coke_catch_sigbus(void);
COKE_API const char *coke_version(void); /* "0.1.0" */
COKE_API int coke_version_number(void);  /* as COKE_VERSION_NUMBER */
/* Instruction set in use: ref, avx2, avx512, vnni, amx; amx-emulated for tests. */
COKE_API const char *coke_isa(void);
/* Why the matrix unit (AMX) is not in use, as part of a sentence; NULL if it is. */
COKE_API const char *coke_amx_missing(void);
/* 0 = all cores that the process may use, by its affinity mask and the CPU quota of its cgroup
 * (container), or OMP_NUM_THREADS; at most COKE_MAX_THREADS. */
COKE_API int coke_set_threads(int n);
COKE_API int coke_threads(void);

/* ==== options ====
 *
 * Functions take their options as one opaque type: values of a kind ("cluster", "train", ...),
 * set and read by name. NULL stands for the defaults wherever options are taken. A kind that is
 * composed of others may be used in their place: coke_dataset_open() accepts options of kind
 * "train". Values are validated when they are set; a value that is refused changes nothing. An
 * object may be read by several threads at once, but not while one of them sets a value.
 * coke_options_describe lists the names of any kind, `coke help COMMAND` those of a command. */

/* Kinds: kmeans, cluster, rows, encoder, plan, optimizer, loss, dataset, pack, view, loader,
 * train, use, knn, linear, finetune, report, export, import. Holds the defaults. */
COKE_CHECKED int coke_options_new(struct coke_options **out, const char *kind);
/* Options of the caller's own, described by rows [n], whose strings are copied. */
COKE_CHECKED int coke_options_define(struct coke_options **out,
                                     const struct coke_option_info *rows, int n);
COKE_API void coke_options_free(struct coke_options *o);
COKE_CHECKED int coke_options_copy(struct coke_options **out, const struct coke_options *o);
/* "" if made by coke_options_define. */
COKE_API const char *coke_options_kind(const struct coke_options *o);

/* An unknown name is an error that names the nearest one. */
COKE_CHECKED int coke_options_set(struct coke_options *o, const char *name, const char *text);
COKE_CHECKED int coke_options_set_int(struct coke_options *o, const char *name, int64_t value);
COKE_CHECKED int coke_options_set_float(struct coke_options *o, const char *name, double value);
/* The value as text, as coke_options_set takes it; COKE_EUSAGE if it needs more than `size`
 * bytes with its 0. */
COKE_CHECKED int coke_options_get(const struct coke_options *o, const char *name, char *text,
                                  size_t size);
COKE_CHECKED int coke_options_get_int(const struct coke_options *o, const char *name,
                                      int64_t *value);
COKE_CHECKED int coke_options_get_float(const struct coke_options *o, const char *name,
                                        double *value);

/* A JSON object of names and values: all of them are set, or none. */
COKE_CHECKED int coke_options_load_json(struct coke_options *o, const char *path);
COKE_CHECKED int coke_options_print_json(const struct coke_options *o, FILE *to);

COKE_API int coke_options_count(const struct coke_options *o);
/* Option i, 0 .. count - 1; its strings belong to o. */
COKE_CHECKED int coke_options_describe(const struct coke_options *o, int i,
                                       struct coke_option_info *out);
/* The word of words [n] that is nearest to `word`, or NULL if none is near. */
COKE_API const char *coke_nearest(const char *word, const char *const *words, int n);

/* ==== level 1: cluster an array ==== */

/* Clusters x [n][dim] into k clusters. Rows are normalised on the fly: similarity is the cosine.
 * options: kind cluster, whose k is ignored; the default keeps sizes of at least 0.4 n/k. labels
 * [n] receives the labels, centers [k][dim], if not NULL, the unit centers. */
COKE_CHECKED int coke_cluster_array(const float *x, int64_t n, int32_t dim, int64_t k,
                                    const struct coke_options *options, int32_t *labels,
                                    float *centers);

/* Rows from memory. x [n][dim] is borrowed until coke_rows_free. */
COKE_CHECKED int coke_rows_from_array(struct coke_rows **out, const float *x, int64_t n,
                                      int32_t dim);
/* The same for other types of elements and any layout. The array is borrowed. */
COKE_CHECKED int coke_rows_from_memory(struct coke_rows **out, const struct coke_memory *m);
COKE_API void coke_rows_free(struct coke_rows *rows);
COKE_API int64_t coke_rows_count(const struct coke_rows *rows);
COKE_API int32_t coke_rows_dim(const struct coke_rows *rows);
/* Copies rows index [n] to out [n][dim]. A stream that is read once has no such rows. */
COKE_CHECKED int coke_rows_read(struct coke_rows *rows, const int64_t *index, int64_t n,
                                float *out);
COKE_API const char *coke_rows_note(const struct coke_rows *rows); /* for the user, or "" */

/* The whole job: epochs over the rows, then a repair that makes the sizes exact. options: kind
 * cluster; k is required. The rows and the arrays of the input are borrowed for the call;
 * callbacks may be NULL. In a group, every process calls it with the same arguments and gets the
 * same result. */
COKE_CHECKED int coke_cluster_run(struct coke_cluster **out,
                                  const struct coke_cluster_input *input,
                                  const struct coke_options *options,
                                  const struct coke_callbacks *callbacks);
COKE_API void coke_cluster_free(struct coke_cluster *c);
/* One head for each k; h below is 0 .. heads - 1. */
COKE_API int coke_cluster_heads(const struct coke_cluster *c);
COKE_API const struct coke_head_summary *coke_cluster_summary(const struct coke_cluster *c,
                                                              int h);
COKE_API const struct coke_timing *coke_cluster_timing(const struct coke_cluster *c);
/* Copies the labels [n] of head h; -1 = skipped. */
COKE_CHECKED int coke_cluster_labels(const struct coke_cluster *c, int h, int32_t *labels);
/* The unit centers [k][dim] of head h, owned by the result. */
COKE_API const float *coke_cluster_centers(const struct coke_cluster *c, int h);

/* ==== level 2: files and models ==== */

/* ---- rows and numbers from files ---- */

/* .npy, .npz, .fvecs, .bvecs, .fbin, .f16bin, .u8bin, .i8bin, .safetensors, and .h5 where the
 * plug-in for HDF5 is; headerless files with the option raw. "x.npz:train" is one array of a file.
 * Several files are one stream, and so are folders and patterns ("shards/part-*.npy"), in the
 * order of the names' bytes; "-" = .npy on standard input. options: kind rows. Large files stay mapped until coke_rows_free, and
 * small ones are read into memory: do not change them. */
COKE_CHECKED int coke_rows_open(struct coke_rows **out, const char *const *paths, int npaths,
                                const struct coke_options *options);

/* One number per line (text), or a one-dimensional .npy of integers or floats. *out [n] is freed
 * with coke_numbers_free. */
COKE_CHECKED int coke_numbers_load(const char *path, double **out, int64_t *n);
COKE_API void coke_numbers_free(double *numbers);
/* The same for non-negative integers, such as sizes of clusters. */
COKE_CHECKED int coke_counts_load(const char *path, int64_t **out, int64_t *n);
COKE_API void coke_counts_free(int64_t *counts);

/* ---- results to files ---- */

/* Writes labels.npy, centers.npy, model.safetensors (several heads: labels-h0-k10.npy, ...) and
 * summary.json into dir, which is created if it does not exist: all of them or none. In a group
 * only the first process writes. */
COKE_CHECKED int coke_cluster_write(const struct coke_cluster *c, const char *dir, int force);

COKE_CHECKED int coke_npy_write_i32(const char *path, const int32_t *x, int64_t n, int force);
COKE_CHECKED int coke_npy_write_i64(const char *path, const int64_t *x, int64_t n, int force);
COKE_CHECKED int coke_npy_write_f32(const char *path, const float *x, int64_t rows,
                                    int64_t cols, int force);
COKE_CHECKED int coke_file_write(const char *path, const void *bytes, size_t size, int force);
/* What the folder of a training, a model, a safetensors file or a file of rows holds, as text or
 * JSON. */
COKE_CHECKED int coke_info_print(const char *path, int json, FILE *to);
/* The same of a file of rows without a header: options of kind rows with raw. */
COKE_CHECKED int coke_info_print_rows(const char *path, const struct coke_options *options,
                                      int json, FILE *to);

/* ---- models: label new rows ---- */

/* path: the model.safetensors of coke_cluster_write, or its folder. */
COKE_CHECKED int coke_model_load(struct coke_model **out, const char *path);
/* The bytes of the model.safetensors that coke_cluster_write would write for head h, without a
 * file; *bytes is freed with coke_bytes_free. coke_model_unpack makes a model of them. */
COKE_CHECKED int coke_cluster_pack(const struct coke_cluster *c, int h, void **bytes,
                                   size_t *size);
COKE_CHECKED int coke_model_unpack(struct coke_model **out, const void *bytes, size_t size);
COKE_API void coke_bytes_free(void *bytes);
COKE_API void coke_model_free(struct coke_model *m);
COKE_API int64_t coke_model_k(const struct coke_model *m);
COKE_API int32_t coke_model_dim(const struct coke_model *m);
/* Writes the file that coke_model_load reads. */
COKE_CHECKED int coke_model_save(const struct coke_model *m, const char *path, int force);
/* Copies the unit centers to out [k][dim]. */
COKE_CHECKED int coke_model_centers(const struct coke_model *m, float *out);
/* summary, if not NULL, is filled. */
COKE_CHECKED int coke_model_assign(const struct coke_model *m,
                                   const struct coke_assign_job *job,
                                   struct coke_head_summary *summary);

/* ---- k-means, batch by batch ---- */

/* Divides rows x [n][dim] by their lengths, in place. A row that is zero or not finite is an error
 * that names it; others may be normalized by then. */
COKE_CHECKED int coke_normalize(float *x, int64_t n, int32_t dim);
/* centers [k][dim], out: rows that k-means++ chooses from a sample, by cosine with unit length; for
 * coke_kmeans_new or coke_cluster_input. */
COKE_CHECKED int coke_kmeans_init_centers(struct coke_rows *rows, enum coke_metric metric,
                                          int64_t k, uint64_t seed, float *centers);
/* options: kind kmeans; n, k and dim are required. Without a step (eta) the first batch chooses
 * one, as coke_cluster_run does. centers [k][dim]: the initial ones, copied
 * unchanged. min_sizes, max_sizes [k]: bounds of each cluster instead of the options ratio and
 * max-ratio, or NULL. */
COKE_CHECKED int coke_kmeans_new(struct coke_kmeans **out, const struct coke_options *options,
                                 const float *centers, const int64_t *min_sizes,
                                 const int64_t *max_sizes);
COKE_API void coke_kmeans_free(struct coke_kmeans *km);

/* One batch: assigns x [n][dim], moves duals and centers, stores labels under ids [n] (NULL:
 * not stored). labels [n] receives the assignment. Unlike coke_cluster_run, this does not
 * normalise x: pass unit vectors. */
COKE_CHECKED int coke_kmeans_step(struct coke_kmeans *km, const float *x, const int64_t *ids,
                                  int64_t n, int32_t *labels);
COKE_CHECKED int coke_kmeans_epoch_end(struct coke_kmeans *km);

/* labels [n] = argmax_k x.c_k with the centers of the last epoch, without duals; scores [n] may
 * be NULL. Packs all k centers on every call: pass many rows at once. */
COKE_CHECKED int coke_kmeans_predict(const struct coke_kmeans *km, const float *x, int64_t n,
                                     int32_t *labels, float *scores);

/* Copies an array into out, which has room for `room` elements. */
COKE_CHECKED int coke_kmeans_copy(const struct coke_kmeans *km, enum coke_array what, void *out,
                                  int64_t room);
/* Dense second-stage targets [n][k] of rows ids [n]. */
COKE_CHECKED int coke_kmeans_soft_targets(const struct coke_kmeans *km, const int64_t *ids,
                                          int64_t n, float *targets);

/* A model of the clustering as it is now: centers, averaged duals, bounds. job: NULL, or rows,
 * normalized on the fly, that get labels with the model; with job->constrained the best labels
 * with all sizes kept exactly, whose prices and sizes the model then has. summary may be NULL. */
COKE_CHECKED int coke_kmeans_to_model(struct coke_model **out, const struct coke_kmeans *km,
                                      const struct coke_assign_job *job,
                                      struct coke_head_summary *summary);

/* The whole state, at any batch: a loaded clustering continues with the same bits. */
COKE_CHECKED int coke_kmeans_save(const struct coke_kmeans *km, const char *path, int force);
COKE_CHECKED int coke_kmeans_load(struct coke_kmeans **out, const char *path);
/* The same bytes without a file; *bytes is freed with coke_bytes_free. */
COKE_CHECKED int coke_kmeans_pack(const struct coke_kmeans *km, void **bytes, size_t *size);
COKE_CHECKED int coke_kmeans_unpack(struct coke_kmeans **out, const void *bytes, size_t size);

/* Several clusterings of one stream. Takes ownership of the heads [n]; after a failure they are
 * still the caller's. */
COKE_CHECKED int coke_multihead_new(struct coke_multihead **out,
                                    struct coke_kmeans *const *heads, int n);
COKE_API void coke_multihead_free(struct coke_multihead *mh);
/* Head h, borrowed; NULL if there is none. */
COKE_API struct coke_kmeans *coke_multihead_head(struct coke_multihead *mh, int h);
/* coke_kmeans_step for all heads; labels [heads][n]. */
COKE_CHECKED int coke_multihead_step(struct coke_multihead *mh, const float *x,
                                     const int64_t *ids, int64_t n, int32_t *labels);
COKE_CHECKED int coke_multihead_epoch_end(struct coke_multihead *mh);

/* ---- agreement with known classes, and built-in data ---- */

/* truth [n] in 0..classes-1, labels [n] in 0..clusters-1; negative = not known. */
COKE_CHECKED int coke_agreement(const int32_t *truth, const int32_t *labels, int64_t n,
                                int32_t classes, int32_t clusters,
                                struct coke_agreement_scores *out);

/* Unit vectors x [n][dim] around `clusters` directions in groups, with sizes of a Zipf law:
 * heavy-tailed, like real embeddings. */
COKE_CHECKED int coke_synthetic_fill(float *x, int64_t n, int32_t dim, int32_t clusters,
                                     uint64_t seed);

/* ---- JSON: results for other programs ---- */

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

/* ==== level 3: encoders and loops ==== */

/* ---- data sets ---- */

/* A folder of images, a list, tar shards "x-{000..146}.tar", CIFAR or IDX files, a .npy of u8
 * images, "synthetic:". docs/data.md describes each. options: kind dataset. A data set must
 * outlive its loaders. */
COKE_CHECKED int coke_dataset_open(struct coke_dataset **out, const char *source,
                                   const struct coke_options *options);
/* The images that the rows of a .npy file of coke_run_embed() are of, in that order. COKE_EUSAGE
 * if x-images.json is missing beside x.npy, or the data set has changed. */
COKE_CHECKED int coke_dataset_open_embedded(struct coke_dataset **out, const char *rows);
COKE_API void coke_dataset_free(struct coke_dataset *d);
COKE_API int64_t
coke_dataset_count(const struct coke_dataset *d); /* -1: known after one read */
COKE_API int32_t coke_dataset_channels(const struct coke_dataset *d);
COKE_API int32_t coke_dataset_classes(const struct coke_dataset *d); /* 0 = no labels */
COKE_API const char *coke_dataset_class_name(const struct coke_dataset *d, int32_t c);
COKE_API int32_t coke_dataset_label(const struct coke_dataset *d, int64_t i); /* -1 = unknown */
/* The name of image i, cut to size - 1 bytes; "" if there is none. */
COKE_API void coke_dataset_name(const struct coke_dataset *d, int64_t i, char *text,
                                size_t size);
COKE_API const char *coke_dataset_note(const struct coke_dataset *d); /* for the user, or "" */
/* Does it have a test split beside the train split? */
COKE_API int coke_dataset_has_split(const struct coke_dataset *d);
/* Kind, images, sizes, classes, as text or JSON. Looks into some of the files. */
COKE_CHECKED int coke_dataset_print(struct coke_dataset *d, int json, FILE *to);

/* Decodes every image; callbacks->bad_image gets each that cannot be decoded, in order. */
COKE_CHECKED int coke_dataset_verify(struct coke_dataset *d,
                                     const struct coke_callbacks *callbacks,
                                     struct coke_verify_summary *out);

/* Writes PREFIX-000000.tar and so on: WebDataset shards that coke_dataset_open reads. Unreadable
 * images are skipped and passed to callbacks->bad_image. options: kind pack. */
COKE_CHECKED int coke_dataset_pack(struct coke_dataset *d, const char *prefix,
                                   const struct coke_options *options, int force,
                                   const struct coke_callbacks *callbacks,
                                   struct coke_pack_summary *out);

/* A PNG: per row an image and `columns` random draws of the views that training would use.
 * options: kind view. */
COKE_CHECKED int coke_dataset_preview(struct coke_dataset *d,
                                      const struct coke_options *options, int rows, int columns,
                                      const char *path, int force);

/* A JPEG of images image[0..n-1] (-1 = none), n at most 256, `columns` in a row: the center square
 * of each at `side` pixels; unreadable ones are gray. coke_bytes_free() frees *bytes. */
COKE_CHECKED int coke_dataset_sheet(struct coke_dataset *d, const int64_t *image, int n,
                                    int columns, int side, void **bytes, size_t *size);

/* Sorts images into dir/cluster-0, dir/cluster-1, ...: dir must not exist or be empty. Files
 * keep their names (a second one of a name gets its number in the data set added) and bytes;
 * pixels that are in no file of their own become PNG. Links are for files only. Images of
 * cluster -1 are skipped. cluster [n] NULL: only checks whether dir can be used; out may then be
 * NULL. */
COKE_CHECKED int coke_dataset_sort(struct coke_dataset *d, const int32_t *cluster,
                                   int32_t clusters, const char *dir, enum coke_sort how,
                                   const struct coke_callbacks *callbacks,
                                   struct coke_sort_summary *out);

/* ---- loaders: batches of augmented views ---- */

/* options: kind loader. Borrows the data set: free the loader first. It starts at step 0 of
 * epoch 0 and has threads of its own. */
COKE_CHECKED int coke_loader_new(struct coke_loader **out, struct coke_dataset *data,
                                 const struct coke_options *options);
COKE_API void coke_loader_free(struct coke_loader *l);
COKE_API int64_t coke_loader_steps(const struct coke_loader *l); /* batches per epoch */
/* Continues with step `step`, 0 .. steps - 1, of any epoch from 0 on; the batches are those of a
 * loader that went there step by step. Discards the batches prepared so far and restarts the
 * loader's threads. The arrays of the last batch become invalid. */
COKE_CHECKED int coke_loader_seek(struct coke_loader *l, int64_t epoch, int64_t step);
/* The next batch; after the last one of an epoch the first of the next. Its arrays are the
 * loader's and valid until the next call. */
COKE_CHECKED int coke_loader_next(struct coke_loader *l, struct coke_batch *out);
COKE_API double coke_loader_waited(const struct coke_loader *l); /* seconds spent in _next */
COKE_API int64_t coke_loader_bytes(const struct coke_loader *l); /* memory in use */
/* Unreadable images so far. _bad: the position of the i-th in the data set, -1 if there is none;
 * *sentence, if not NULL, says why, and is the loader's until its next batch. */
COKE_API int64_t coke_loader_bad_count(const struct coke_loader *l);
COKE_API int64_t coke_loader_bad(const struct coke_loader *l, int64_t i, const char **sentence);

/* ---- encoders: images to vectors ----
 *
 * An encoder is a ResNet with torchvision's names (conv1.weight, layer1.0.bn1.running_mean,
 * ...), a projector (fc.*) and a predictor (predictor.*). A plan is an encoder compiled for one
 * batch size and image size; plans of one encoder share its weights. A training step:
 *
 *     coke_encoder_zero_grad(e);
 *     coke_plan_forward(plan, images);
 *     ... gradients of the loss with respect to coke_plan_output(plan, COKE_OUTPUT_PROJ, &dim)
 *     coke_plan_backward(plan, &gradients);
 *     coke_optimizer_step(optimizer, rate);
 */

/* options: kind encoder. Plans and optimizers borrow the encoder: free them first. */
COKE_CHECKED int coke_encoder_new(struct coke_encoder **out,
                                  const struct coke_options *options);
COKE_API void coke_encoder_free(struct coke_encoder *e);
/* A copy of its options, kind encoder; the caller's. */
COKE_CHECKED int coke_encoder_options(const struct coke_encoder *e, struct coke_options **out);
COKE_API int64_t coke_encoder_size(const struct coke_encoder *e); /* numbers learned */

/* An encoder as it was saved, weights and options, or the one in a checkpoint. safetensors. */
COKE_CHECKED int coke_encoder_open(struct coke_encoder **out, const char *path);
COKE_CHECKED int coke_encoder_save(const struct coke_encoder *e, const char *path, int force);
/* Weights from any safetensors file, all or none: a tensor that is missing, unexpected or of
 * another shape is an error that names it. Names that begin with `ignore` (NULL = none), in the
 * file or in the encoder, are ignored: "fc." takes the backbone of a classifier. */
COKE_CHECKED int coke_encoder_load_weights(struct coke_encoder *e, const char *path,
                                           const char *ignore);
/* One parameter or running statistic by name: its numbers in PyTorch's order, owned by the
 * encoder; NULL if there is none. *size, if size is not NULL, receives how many. After writing
 * to them call coke_encoder_touch. */
COKE_API float *coke_encoder_tensor(struct coke_encoder *e, const char *name, int64_t *size);
COKE_API const float *coke_encoder_gradient(const struct coke_encoder *e, const char *name,
                                            int64_t *size);
COKE_API void coke_encoder_touch(struct coke_encoder *e);
/* Sets all gradients to 0. Before the first backward pass of a step: backward passes add. */
COKE_API void coke_encoder_zero_grad(struct coke_encoder *e);

/* options: kind plan; batch, height and width are required. reduce: NULL, or a sum of the
 * statistics of batch norm over the processes of a group; its arg must outlive the plan. */
COKE_CHECKED int coke_plan_new(struct coke_plan **out, struct coke_encoder *e,
                               const struct coke_options *options,
                               const struct coke_reduce *reduce);
COKE_API void coke_plan_free(struct coke_plan *p);
/* images [batch][channels][height][width] */
COKE_CHECKED int coke_plan_forward(struct coke_plan *p, const float *images);
/* [batch][dim], the plan's, until its next forward pass; NULL if it was not requested. *dim, if
 * dim is not NULL, receives the dimension. */
COKE_API const float *coke_plan_output(const struct coke_plan *p, enum coke_output which,
                                       int32_t *dim);
/* Adds to the gradients of the weights (coke_encoder_zero_grad clears them). */
COKE_CHECKED int coke_plan_backward(struct coke_plan *p, const struct coke_gradients *grad);
COKE_API int64_t coke_plan_bytes(const struct coke_plan *p); /* memory in use */

/* options: kind optimizer. Borrows the encoder's weights. */
COKE_CHECKED int coke_optimizer_new(struct coke_optimizer **out, struct coke_encoder *e,
                                    const struct coke_options *options);
COKE_API void coke_optimizer_free(struct coke_optimizer *o);
/* A gradient that is not finite is an error that names the layer and the step, counted from 1;
 * the weights are unchanged then. Changes the encoder's weights on the OpenMP team: nothing else
 * may use the encoder, its plans or o during the call. */
COKE_CHECKED int coke_optimizer_step(struct coke_optimizer *o, double rate);

/* The discrimination loss: cross-entropy of unit vectors to the centers of every head. options:
 * kind loss; k, batch and dim are required. */
COKE_CHECKED int coke_loss_new(struct coke_loss **out, const struct coke_options *options);
COKE_API void coke_loss_free(struct coke_loss *l);
/* Computes out->loss, the mean over the heads, and the gradients that out has arrays for. The
 * arrays of both structs are the caller's, borrowed for the call. One thread at a time per loss;
 * runs on the OpenMP team. After a failure the gradients are undefined. */
COKE_CHECKED int coke_loss_step(struct coke_loss *l, const struct coke_loss_input *in,
                                struct coke_loss_output *out);

/* The learning rate of step `step` of `steps` in epoch `epoch` of `epochs`: 0 in epoch 0, linear
 * over `warmup` epochs (-1: the default), then half a cosine. */
COKE_CHECKED int coke_schedule_rate(double rate, int64_t epochs, int64_t warmup, int64_t steps,
                                    int64_t epoch, int64_t step, double *out);

/* A built-in table selects the algorithm of each convolution. coke_tune measures on this machine
 * instead, for plans that are made afterwards; the file makes the choice repeatable: written
 * atomically if it does not exist, read if it does. In a group it is only read. NULL returns to
 * the built-in table. */
COKE_CHECKED int coke_tune(const char *path);

/* ==== level 4: training, evaluation, report ==== */

/* ---- training: images in, an encoder and its clusters out ---- */

/* Presets by number, NULL after the last. */
COKE_API const char *coke_train_preset_name(int i);
COKE_API const char *coke_train_preset_about(int i);
/* Sets the options (kind train) that the preset names; the others stay. */
COKE_CHECKED int coke_train_preset(struct coke_options *options, const char *name);

/* Trains into the folder `run`, which is created if it does not exist, or resumes from its last
 * checkpoint. options: kind train; k is required. control NULL = all 0. callbacks->progress may
 * answer COKE_ANSWER_SAVE; COKE_ANSWER_STOP finishes the step, writes a checkpoint and returns
 * COKE_ESTOPPED. out may be NULL. */
COKE_CHECKED int coke_train_run(struct coke_dataset *data, const struct coke_options *options,
                                const char *run, const struct coke_train_control *control,
                                const struct coke_callbacks *callbacks,
                                struct coke_train_summary *out);

/* ---- use: a trained encoder on images ---- */

/* Is path the folder of a training, a checkpoint or an encoder? */
COKE_API int coke_run_is(const char *path);
/* path: the folder of a training, also while it is running; a checkpoint; an encoder; or the
 * weights of a torchvision ResNet-18/34/50 (its fc.* are ignored; stem, width and channels
 * follow from the tensors). safetensors, weights also .pth. A tensor that is missing,
 * unexpected or of another shape is an error that names it. options: kind use. */
COKE_CHECKED int coke_run_open(struct coke_run **out, const char *path,
                               const struct coke_options *options);
COKE_API void coke_run_free(struct coke_run *r);
COKE_API const char *coke_run_weights(const struct coke_run *r); /* the file that was read */
COKE_API int64_t coke_run_epoch(const struct coke_run *r);    /* epochs done; -1 = not known */
COKE_API int32_t coke_run_channels(const struct coke_run *r); /* of the images it takes */
/* Side in pixels at which the encoder sees images of d; 0: it cannot use them. */
COKE_API int32_t coke_run_image_size(const struct coke_run *r, struct coke_dataset *d);
COKE_API int coke_run_heads(const struct coke_run *r);
COKE_API int64_t coke_run_k(const struct coke_run *r, int head); /* its clusters */
/* Images that it was trained on; 0 if it has no clusters. */
COKE_API int64_t coke_run_images(const struct coke_run *r);
/* Their clusters in one head when the checkpoint was written: labels [images], -1 = none. */
COKE_CHECKED int coke_run_labels(const struct coke_run *r, int head, int32_t *labels);
/* The first head with as many clusters as there are classes; -1 = none. */
COKE_API int coke_run_match(const struct coke_run *r, int32_t classes);

/* A .npy of f32 [images][dim], one row per image in their order, written as it is computed.
 * output: COKE_OUTPUT_FEATURES or COKE_OUTPUT_PROJ. Rows of skipped images are 0. Beside x.npy
 * x-images.json names the data set, for coke_dataset_open_embedded(). */
COKE_CHECKED int coke_run_embed(struct coke_run *r, struct coke_dataset *d,
                                enum coke_output output, const char *path, int force,
                                const struct coke_callbacks *callbacks,
                                struct coke_embed_summary *out);

/* The cluster of each image in one head: cluster [n], the cosine to its center [n], and margin
 * [n], the confidence: that cosine minus the one to the second nearest center. Skipped images:
 * -1, 0, 0. similarity and margin may be NULL. */
COKE_CHECKED int coke_run_assign(struct coke_run *r, struct coke_dataset *d, int head,
                                 const struct coke_callbacks *callbacks, int32_t *cluster,
                                 float *similarity, float *margin);

/* ---- evaluation: how good are an encoder's features and clusters? ---- */

/* Classifies the test images by a vote of their nearest train images; without test images every
 * train image by the others. options: kind knn. */
COKE_CHECKED int coke_eval_knn(const struct coke_eval_input *in,
                               const struct coke_options *options, struct coke_knn_result *out);
/* A linear classifier on the features of the frozen backbone. options: kind linear. */
COKE_CHECKED int coke_eval_linear(const struct coke_eval_input *in,
                                  const struct coke_options *options,
                                  struct coke_classifier_result *out);
/* The whole network as a classifier; the last layer learns 10 times as fast. options: kind
 * finetune. */
COKE_CHECKED int coke_eval_finetune(const struct coke_eval_input *in,
                                    const struct coke_options *options,
                                    struct coke_classifier_result *out);
/* Clusters of the test images by the heads' centers, against their classes; train is not used. */
COKE_CHECKED int coke_eval_cluster(const struct coke_eval_input *in,
                                   struct coke_clusters_result *out);

/* The clusterings of vectors in a folder, against known classes or by their silhouettes, which
 * help to choose k. */
COKE_CHECKED int coke_eval_clustering(const struct coke_clustering_input *in,
                                      struct coke_clustering_result *out);

/* ---- report: a run or a clustering as one page ---- */

/* Writes a self-contained HTML page, and the table of the input; page may be NULL if there is
 * one: then only the table. images_dir: NULL, or the name of a folder beside
 * the page for its pictures. options: kind report. */
COKE_CHECKED int coke_report_write(const struct coke_report_input *input,
                                   const struct coke_options *options, const char *page,
                                   const char *images_dir, int force,
                                   struct coke_report_summary *out);

/* Writes a self-contained HTML page about several trainings, runs [n] folders: results, curves over
 * epochs and over minutes, options that differ. At most 16. */
COKE_CHECKED int coke_report_compare(const char *const *runs, int n, const char *page,
                                     int force, struct coke_report_summary *out);

/* ---- exchange: encoders to and from other programs ---- */

/* source: the folder of a training (its final weights, or the last while it runs), a checkpoint
 * or an encoder. options: kind export. */
COKE_CHECKED int coke_export(const char *source, const char *path,
                             const struct coke_options *options, int force,
                             struct coke_exchange_summary *out);
/* source: a .pth or .safetensors of torchvision's, MoCo's or the authors' ResNet-18, 34 or 50,
 * with any prefix of the names. Nothing in a .pth is executed. path: an encoder that
 * coke_encoder_open reads. options: kind import. */
COKE_CHECKED int coke_import(const char *source, const char *path,
                             const struct coke_options *options, int force,
                             struct coke_exchange_summary *out);

/* ---- several processes ---- */

/* Under mpirun or srun: joins the other processes of the job, through the plug-in
 * libcoke-mpi.so beside the library (or at the path in the environment variable COKE_MPI). Call it
 * first. Training and clustering then share their work; every process calls them with the same
 * arguments. Started by hand, a process is alone and needs no MPI. Processes on the same cores
 * divide them. If a process of the group is lost, functions that wait for it return COKE_ELOST in
 * all others; one that has not called coke_group_leave within half of COKE_LOST_SECONDS
 * (environment; 5..86400, default 60) is ended with exit code 7. */
COKE_CHECKED int coke_group_join(void);
COKE_API int coke_group_rank(void); /* 0 .. size - 1 */
COKE_API int coke_group_size(void); /* 1 = alone */
/* With COKE_OK or COKE_ESTOPPED, which all processes get together, waits for the others. Any
 * other status ends all processes with its exit code, and the function does not return. */
COKE_API int coke_group_leave(int status);

#ifdef __cplusplus
}
#endif

#endif
