/* model.h - a finished clustering that labels new rows: centers, prices and bounds. Immutable
 * once loaded, so that several threads may use one model. */
#ifndef CK_MODEL_H
#define CK_MODEL_H

#include "cluster/frame.h"
#include "coke/types.h"
#include "core/state.h"

struct coke_model {
    int64_t k;
    int32_t dim;
    struct ck_frame frame;
    double n;                     /* rows of the clustering; bounds refer to it */
    float *center;                /* [k][frame.ld] inner coordinates, of length 1 at most */
    float *price;                 /* [k] inner units */
    int64_t *min_size, *max_size; /* [k]; max_size NULL = none */
    int64_t *size;                /* [k] rows of each cluster */
    double objective;             /* mean cosine to the nearest center; 0 = not measured */
};

/* Copies what it needs from the state. COKE_EFORMAT if the state is not a k-means model or is
 * inconsistent. Free with ck_model_free. */
int ck_model_from_state(struct coke_model **out, const struct ck_state *s);
void ck_model_free(struct coke_model *m);

/* Copies the centers without their padding to out [k][dim]. */
void ck_model_centers(const struct coke_model *m, float *out);

/* The model's bounds for n rows: the same fractions, rounded so that they stay feasible. max_size
 * may be NULL. */
void ck_model_scale_bounds(const struct coke_model *m, int64_t n, int64_t *min_size,
                           int64_t *max_size);

/* Labels all rows of the job, on all threads; summary may be NULL. job->constrained: as the
 * optimum within the scaled bounds, else by the nearest center. */
int ck_model_assign(const struct coke_model *m, const struct coke_assign_job *job,
                    struct coke_head_summary *summary);

/* The same for a model that is being made: bounds, prices and sizes then are those of these rows. */
int ck_model_relabel(struct coke_model *m, const struct coke_assign_job *job,
                     struct coke_head_summary *summary);

/* ---- model_make.c ---- */

struct coke_kmeans;

/* A model of a head as it is now: its centers with unit length, averaged duals, bounds and the
 * sizes of its labels. job: NULL, or rows that get labels by ck_model_relabel. */
int ck_model_from_kmeans(struct coke_model **out, const struct coke_kmeans *km,
                         const struct coke_assign_job *job, struct coke_head_summary *summary);
/* The tensors of the file, which refer to m, centers [k][dim] and price [k], memory of the
 * caller. */
int ck_model_state(const struct coke_model *m, float *centers, float *price,
                   struct ck_state *s);

#endif
