/* secu.h - the state of method SeCu, for its row and for tests. */
#ifndef CK_SECU_H
#define CK_SECU_H

#include "nn/center_loss.h"
#include "nn/optimizer.h"
#include "train/session.h"

/* The heads hold the unit centers of this step and of the last epoch; the parameters, of any
 * length, are here. */
struct ck_secu {
    struct ck_param center[COKE_MAX_HEADS]; /* value and grad [k][dim] */
    float *memory;                          /* of their values and gradients */
    float *unit;                            /* [largest k][dim] */
    double *grad; /* [all centers][dim] of the unit centers, summed over the vectors */
    int64_t centers;
    struct ck_center_loss *loss;
    struct ck_optimizer *optimizer;
};

extern const struct ck_method ck_method_secu;
/* Learning rate of the centers in step `step` of all epochs. */
double ck_secu_rate(const struct ck_method_options *o, int64_t epochs, int64_t steps,
                    int64_t step);

#endif
