/* describe.h - summarizes a data set as text or JSON (`coke data info`). */
#ifndef CK_DESCRIBE_H
#define CK_DESCRIBE_H

#include "data/fetch.h"

#include <stdio.h>

/* Inspects the headers of the first 1000 images, or of a whole stream, with all threads; the
 * labels of all. */
int ck_describe(struct coke_dataset *d, int json, FILE *to);

#endif
