/* verify.h - decodes every image of a data set. */
#ifndef CK_VERIFY_H
#define CK_VERIFY_H

#include "data/fetch.h"

/* callbacks->bad_image gets each image that cannot be decoded, in order. */
int ck_verify(struct coke_dataset *d, const struct coke_callbacks *callbacks,
              struct coke_verify_summary *out);

#endif
