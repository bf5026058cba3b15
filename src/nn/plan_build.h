/* plan_build.h - compiles a network; called by ck_plan_new only. */
#ifndef CK_PLAN_BUILD_H
#define CK_PLAN_BUILD_H

#include "nn/plan_ops.h"

/* Determines shapes, fused operations and lifetimes, and allocates the arena, for a plan whose
 * net and request are set. On failure ck_plan_free releases what exists. */
int ck_plan_build(struct ck_plan *p);

#endif
