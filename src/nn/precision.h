/* precision.h - which precision is faster here: measured on a network. */
#ifndef CK_PRECISION_H
#define CK_PRECISION_H

#include "nn/nn_options.h"
#include "nn/plan.h"

enum ck_dtype ck_precision_dtype(enum ck_precision p); /* of f32 and bf16 */

/* Whether bf16 exists here. */
int ck_precision_has_bf16(void);

/* Seconds per image of a small batch, indexed by CK_PRECISION_F32 and CK_PRECISION_BF16. `like`
 * gives the image size, the wanted nodes and the passes; its n and dtype do not matter. A
 * request with `train` changes running statistics and gradients of the network. */
int ck_precision_measure(struct ck_net *net, const struct ck_plan_request *like,
                         double seconds[2]);
/* Turns CK_PRECISION_AUTO into the faster one, f32 where there is no bf16; seconds as above, or
 * 0 if nothing was measured. */
int ck_precision_choose(int32_t *precision, struct ck_net *net,
                        const struct ck_plan_request *like, double seconds[2]);

#endif
