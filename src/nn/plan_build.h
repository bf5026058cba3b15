/* plan_build.h - how plan_build.c serves plan.c. */
#ifndef CK_PLAN_BUILD_H
#define CK_PLAN_BUILD_H

#include "nn/plan_ops.h"

/* Shapes, fused operations, lifetimes and the arena of a plan whose net and request are set. */
int ck_plan_build(struct ck_plan *p);

#endif
