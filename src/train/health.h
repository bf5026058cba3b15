/* health.h - does a training go well? Warnings that say what is seen and what to try. */
#ifndef CK_HEALTH_H
#define CK_HEALTH_H

#include "train/journal.h"

struct ck_health {
    int told;                     /* kinds that were told, as bits: each once */
    int flat[COKE_MAX_HEADS];     /* epochs in a row */
    double least[COKE_MAX_HEADS]; /* loss so far; 0 = none yet */
};

/* Looks at an epoch and warns of what is new. warmup: last epoch of the warm-up. */
void ck_health_check(struct ck_health *w, const struct ck_epoch_report *r, int64_t warmup,
                     const struct coke_callbacks *cb);

#endif
