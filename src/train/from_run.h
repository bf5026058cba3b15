/* from_run.h - a second stage that continues a finished run (option from). */
#ifndef CK_FROM_RUN_H
#define CK_FROM_RUN_H

#include "train/train_options.h"

/* Where option from names a run, takes over what the stage must share with it: the backbone and
 * the size of the views, and sets init to it, which borrows the text. Methods that take its
 * clusters also get its projector, temperature and number of clusters. */
int ck_from_run_adopt(struct ck_train_options *o);
/* centers [k][dim] of the run's head. */
int ck_from_run_centers(const struct ck_train_options *o, int64_t k, int dim, float *centers);

#endif
