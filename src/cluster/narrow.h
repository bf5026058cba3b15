/* narrow.h - the exact solution in a narrow box of prices, where few points have a choice. */
#ifndef CK_NARROW_H
#define CK_NARROW_H

#include "cluster/exact.h"

/* As ck_exact_solve, with prices kept within `width` of the present ones, at which every label must
 * be the best. *inside = 0: the optimum lies outside, and `wide` is unchanged except for
 * wide->given. */
int ck_exact_solve_narrow(struct ck_exact *wide, double width, int *inside);

#endif
