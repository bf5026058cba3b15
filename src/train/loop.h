/* loop.h - a whole training: from its first epoch, or its last checkpoint, to its end. */
#ifndef CK_LOOP_H
#define CK_LOOP_H

#include "coke/types.h"
#include "train/train_options.h"

/* As coke_train_run, whose arguments are checked: only callbacks may be NULL. Collective. Calls
 * the callbacks on the thread that called it. */
int ck_train_run(struct coke_dataset *data, const struct ck_train_options *options,
                 const char *run, const struct coke_train_control *control,
                 const struct coke_callbacks *callbacks, struct coke_train_summary *out);

#endif
