/* assign_images.h - coke assign RUN DATA: the cluster of each image. */
#ifndef COKE_CLI_ASSIGN_IMAGES_H
#define COKE_CLI_ASSIGN_IMAGES_H

#include "trained.h"

struct assign_images {
    struct trained t;
    struct coke_dataset_options d;
    const char *output, *copy, *link;
    int64_t head; /* -1 = chosen */
    int32_t force;
};

int assign_images(const struct assign_images *o, int n, const char *const *operands);

#endif
