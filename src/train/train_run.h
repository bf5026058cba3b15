/* train_run.h - a whole training into a run folder. */
#ifndef CK_TRAIN_RUN_H
#define CK_TRAIN_RUN_H

#include "coke/types.h"

int ck_train_run(struct coke_dataset *data, const struct ck_train_options *options,
                 const char *run, const struct coke_train_control *control,
                 const struct coke_callbacks *callbacks, struct coke_train_summary *out);

#endif
