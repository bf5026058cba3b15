/* newton.h - moves all prices together towards those of the size bounds. */
#ifndef CK_NEWTON_H
#define CK_NEWTON_H

#include "cluster/exact.h"

/* Moves the prices of e, inside the box, by Newton steps on the sizes, and gives every point its
 * best label. from, to: the scale on which choices are smoothed, first and last; values that differ
 * by much more never mix. reach: the most that a price moves in a step. patient: more steps at the
 * last scale, until the sizes are right, for crowds. Runs on all threads; the
 * result does not depend on them. */
int ck_newton_run(struct ck_exact *e, double from, double to, double reach, int patient);

#endif
