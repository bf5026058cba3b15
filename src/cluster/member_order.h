/* member_order.h - the rows of each cluster, the closest first. */
#ifndef CK_MEMBER_ORDER_H
#define CK_MEMBER_ORDER_H

#include <stdint.h>

/* label [n] in 0..k-1, negative = in no cluster; score [n], higher = closer. order [n]: the rows
 * of cluster 0 by falling score, then those of cluster 1, ..., at last those in no cluster; equal
 * scores by row. offset [k + 1]: cluster c has order[offset[c]] to order[offset[c + 1] - 1]. Runs
 * on all threads; the result does not depend on them. */
int ck_member_order(const int32_t *label, const float *score, int64_t n, int64_t k,
                    int64_t *order, int64_t *offset);

#endif
