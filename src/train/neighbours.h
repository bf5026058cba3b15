/* neighbours.h - the nearest neighbors of all images, as the session's encoder sees them. */
#ifndef CK_NEIGHBOURS_H
#define CK_NEIGHBOURS_H

#include "train/session.h"

/* near [images][m], m below the number of images: by the cosine of the features of the whole
 * images, nearest first. Images that cannot be read are their own neighbors. same: the fraction of
 * the neighbors that are of the image's class; -1 without classes. Exact: images^2 * features
 * operations. */
int ck_neighbours_find(struct ck_session *s, int64_t m, int32_t *near, double *same);

#endif
