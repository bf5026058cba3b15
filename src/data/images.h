/* images.h - a data set together with the options that decode its images. */
#ifndef CK_IMAGES_H
#define CK_IMAGES_H

#include "data/fetch.h"

/* options->cache_dir is borrowed for the call. */
int ck_images_new(struct coke_dataset **out, const char *source,
                  const struct ck_dataset_options *options);
void ck_images_free(struct coke_dataset *d);

/* NULL if there is no class c. */
const char *ck_images_class_name(const struct coke_dataset *d, int32_t c);

#endif
