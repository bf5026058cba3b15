/* loss_check.h - validates the loss's setup and input, with a message that names the first
 * fault. */
#ifndef CK_LOSS_CHECK_H
#define CK_LOSS_CHECK_H

#include "nn/loss.h"

int ck_loss_check_setup(const struct ck_loss_shape *shape, const struct ck_loss_options *o);
int ck_loss_check_input(const struct ck_loss_shape *shape, const struct ck_loss_input *in);

#endif
