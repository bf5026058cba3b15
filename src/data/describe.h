/* describe.h - what a data set holds, as text or JSON. */
#ifndef CK_DESCRIBE_H
#define CK_DESCRIBE_H

#include "data/fetch.h"

#include <stdio.h>

int ck_describe(struct coke_dataset *d, int json, FILE *to);

#endif
