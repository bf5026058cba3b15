/* bucket.h - gradient all-reduce in buckets, overlapped with the backward pass.
 *
 * Per step: begin, ready for each span as its gradient is complete, finish. Called on one
 * thread, because MPI runs in funneled mode; collective over the group. */
#ifndef CK_BUCKET_H
#define CK_BUCKET_H

#include "dist/group.h"

/* A gradient that becomes ready at once. */
struct ck_span_f32 {
    float *data;
    int64_t n;
};

struct ck_buckets;

/* span [n] in the order in which they become ready; the list is copied, its data borrowed until
 * ck_buckets_free. Consecutive spans share a bucket of about `room` numbers. */
int ck_buckets_new(struct ck_buckets **out, struct ck_group *group,
                   const struct ck_span_f32 *span, int n, int64_t room);
void ck_buckets_free(struct ck_buckets *b);
int ck_buckets_count(const struct ck_buckets *b);

/* Starts a step: no span is ready. */
void ck_buckets_begin(struct ck_buckets *b);
/* Span i contains the gradient of this process. Starts the sums whose buckets are complete and
 * advances those in progress; does not wait. */
int ck_buckets_ready(struct ck_buckets *b, int i);
/* Waits until all spans contain their sums, including spans that were never marked ready. */
int ck_buckets_finish(struct ck_buckets *b);

#endif
