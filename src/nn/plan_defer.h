/* plan_defer.h - which results of batch norms are left to convolutions. */
#ifndef CK_PLAN_DEFER_H
#define CK_PLAN_DEFER_H

#include "nn/plan_ops.h"

/* Once all buffers are known, before they get their places. */
void ck_plan_defer(struct ck_plan *p);

#endif
