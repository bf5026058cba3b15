/* plan_share.h - which results of batch norms are left to convolutions. */
#ifndef CK_PLAN_SHARE_H
#define CK_PLAN_SHARE_H

#include "nn/plan_ops.h"

/* Once all buffers are known, before they get their places. */
void ck_plan_share(struct ck_plan *p);

#endif
