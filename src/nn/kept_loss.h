/* kept_loss.h - cross-entropy of unit vectors to the centers of several heads, where images
 * without a label are left out: DeepCluster-v2's loss. */
#ifndef CK_KEPT_LOSS_H
#define CK_KEPT_LOSS_H

#include "nn/loss.h"

struct ck_kept_loss;

/* shape.large is not used: every view learns the label of its image. */
int ck_kept_loss_new(struct ck_kept_loss **out, const struct ck_loss_shape *shape,
                     double temperature);
void ck_kept_loss_free(struct ck_kept_loss *l);

/* Per head the mean over all views of the images with a label (0 without any); the loss is the
 * mean over the heads. in.pred is NULL; in.targets are hard labels, -1 = none. out.accuracy is of
 * the same images. */
int ck_kept_loss_step(struct ck_kept_loss *l, const struct ck_loss_input *in,
                      struct ck_loss_output *out);

#endif
