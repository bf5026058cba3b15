/* old_coke.h - a part of coke.h as it might have been: structs without their last members.
 *
 * Only old_program.c includes it. Never add what coke.h has gained since. */
#ifndef OLD_COKE_H
#define OLD_COKE_H

#include <stddef.h>
#include <stdint.h>

enum coke_status { COKE_OK = 0, COKE_EUSAGE = -2, COKE_ESTOPPED = -75 };

struct coke_options;
struct coke_rows;
struct coke_cluster;
struct coke_model;
struct coke_dataset;
struct coke_loader;

struct coke_progress {
    const char *phase;
    int64_t epoch, epochs;
    int64_t done, total;
};

struct coke_callbacks {
    size_t size;
    void *user;
    int (*progress)(void *user, const struct coke_progress *p);
};

struct coke_cluster_input {
    size_t size;
    struct coke_rows *rows;
    const int64_t *min_sizes;
};

struct coke_head_summary {
    size_t size;
    int64_t n, k;
    int32_t dim;
};

struct coke_assign_job {
    size_t size;
    struct coke_rows *rows;
    int32_t *labels;
};

struct coke_batch {
    size_t size;
    int64_t epoch, step, steps;
    int64_t n;
};

const char *coke_last_error(void);
int coke_options_new(struct coke_options **out, const char *kind);
int coke_options_set(struct coke_options *o, const char *name, const char *text);
void coke_options_free(struct coke_options *o);
int coke_rows_from_array(struct coke_rows **out, const float *x, int64_t n, int32_t dim);
void coke_rows_free(struct coke_rows *rows);
int coke_cluster_run(struct coke_cluster **out, const struct coke_cluster_input *input,
                     const struct coke_options *options,
                     const struct coke_callbacks *callbacks);
void coke_cluster_free(struct coke_cluster *c);
int coke_cluster_write(const struct coke_cluster *c, const char *dir, int force);
const struct coke_head_summary *coke_cluster_summary(const struct coke_cluster *c, int h);
int coke_model_load(struct coke_model **out, const char *path);
void coke_model_free(struct coke_model *m);
int coke_model_assign(const struct coke_model *m, const struct coke_assign_job *job,
                      struct coke_head_summary *summary);
int coke_dataset_open(struct coke_dataset **out, const char *source,
                      const struct coke_options *options);
void coke_dataset_free(struct coke_dataset *d);
int coke_loader_new(struct coke_loader **out, struct coke_dataset *data,
                    const struct coke_options *options);
void coke_loader_free(struct coke_loader *l);
int coke_loader_next(struct coke_loader *l, struct coke_batch *out);
int coke_synthetic_fill(float *x, int64_t n, int32_t dim, int32_t clusters, uint64_t seed);

#endif
