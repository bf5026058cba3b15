/* twin.h - a second network with the same weights, but gradients and running statistics of its own,
 * so that two threads can each run a plan at the same time.
 *
 * A step: ck_twin_begin; forward on all threads; ck_twin_add_statistics for each twin in turn;
 * backward on all threads; ck_twin_add_gradients for each twin in turn. The sums then do not depend
 * on which thread was first. */
#ifndef CK_TWIN_H
#define CK_TWIN_H

#include "nn/net.h"

/* The layers of net must be complete. Borrows the weights: release the twin before net, and the
 * twin's plans before the twin. *twin is empty after a failure. */
int ck_twin_init(struct ck_net *twin, const struct ck_net *net);
void ck_twin_release(struct ck_net *twin);

void ck_twin_begin(struct ck_net *twin, const struct ck_net *net);
/* As if net's own plan had run on the twin's batches, after its own. */
void ck_twin_add_statistics(struct ck_net *net, const struct ck_net *twin);
/* Leaves zeros in the twin. */
void ck_twin_add_gradients(struct ck_net *net, struct ck_net *twin);

#endif
