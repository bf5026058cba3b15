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

/* Processes that share a batch: this one labels the rows first .. first + n - 1 of it. */
struct ck_label_share {
    int64_t first, n;
    /* Brings label [heads][total] together on all of them. */
    int (*gather)(void *arg, int32_t *label, int heads, int64_t total);
    void *arg;
};

/* As coke_multihead_step. x [n][dim] is the whole batch for all; share: NULL = alone. */
int ck_multihead_step(struct coke_multihead *mh, const float *x, const int64_t *ids, int64_t n,
                      const struct ck_label_share *share, int32_t *labels);

#endif
