/* multihead.h - several clusterings of one stream. */
#ifndef CK_MULTIHEAD_H
#define CK_MULTIHEAD_H

#include "cluster/padded_rows.h"
#include "cluster/kmeans.h"

struct coke_multihead {
    int n;
    struct coke_kmeans *head[COKE_MAX_HEADS]; /* owned */
    struct ck_padded_rows batch;
};

/* Takes the heads [n], which are freed with it; on failure they stay the caller's. */
int ck_multihead_new(struct coke_multihead **out, struct coke_kmeans *const *heads, int n);
void ck_multihead_free(struct coke_multihead *mh);
struct coke_kmeans *ck_multihead_head(struct coke_multihead *mh, int h); /* NULL = none */
int ck_multihead_epoch_end(struct coke_multihead *mh);

/* Processes that share a batch: this one labels the rows first .. first + n - 1 of it. */
struct ck_label_share {
    int64_t first, n;
    /* Brings label [heads][total] together on all of them. */
    int (*gather)(void *arg, int32_t *label, int heads, int64_t total);
    void *arg;
};

/* One batch of all heads; labels [heads][n]. x [n][dim] is the whole batch for all; share: NULL = alone. */
int ck_multihead_step(struct coke_multihead *mh, const float *x, const int64_t *ids, int64_t n,
                      const struct ck_label_share *share, int32_t *labels);

#endif
