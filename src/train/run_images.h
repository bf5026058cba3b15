/* run_images.h - what a trained encoder says of images: vectors to a file, clusters. */
#ifndef CK_RUN_IMAGES_H
#define CK_RUN_IMAGES_H

#include "train/run_use.h"

/* A .npy of f32 [images][dim], written as it is computed; rows of skipped images are 0. */
int ck_run_embed(struct coke_run *r, struct coke_dataset *d, enum coke_output output,
                 const char *path, int force, const struct coke_callbacks *callbacks,
                 struct coke_embed_summary *out);

/* Clusters of the training's images in one head, [ck_use_images()]; -1 = none. */
int ck_run_labels(const struct coke_run *r, int head, int32_t *labels);

/* For each image: its cluster in one head, the cosine to the center, and the margin to the
 * second nearest center; -1, 0, 0 for skipped images. similarity and margin may be NULL. */
int ck_run_assign(struct coke_run *r, struct coke_dataset *d, int head,
                  const struct coke_callbacks *callbacks, int32_t *cluster, float *similarity,
                  float *margin);

#endif
