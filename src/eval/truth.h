/* truth.h - the true classes of the images that are evaluated. */
#ifndef CK_TRUTH_H
#define CK_TRUTH_H

#include "data/fetch.h"

/* Fails unless d has labels and images of at least 2 classes. */
int ck_truth_check(const struct coke_dataset *d);

/* Writes the labels of d's images as class numbers of `classes_of`, matched by class name; -1 =
 * unknown. A class of d that the other data set lacks is an error. */
int ck_truth_get(const struct coke_dataset *d, const struct coke_dataset *classes_of,
                 int32_t *label);

/* Number of images with a known label. */
int64_t ck_truth_known(const int32_t *label, int64_t n);

#endif
