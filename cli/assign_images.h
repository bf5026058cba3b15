/* assign_images.h - coke assign RUN DATA: the cluster of each image. */
#ifndef COKE_CLI_ASSIGN_IMAGES_H
#define COKE_CLI_ASSIGN_IMAGES_H

#include "trained.h"

/* Prints its own errors; returns the status. */
int assign_images(struct args *a, int n, const char *const *operands);

#endif
