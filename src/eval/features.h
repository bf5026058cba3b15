/* features.h - features of images, computed by an encoder in evaluation mode.
 *
 * One thread at a time per object: it holds one plan and its buffers. Decoding and the network
 * use all threads of the process. */
#ifndef CK_FEATURES_H
#define CK_FEATURES_H

#include "data/recipe.h"
#include "nn/encoder.h"

struct ck_features;

/* Borrows the encoder and the data set; the encoder's weights may change between calls. like:
 * the recipe it was trained with, whose size, normalization and filter are used. precision: of
 * the activations, auto is measured. Images of that
 * size are used unchanged, others are resized and center-cropped. */
int ck_features_new(struct ck_features **out, struct coke_encoder *e, struct coke_dataset *d,
                    const struct ck_recipe *like, int64_t batch, enum ck_precision precision);
void ck_features_free(struct ck_features *f);
int ck_features_dim(const struct ck_features *f);
int ck_features_output_dim(const struct ck_features *f, enum coke_output output);

/* Computes images index [n]: features [n][dim] of the backbone and proj [n][encoder's dim] unit
 * vectors; either may be NULL. An unreadable image is an error. */
int ck_features_get(struct ck_features *f, const int64_t *index, int64_t n, float *features,
                    float *proj);
/* The same, but bad [n] is 1 for unreadable images, whose vectors are 0. bad NULL: as
 * ck_features_get. */
int ck_features_try(struct ck_features *f, const int64_t *index, int64_t n, float *features,
                    float *proj, uint8_t *bad);

/* From now on vectors are means over `views` views: the usual one and random crops, drawn from
 * the recipe `like`, in its size and without changes of color, the same in every call. */
int ck_features_use_views(struct ck_features *f, const struct ck_recipe *like, int64_t views);

/* From now on images whose files are missing or cannot be opened are bad, too, not errors. */
void ck_features_excuse_files(struct ck_features *f);
/* Why one of the bad images until now is bad; "" if there was none. */
const char *ck_features_excused(const struct ck_features *f);

/* Side of the grid that ck_features_pixels averages larger views to. */
enum { CK_PIXELS_SIDE = 16 };
/* The views themselves, out [n][ck_features_pixels_dim], as a baseline for the features. bad [n]
 * as for ck_features_try. */
int ck_features_pixels(struct ck_features *f, const int64_t *index, int64_t n, float *out,
                       uint8_t *bad);
int ck_features_pixels_dim(const struct ck_features *f);

/* Features of views x [n][channels][height][width] that the caller has made, in this size. */
int ck_features_run(struct ck_features *f, const float *x, int64_t n, float *features,
                    float *proj);

#endif
