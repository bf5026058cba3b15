/* recipe.h - which views an image becomes: the tables, and what the options make of them. */
#ifndef CK_RECIPE_H
#define CK_RECIPE_H

#include "data/augment.h"
#include "data/fetch.h"

enum { CK_MAX_CHANNELS = 64 };

struct ck_recipe {
    const char *name;
    int32_t views, channels;
    struct ck_view view[COKE_MAX_VIEWS];
    float mean[CK_MAX_CHANNELS], std[CK_MAX_CHANNELS];
    int exact; /* no decoding at a smaller size */
    uint64_t seed;
};

/* Looks at a few images where their size matters. */
int ck_recipe_init(struct ck_recipe *r, struct coke_dataset *d, const struct ck_view_options *o,
                   int normalize);

/* Reads image i once and makes all its views: draws [views] first, then only the part that they
 * need is decoded. begin: f->image with its part and scale, for ck_view_render. */
struct ck_view_draws {
    struct ck_draw draw[COKE_MAX_VIEWS];
    struct ck_box part;
    int scale;
};
int ck_recipe_begin(const struct ck_recipe *r, struct ck_fetcher *f, struct coke_dataset *d,
                    int64_t i, int64_t epoch, struct ck_view_draws *s);
/* All of it: out [views], each [channels][height][width], normalised. */
int ck_recipe_make(const struct ck_recipe *r, struct ck_fetcher *f, struct ck_canvas *c,
                   struct coke_dataset *d, int64_t i, int64_t epoch, float *const *out);

#endif
