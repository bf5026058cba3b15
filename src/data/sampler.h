/* sampler.h - which images make batch `step` of epoch `epoch`, for each rank. */
#ifndef CK_SAMPLER_H
#define CK_SAMPLER_H

#include "core/rng.h"

/* A permutation of all images for every epoch, cut into batches; the last one may be short, and
 * one of a single image joins the batch before it (batch norm cannot do with one). Every batch
 * is cut by rank into parts whose sizes differ by at most one. So each image comes once an
 * epoch, and batch t holds the same images for any number of ranks. */
struct ck_sampler {
    int64_t n, batch;
    int32_t rank, ranks;
    int32_t shuffle; /* 0: images come in their own order */
    uint64_t seed;
};

int64_t ck_sampler_steps(const struct ck_sampler *s); /* batches an epoch */
int64_t ck_sampler_most(const struct ck_sampler *s);  /* images of the largest part of a rank */

/* The images of this rank in a batch: index [count]. *first: position of the first of them in
 * the whole batch, *total: images of the whole batch; both may be NULL. */
int64_t ck_sampler_get(const struct ck_sampler *s, int64_t epoch, int64_t step, int64_t *index,
                       int64_t *first, int64_t *total);

#endif
