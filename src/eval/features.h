/* features.h - what an encoder says of images, in evaluation. */
#ifndef CK_FEATURES_H
#define CK_FEATURES_H

#include "data/recipe.h"
#include "nn/encoder.h"

struct ck_features;

/* The encoder stays where it is; its weights may change between two calls. like: the recipe it
 * is trained with, whose size, normalisation and filter are used: images that have that size
 * are taken as they are, others are resized and cut in the middle. */
int ck_features_new(struct ck_features **out, struct coke_encoder *e, struct coke_dataset *d,
                    const struct ck_recipe *like, int64_t batch);
void ck_features_free(struct ck_features *f);
int ck_features_dim(const struct ck_features *f);
int ck_features_output_dim(const struct ck_features *f, enum coke_output output);

/* Images index [n]: features [n][dim] of the backbone and proj [n][encoder's dim] unit vectors;
 * either may be NULL. An image that cannot be read is an error. */
int ck_features_get(struct ck_features *f, const int64_t *index, int64_t n, float *features,
                    float *proj);
/* The same, but bad [n] is 1 for images that cannot be read, whose vectors are 0. bad NULL: as
 * ck_features_get. */
int ck_features_try(struct ck_features *f, const int64_t *index, int64_t n, float *features,
                    float *proj, uint8_t *bad);

/* The same of views x [n][channels][height][width] that somebody else made, in this size. */
int ck_features_run(struct ck_features *f, const float *x, int64_t n, float *features,
                    float *proj);

#endif
