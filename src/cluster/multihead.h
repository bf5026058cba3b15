/* multihead.h - several heads: clusterings of one stream of rows. */
#ifndef CK_MULTIHEAD_H
#define CK_MULTIHEAD_H

#include "cluster/batch_run.h"
#include "cluster/kmeans.h"

/* struct coke_multihead is private to multihead.c. It owns its heads; one thread at a time may
 * use it. */

/* Takes ownership of the heads [n]; on failure they stay the caller's. */
int ck_multihead_new(struct coke_multihead **out, struct coke_kmeans *const *heads, int n);
void ck_multihead_free(struct coke_multihead *mh);
/* Borrowed; NULL = there is no head h. */
struct coke_kmeans *ck_multihead_head(struct coke_multihead *mh, int h);
int ck_multihead_epoch_end(struct coke_multihead *mh);

/* Runs one batch through all heads (batch_run.h). share: the processes that divide it, NULL =
 * this one has all rows. */
int ck_multihead_run(struct coke_multihead *mh, const struct ck_row_batch *b,
                     const struct ck_share *share);
/* The same for rows in memory: x [n][dim], the whole batch on every process; labels [heads][n].
 */
int ck_multihead_step(struct coke_multihead *mh, const float *x, const int64_t *ids, int64_t n,
                      const struct ck_share *share, int32_t *labels);

#endif
