/* prototypes.h - unit vectors that projections are compared with, trained like the encoder. */
#ifndef CK_PROTOTYPES_H
#define CK_PROTOTYPES_H

#include "train/arrays.h"
#include "train/session.h"

struct ck_prototypes {
    struct ck_param param; /* [k][dim]; its rows have any length unless `sphere` */
    float *memory;         /* its values and gradients, owned */
    int sphere;            /* rows are brought to length 1 after each step, and gradients ignore
                              it; else gradients go through the division by the length */
    struct ck_optimizer *optimizer;
    struct ck_arrays arrays;
    double *unit; /* [k][dim] rows of length 1; of this step */
    double *grad; /* [k][dim] by the unit rows, summed over the parts of a step */
    /* Of a part. */
    double *x, *grad_x;         /* [views][part][dim] projections */
    double *score, *grad_score; /* [views][part][k] their cosines to the prototypes */
    double *loss;               /* [views][part] */
};

/* k random rows (option prototypes), a function of the session's seed. Release it in any case. */
int ck_prototypes_init(struct ck_prototypes *p, const struct ck_session *s, int sphere);
void ck_prototypes_release(struct ck_prototypes *p);

/* Refuses a single view, which has no other to predict: a row's check. */
int ck_prototypes_check(const struct ck_train_options *o);

/* Before the first part: sets `unit` and clears `grad`. */
void ck_prototypes_begin(struct ck_prototypes *p);
/* Fills x and score with the part's projections. */
void ck_prototypes_score(struct ck_prototypes *p, const struct ck_session *s,
                         struct ck_part part);
/* Takes the part's loss, a mean over its images, and its gradients, grad_score: to those of the
 * projections, and added to those of the prototypes. */
int ck_prototypes_take(struct ck_prototypes *p, struct ck_session *s, struct ck_part part,
                       double loss, double *sums);
/* After the last part: adds the gradients of all ranks. Collective. */
int ck_prototypes_end(struct ck_prototypes *p, const struct ck_session *s);
/* Steps them as the encoder, unless they are frozen in this epoch (option freeze-prototypes). */
int ck_prototypes_step(struct ck_prototypes *p, const struct ck_session *s,
                       const struct coke_batch *b);

/* unit [k][dim] = rows of length 1. */
void ck_prototypes_unit(const struct ck_param *p, double *unit);

/* Their tensors, borrowed. */
int ck_prototypes_state(const struct ck_prototypes *p, struct ck_state *out);

#endif
