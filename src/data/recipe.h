/* recipe.h - which views an image is turned into: the built-in recipes, modified by the
 * options. */
#ifndef CK_RECIPE_H
#define CK_RECIPE_H

#include "data/augment.h"
#include "data/data_options.h"
#include "data/fetch.h"

enum { CK_MAX_CHANNELS = 64 };

/* Of an enum ck_recipe_kind: its large views (auto has two), and whether it has small ones, too. */
int ck_recipe_large(int recipe);
int ck_recipe_has_small(int recipe);

/* Immutable after ck_recipe_init; all threads of a loader share it. */
struct ck_recipe {
    const char *name;
    int32_t views, channels;
    int32_t large; /* the first views; the others are small crops */
    struct ck_view view[COKE_MAX_VIEWS];
    float mean[CK_MAX_CHANNELS], std[CK_MAX_CHANNELS];
    struct ck_background background;
    int exact; /* never decode at a reduced size */
    uint64_t seed;
};

/* Reads the headers of a few images where the recipe depends on their size. normalize: NULL = auto. */
int ck_recipe_init(struct ck_recipe *r, struct coke_dataset *d, const struct ck_view_options *o,
                   const struct ck_numbers *normalize);

struct ck_sample_sizes {
    int32_t width, height; /* of the first readable image */
    int32_t side;          /* shorter one, the median of the images */
    int small;             /* most have sides up to 64 */
};

/* Reads the headers of a few images spread over the data set. */
int ck_recipe_sample_sizes(struct coke_dataset *d, struct ck_sample_sizes *s);

/* The recipe of an epoch: size and strength of its views as the course has them. The views of no
 * epoch are larger than those of r. */
void ck_recipe_at(const struct ck_recipe *r, const struct ck_course *c, int64_t epoch,
                  struct ck_recipe *out);
/* The side of the large views in an epoch; 0 = the recipe's. */
int32_t ck_course_size(const struct ck_course *c, int64_t epoch);
/* 0 = no augmentation but flips, 1 = the recipe's. */
double ck_course_strength(const struct ck_course *c, int64_t epoch);

/* Makes `r` show the same pixels as `like`: normalization and background. */
void ck_recipe_match(struct ck_recipe *r, const struct ck_recipe *like);

/* Draws the parameters of all views of image i, then reads it once and decodes only the part
 * that the views need. Result: f->image with its part and scale, for ck_view_render. */
struct ck_view_draws {
    struct ck_draw draw[COKE_MAX_VIEWS];
    struct ck_box part;
    int scale;
};
int ck_recipe_begin(const struct ck_recipe *r, struct ck_fetcher *f, struct coke_dataset *d,
                    int64_t i, int64_t epoch, struct ck_view_draws *s);
/* The whole work: out [views], each [channels][height][width], normalized. f and c belong to
 * the calling thread. */
int ck_recipe_make(const struct ck_recipe *r, struct ck_fetcher *f, struct ck_canvas *c,
                   struct coke_dataset *d, int64_t i, int64_t epoch, float *const *out);

#endif
