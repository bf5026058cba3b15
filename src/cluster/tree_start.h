/* tree_start.h - the first tree of a clustering of two levels: groups, and leaves inside them. */
#ifndef CK_TREE_START_H
#define CK_TREE_START_H

#include "cluster/scan.h"
#include "cluster/tree.h"

enum ck_levels { CK_LEVELS_AUTO, CK_LEVELS_ONE, CK_LEVELS_TWO };

/* Levels of a clustering of n rows into k clusters; depends on nothing but the arguments. */
int ck_levels_choose(enum ck_levels levels, int64_t n, int64_t k, int ld);

/* Input and results. Everything is the caller's and borrowed for the call, except *tree. */
struct ck_tree_start {
    const struct ck_scan *scan;
    uint64_t seed;
    int64_t k;
    int probes;   /* of the tree */
    int32_t init; /* enum ck_init, of the groups */
    const struct coke_callbacks *callbacks;
    float *center;        /* out [k][ld] first leaves: k different rows, ordered by group */
    struct ck_tree *tree; /* out, owned by the caller; refers to center */
    double gap;           /* out: median lead of the best candidate over the second */
};

/* About sqrt(probes k) groups from a sample of the rows; then k rows as leaves, in proportion to the
 * sizes of the groups (largest remainder). The same on every process, without communication. */
int ck_tree_start(struct ck_tree_start *s);

/* quota [groups]: k in proportion to size [groups] by largest remainders, at least 1 where the
 * size is not 0, which at most k groups have; lowest index on ties. scratch [groups]. */
void ck_tree_quotas(const int64_t *size, int64_t groups, int64_t k, int64_t *quota,
                    double *scratch);

#endif
