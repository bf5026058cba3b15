/* targets.h - training targets of a batch: labels from the clustering, read by the loss. */
#ifndef CK_TARGETS_H
#define CK_TARGETS_H

#include <stdint.h>

/* Targets of one head for n consecutive rows of a batch, each a few (label, weight) pairs
 * whose weights sum to 1. Hard labels are one pair of weight 1: slots 1, weight NULL.
 *
 * Several processes share a batch: `first` is the index of row 0 of these arrays in the
 * batch of all ranks, in rank order. It is 0 for the targets of the whole batch.
 *
 * A view: the arrays belong to the producer of the struct and are valid until it fills the next
 * one. */
struct ck_targets {
    int64_t n;
    int slots;
    int32_t *label; /* [n][slots], -1 = free slot */
    float *weight;  /* [n][slots], 0 = free slot; or NULL */
    int64_t first;
};

#endif
