/* data_options.h - the options of data sets, views, loaders and shards. */
#ifndef CK_DATA_OPTIONS_H
#define CK_DATA_OPTIONS_H

#include "core/option.h"

#include <stdint.h>

enum ck_norm {
    CK_NORM_AUTO,
    CK_NORM_IMAGENET,
    CK_NORM_CIFAR10,
    CK_NORM_CIFAR100,
    CK_NORM_HALF
};

/* The fields of an option "normalize": enum ck_norm, or means and deviations of the channels,
 * one of each or three of each. */
#define CK_NORMALIZE_ROW(struct_, help_)                                                       \
    {                                                                                          \
        .name = "normalize", .type = CK_OPT_NUMBERS, .offset = offsetof(struct_, normalize),   \
        .max = 1, .choices = "auto|imagenet|cifar10|cifar100|half", .help = (help_),           \
        .lengths = 1 << 2 | 1 << 6                                                             \
    }

enum ck_split { CK_SPLIT_TRAIN, CK_SPLIT_TEST };
enum ck_background_word {
    CK_BACKGROUND_AUTO,
    CK_BACKGROUND_WHITE,
    CK_BACKGROUND_BLACK,
    CK_BACKGROUND_NONE
};

struct ck_dataset_options {
    int32_t split;    /* enum ck_split: of a folder that has both, and of synthetic: */
    int32_t coarse;   /* CIFAR-100: the 20 super-classes instead of the 100 classes */
    int64_t channels; /* 1 or 3: grey and RGB images become that; 0 = as the data is */
    int32_t exif;     /* turn images upright */
    struct ck_numbers background; /* enum ck_background_word, or red, green, blue */
    int64_t max_pixels;           /* larger images are refused */
    int32_t one_pass;      /* the source may be a pipe or compressed: read once, in order */
    const char *cache_dir; /* of indexes of tar files; NULL = beside the tar file, or if that is
                            * not writable $XDG_CACHE_HOME/coke, ~/.cache/coke */
};

const struct ck_option_table *ck_dataset_option_table(void);
struct ck_dataset_options ck_dataset_options_default(void);

enum ck_recipe_kind {
    CK_RECIPE_AUTO, /* cifar for images up to 64 pixels, double for others */
    CK_RECIPE_SINGLE,
    CK_RECIPE_DOUBLE,
    CK_RECIPE_MULTI,
    CK_RECIPE_CIFAR_SINGLE,
    CK_RECIPE_CIFAR,
    CK_RECIPE_CIFAR_SMALL,
    CK_RECIPE_WEAK_STRONG,
    CK_RECIPE_CIFAR_WEAK_STRONG,
    CK_RECIPE_STRONG,
    CK_RECIPE_WEAK,
    CK_RECIPE_MULTI_SWAV,
    CK_RECIPE_MULTI_DINO,
    CK_RECIPE_CIFAR_STRONG,
    CK_RECIPE_CIFAR_WEAK,
    CK_RECIPE_CIFAR_SOLARIZE,
    CK_RECIPE_LINEAR,
    CK_RECIPE_EVAL,
    CK_RECIPE_NONE
};

/* What becomes of an image. */
struct ck_view_options {
    int32_t recipe;      /* enum ck_recipe_kind */
    int64_t size;        /* side of the (large) views; 0 = the recipe's */
    int64_t views;       /* equal views of an image; 0 = the recipe's */
    int64_t small_views; /* of multi */
    int64_t small_size;
    double min_scale; /* minimum fraction of the area in a crop; 0 = the recipe's */
    int32_t filter;   /* enum ck_filter */
    int32_t decode;   /* scaled, exact */
    int64_t seed;
};

const struct ck_option_table *ck_view_option_table(void);
struct ck_view_options ck_view_options_default(void);

/* How views change over the epochs of a training; zeros = they do not. The sizes divide the
 * epochs equally; the last one is that of the recipe. */
struct ck_course {
    int64_t epochs;
    double ramp; /* augmentation has its strength after this fraction of the epochs */
    struct ck_ints size;
};

struct ck_loader_options {
    struct ck_view_options view;
    struct ck_numbers normalize; /* see CK_NORMALIZE_ROW */
    int64_t batch;
    int64_t workers;  /* threads; 0 = as many as cores */
    int64_t prefetch; /* batches made ahead */
    int32_t bad;      /* enum ck_bad */
    double max_bad;   /* a larger fraction of unreadable images is an error */
    int32_t shuffle;
    int64_t rank, ranks;     /* of a job of several processes; ranks 0 = one alone */
    struct ck_course course; /* not an option: a training sets it */
};

/* The rows of a loader without those of its views. */
const struct ck_option_table *ck_loader_own_table(void);
/* All of them. */
const struct ck_option_table *ck_loader_option_table(void);
struct ck_loader_options ck_loader_options_default(void);
int ck_loader_options_check(const struct ck_loader_options *o);

enum ck_pack_format { CK_PACK_JPEG, CK_PACK_PNG, CK_PACK_PPM };

struct ck_pack_options {
    int64_t size;       /* limit of the short side; 0 = images as they are */
    int32_t format;     /* enum ck_pack_format */
    int64_t quality;    /* of JPEG */
    int64_t shard_size; /* bytes */
};

const struct ck_option_table *ck_pack_option_table(void);
struct ck_pack_options ck_pack_options_default(void);

#endif
