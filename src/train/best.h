/* best.h - which epoch best.safetensors is. */
#ifndef CK_BEST_H
#define CK_BEST_H

#include "train/journal.h"

/* Is r the epoch to keep? *score: the highest score so far, -HUGE_VAL at the start; the caller
 * saves it with the checkpoint. by_knn: classes are known, so that only monitored epochs count.
 * Epoch 0 has learned nothing. */
int ck_best_update(double *score, const struct ck_epoch_report *r, int by_knn);

#endif
