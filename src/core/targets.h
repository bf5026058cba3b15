/* targets.h - what a batch is trained towards: labels that clustering gives and the loss reads.
 */
#ifndef CK_TARGETS_H
#define CK_TARGETS_H

#include <stdint.h>

/* Targets of one head for the n instances of a batch, as a few (label, weight) pairs each; the
 * weights of an instance sum to 1. Hard labels are one pair of weight 1: slots 1, weight NULL.
 * The arrays belong to whoever made them. */
struct ck_targets {
    int64_t n;
    int slots;
    int32_t *label; /* [n][slots], -1 = free */
    float *weight;  /* [n][slots], 0 = free; or NULL */
};

#endif
