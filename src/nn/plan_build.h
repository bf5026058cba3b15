/* plan_build.h - compiles a network; called by plan.c only. */
#ifndef CK_PLAN_BUILD_H
#define CK_PLAN_BUILD_H

#include "nn/plan_ops.h"

/* Determines shapes, fused operations, lifetimes and the size of the arena, for a plan whose net
 * and request are set. On failure ck_plan_free releases what exists. */
int ck_plan_build(struct ck_plan *p);
/* Then allocates arena and scratch. */
int ck_plan_allocate(struct ck_plan *p);

#endif
