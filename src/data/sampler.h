/* sampler.h - selects the images of each batch, per epoch, step and rank. */
#ifndef CK_SAMPLER_H
#define CK_SAMPLER_H

#include "core/rng.h"

/* Every epoch permutes all images and cuts them into batches. The last batch may be smaller; a
 * single leftover image joins the batch before it, because batch norm needs two. Every batch is
 * cut by rank into parts whose sizes differ by at most one. So each image appears once per
 * epoch, and batch t contains the same images for any number of ranks. A plain value: any
 * thread may use it. */
struct ck_sampler {
    int64_t n, batch;
    int32_t rank, ranks;
    int32_t shuffle; /* 0: data set order */
    uint64_t seed;
};

int64_t ck_sampler_steps(const struct ck_sampler *s); /* batches per epoch */
int64_t ck_sampler_max(const struct ck_sampler *s);   /* size of the largest part of a rank */

/* Writes the images of this rank in a batch to index and returns their number. *first:
 * position of the first of them in the whole batch, *total: images of the whole batch; both
 * may be NULL. */
int64_t ck_sampler_get(const struct ck_sampler *s, int64_t epoch, int64_t step, int64_t *index,
                       int64_t *first, int64_t *total);

#endif
