/* bucket.h - gradients are added up over the processes while the backward pass makes more. */
#ifndef CK_BUCKET_H
#define CK_BUCKET_H

#include "dist/group.h"

/* Numbers that become ready together. */
struct ck_span_f32 {
    float *data;
    int64_t n;
};

struct ck_buckets;

/* span [n] in the order in which they become ready, borrowed; neighbours share a bucket of
 * about `room` numbers. */
int ck_buckets_new(struct ck_buckets **out, struct ck_group *group,
                   const struct ck_span_f32 *span, int n, int64_t room);
void ck_buckets_free(struct ck_buckets *b);
int ck_buckets_count(const struct ck_buckets *b);

void ck_buckets_begin(struct ck_buckets *b);
/* Span i holds what this process adds. What can start does, and what is under way goes on. */
int ck_buckets_ready(struct ck_buckets *b, int i);
/* All spans hold their sums, also those that were not said to be ready. */
int ck_buckets_finish(struct ck_buckets *b);

#endif
