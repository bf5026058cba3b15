/* truth.h - the classes of images that are judged, and whether judging makes sense. */
#ifndef CK_TRUTH_H
#define CK_TRUTH_H

#include "data/fetch.h"

/* Classes with at least one image of d; fewer than 2 are an error in words, and so are data
 * without labels. */
int ck_truth_check(const struct coke_dataset *d);

/* label [n] of d's images as class numbers of `classes_of`, by the names of the classes; -1 =
 * unknown. A class of d that the other has not is an error. */
int ck_truth_get(const struct coke_dataset *d, const struct coke_dataset *classes_of,
                 int32_t *label);

/* Images whose label is known. */
int64_t ck_truth_known(const int32_t *label, int64_t n);

#endif
