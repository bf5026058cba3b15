/* clusters.h - what methods with clusters share: heads, and the loss that predicts their
 * labels. */
#ifndef CK_CLUSTERS_H
#define CK_CLUSTERS_H

#include "train/session.h"

/* Builds s->heads and s->loss; the session releases both. The heads are as in the options o. */
int ck_clusters_build(struct ck_session *s, const struct ck_train_options *o);
/* The same by the options of the session. */
int ck_clusters_init(struct ck_session *s);
/* The weight of the labels follows the epochs. */
void ck_clusters_begin_epoch(struct ck_session *s, int64_t epoch);
/* Labels of the last epoch become the targets of the loss. */
int ck_clusters_read(struct ck_session *s, const struct coke_batch *b);
/* Moves the clusters by the projections of the whole batch (s->projections, s->ids). Every rank
 * assigns labels to its own images and moves the centers by all of them, so that all ranks keep
 * the same clusters. current: these labels become the targets of the loss. Collective. */
int ck_clusters_move(struct ck_session *s, int current);
/* Adds the part's loss to sums [CK_SUMS]; gradients: also fills s->grad_proj and
 * s->grad_pred. */
int ck_clusters_loss(struct ck_session *s, struct ck_part part, int gradients, double *sums);
/* Its parts, for other losses. The targets of a part, which begins at image ranks.first +
 * part.from of the batch: out [heads]. */
void ck_clusters_targets(const struct ck_session *s, struct ck_part part,
                         struct ck_targets *out);
/* Adds the part's loss to sums; gradients: scales those of the part's mean by its fraction of the
 * batch. */
void ck_clusters_take(struct ck_session *s, struct ck_part part,
                      const struct ck_loss_output *out, int gradients, double *sums);
int ck_clusters_end_epoch(struct ck_session *s);

#endif
