/* train_options.h - what training needs to know, checked and completed. */
#ifndef CK_TRAIN_OPTIONS_H
#define CK_TRAIN_OPTIONS_H

#include "coke.h"

/* Everything that can be wrong before a file is opened. */
int ck_train_options_check(const struct coke_train_options *o);

/* May change between two processes of one training. */
int ck_train_option_is_free(const char *name);

/* The peak learning rate, and the step of the duals of head h for n images: as given, or chosen
 * from other options. */
double ck_train_rate(const struct coke_train_options *o);
double ck_train_eta(const struct coke_train_options *o, int64_t n, int h);
/* The weight of the label in the targets of epoch `epoch`. */
double ck_train_alpha(const struct coke_train_options *o, int64_t epoch);

#endif
