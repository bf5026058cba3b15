/* auction.h - sizes within their bounds, within epsilon of the optimum, on the lists of the exact
 * solver: clusters bid for points. */
#ifndef CK_AUCTION_H
#define CK_AUCTION_H

#include "cluster/exact.h"

/* Starts from the labels, the prices and the box of e, and moves points and prices. At the end
 * the label of a point is within about epsilon of its best value, and all sizes are within their
 * bounds, unless the arcs or the box do not allow it or about `work` arcs were scanned. A cluster
 * whose points are used up has the price of the upper edge of its box. */
int ck_auction_run(struct ck_exact *e, double epsilon, int64_t work);

#endif
