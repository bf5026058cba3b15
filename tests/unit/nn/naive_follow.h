/* naive_follow.h - a naive network that decides as the engine did.
 *
 * A rounding that flips one ReLU or one maximum moves gradients by a jump of 1e-3 or more. With
 * the decisions fixed the network is smooth, and gradients in f32 can be held to 1e-5. */
#ifndef CK_NAIVE_FOLLOW_H
#define CK_NAIVE_FOLLOW_H

#include "naive_net.h"
#include "nn/plan.h"

/* Fills v->followed for all ReLUs and the inputs of all max pools by forward passes of plans
 * made by r, which give the same bytes as r itself. Running statistics of the network are as
 * before. */
void naive_follow(struct naive *v, struct ck_net *net, const struct ck_plan_request *r,
                  const float *images);

#endif
