/* health.h - warns when a training goes wrong: what was measured and which options to try. */
#ifndef CK_HEALTH_H
#define CK_HEALTH_H

#include "train/journal.h"

/* What was seen so far; a zeroed struct is the start. Not saved: a resumed training may repeat
 * a warning. */
struct ck_health {
    int given;                       /* bits: kinds of warnings given, each once */
    int flat[COKE_MAX_HEADS];        /* epochs in a row without progress of the loss */
    double min_loss[COKE_MAX_HEADS]; /* so far; 0 = none yet */
};

/* Checks an epoch and warns through cb, on this thread, of each new kind of problem. warmup:
 * the last epoch of the warm-up, before which a flat loss is normal. */
void ck_health_check(struct ck_health *w, const struct ck_epoch_report *r, int64_t warmup,
                     const struct coke_callbacks *cb);

#endif
