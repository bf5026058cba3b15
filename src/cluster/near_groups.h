/* near_groups.h - groups of vectors that coincide, or nearly. */
#ifndef CK_NEAR_GROUPS_H
#define CK_NEAR_GROUPS_H

#include <stdint.h>

/* Sets group [n] to the number of the group of each vector of x [n][ld], from 0: all members are
 * within `limit` of one of them. Each vector is in one group, maybe alone. groups: their number;
 * radius: the largest distance found, at most the limit. */
int ck_near_groups(const float *x, int64_t n, int ld, double limit, int32_t *group,
                   int64_t *groups, double *radius);
/* A random direction of length 1, the same in every call. */
void ck_near_line(int ld, double *line);
double ck_near_distance(const float *a, const float *b, int ld);

#endif
