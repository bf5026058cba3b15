/* verify.h - decodes every image of a data set. */
#ifndef CK_VERIFY_H
#define CK_VERIFY_H

#include "data/fetch.h"

/* Calls callbacks->bad_image for each image that cannot be decoded, in order, on the calling
 * thread. */
int ck_verify(struct coke_dataset *d, const struct coke_callbacks *callbacks,
              struct coke_verify_summary *out);

#endif
