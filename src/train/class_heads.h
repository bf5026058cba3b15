/* class_heads.h - what methods share whose projections are scores of classes: one head whose
 * clusters are the classes. Its centers are the unit vectors of the axes, so that the nearest
 * center is the largest score. */
#ifndef CK_CLASS_HEADS_H
#define CK_CLASS_HEADS_H

#include "train/session.h"

/* Builds s->heads for centers [k][dim] that no row moves; NULL = the axes, k = dim. The session
 * releases them. */
int ck_class_heads_init(struct ck_session *s, const float *centers);
/* A row's scan: assigns labels. */
int ck_class_heads_scan(struct ck_session *s, const struct coke_batch *b, int64_t parts,
                        double *sums);
/* A row's end_step: the same. */
int ck_class_heads_end_step(struct ck_session *s, const struct coke_batch *b);
/* A row's classes where option k has the one number of clusters. */
int ck_class_heads_count(const struct ck_train_options *o, const struct coke_dataset *d,
                         int64_t *out);
/* A row's check where it does. */
int ck_class_heads_check(const struct ck_train_options *o);
/* Adds loss and accuracy of the head, means over the part's images, to sums. */
void ck_class_heads_add(struct ck_part part, double loss, double accuracy, double *sums);

#endif
