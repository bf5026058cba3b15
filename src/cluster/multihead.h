/* multihead.h - several heads: clusterings of one stream of rows. */
#ifndef CK_MULTIHEAD_H
#define CK_MULTIHEAD_H

#include "cluster/batch_run.h"
#include "cluster/kmeans.h"

/* struct coke_multihead is private to multihead.c. It owns its heads. */

/* One batch of all heads (batch_run.h). share: the processes that share it, NULL = alone. */
int ck_multihead_run(struct coke_multihead *mh, const struct ck_row_batch *b,
                     const struct ck_share *share);
/* The same for rows in memory: x [n][dim], the whole batch on every process; labels [heads][n].
 */
int ck_multihead_step(struct coke_multihead *mh, const float *x, const int64_t *ids, int64_t n,
                      const struct ck_share *share, int32_t *labels);

#endif
