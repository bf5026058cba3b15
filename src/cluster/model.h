/* model.h - a clustering that labels new rows: centers, prices and bounds, without the epochs. */
#ifndef CK_MODEL_H
#define CK_MODEL_H

#include "coke/types.h"
#include "core/state.h"

struct coke_model {
    int64_t k;
    int32_t dim;
    int ld;
    double n;                     /* rows it was made from */
    float *center;                /* [k][ld] */
    float *price;                 /* [k] */
    int64_t *min_size, *max_size; /* [k]; max_size NULL = none */
};

/* Copies what it needs of the state. COKE_EFORMAT if the state is not a k-means model. */
int ck_model_from_state(struct coke_model **out, const struct ck_state *s);
void ck_model_free(struct coke_model *m);

/* Labels all rows of the job; summary may be NULL. */
int ck_model_assign(const struct coke_model *m, const struct coke_assign_job *job,
                    struct coke_head_summary *summary);

#endif
