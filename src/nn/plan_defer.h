/* plan_defer.h - decides which results of batch norms are deferred to convolutions. */
#ifndef CK_PLAN_DEFER_H
#define CK_PLAN_DEFER_H

#include "nn/plan_ops.h"

/* Called once all buffers are known, before the arena is laid out. */
void ck_plan_defer(struct ck_plan *p);

#endif
