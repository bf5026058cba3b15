/* loss_check.h - what the loss refuses, in words. */
#ifndef CK_LOSS_CHECK_H
#define CK_LOSS_CHECK_H

#include "nn/loss.h"

int ck_loss_check_setup(const struct ck_loss_shape *shape, const struct ck_loss_options *o);
int ck_loss_check_input(const struct ck_loss_shape *shape, const struct ck_loss_input *in);

#endif
