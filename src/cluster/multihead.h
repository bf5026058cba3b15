/* multihead.h - several clusterings of one stream. */
#ifndef CK_MULTIHEAD_H
#define CK_MULTIHEAD_H

#include "cluster/batch.h"
#include "cluster/kmeans.h"

struct coke_multihead {
    int n;
    struct coke_kmeans *head[COKE_MAX_HEADS]; /* owned */
    struct ck_batch batch;
};

#endif
