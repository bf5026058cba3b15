/* data_options.c - options of data sets, views and loaders. */
#include "data/data_options.h"
#include "core/error.h"
#include "core/option.h"
#include "image/codec.h"

#define TABLE(rows, type)                                                                      \
    {                                                                                          \
        rows, sizeof(rows) / sizeof(rows)[0], sizeof(type)                                     \
    }

/* ---- data sets ---- */

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct coke_dataset_options, field, name, def, min, max, choices, help)

static const struct coke_option data_rows[] = {
    ROW(COKE_OPT_CHOICE, split, "split", 0, 0, 1, "train|test",
        "which part of CIFAR, MNIST or synthetic: to take"),
    ROW(COKE_OPT_FLAG, coarse, "coarse", 0, 0, 1, NULL, "CIFAR-100: the 20 super-classes"),
    ROW(COKE_OPT_INT, channels, "channels", 0, 0, 3, "auto",
        "1: grey, 3: colour; auto: as the data is, colour for image files"),
    ROW(COKE_OPT_FLAG, exif, "exif", 0, 0, 1, NULL,
        "turn photographs upright by their EXIF note"),
    ROW(COKE_OPT_INT, max_pixels, "max-pixels", CK_MAX_PIXELS, 1, 4e9, NULL,
        "images with more are refused before memory is asked for"),
};

const struct coke_option_table *coke_dataset_option_table(void)
{
    static const struct coke_option_table t = TABLE(data_rows, struct coke_dataset_options);
    return &t;
}

struct coke_dataset_options coke_dataset_options_default(void)
{
    struct coke_dataset_options o;
    coke_options_default(coke_dataset_option_table(), &o);
    return o;
}

/* ---- views ---- */

#undef ROW
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct coke_view_options, field, name, def, min, max, choices, help)

static const struct coke_option view_rows[] = {
    ROW(COKE_OPT_CHOICE, recipe, "recipe", 0, 0, 9,
        "auto|single|double|multi|cifar-single|cifar|cifar-small|linear|eval|none",
        "what is made of each image; auto: cifar up to 64 pixels, else double"),
    ROW(COKE_OPT_INT, size, "size", 0, 0, 4096, "auto",
        "side of the views; auto: the recipe's"),
    ROW(COKE_OPT_INT, small_views, "small-views", 0, 0, COKE_MAX_VIEWS - 2, "auto",
        "small views of recipe multi; auto: 6"),
    ROW(COKE_OPT_INT, small_size, "small-size", 0, 0, 4096, "auto",
        "side of the small views; auto: 96"),
    ROW(COKE_OPT_FLOAT, min_scale, "min-scale", 0, 0, 1, "auto",
        "least share of the area that a crop takes; auto: the recipe's"),
    ROW(COKE_OPT_CHOICE, filter, "filter", 0, 0, 1, "bilinear|bicubic",
        "how images are resized"),
    ROW(COKE_OPT_CHOICE, decode, "decode", 0, 0, 1, "scaled|exact",
        "large JPEGs at a fraction of their size where hardly a pixel changes, or never"),
    ROW(COKE_OPT_INT, seed, "seed", 0, 0, 9007199254740992.0, NULL, "of all randomness"),
};

const struct coke_option_table *coke_view_option_table(void)
{
    static const struct coke_option_table t = TABLE(view_rows, struct coke_view_options);
    return &t;
}

struct coke_view_options coke_view_options_default(void)
{
    struct coke_view_options o;
    coke_options_default(coke_view_option_table(), &o);
    return o;
}

/* ---- loaders ---- */

#undef ROW
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct coke_loader_options, field, name, def, min, max, choices, help)

static const struct coke_option loader_rows[] = {
    ROW(COKE_OPT_CHOICE, normalize, "normalize", 0, 0, 3, "auto|imagenet|cifar10|half",
        "mean and deviation taken from the pixels; half: .5 and .25"),
    ROW(COKE_OPT_INT, batch, "batch", 256, 1, 1 << 20, NULL,
        "images a batch, of all processes"),
    ROW(COKE_OPT_INT, workers, "workers", 0, 0, 1024, "auto",
        "threads that make batches; auto: as many as cores"),
    ROW(COKE_OPT_INT, prefetch, "prefetch", 3, 1, 1024, NULL, "batches made ahead"),
    ROW(COKE_OPT_CHOICE, bad, "bad", 0, 0, 2, "skip|replace|error",
        "images that cannot be read: leave out, take another one, or stop"),
    ROW(COKE_OPT_FLOAT, max_bad, "max-bad", 0.01, 0, 1, NULL,
        "share of images that cannot be read beyond which to stop"),
    ROW(COKE_OPT_FLAG, shuffle, "shuffle", 1, 0, 1, NULL, "another order each epoch"),
};

const struct coke_option_table *coke_loader_option_table(void)
{
    static const struct coke_option_table t = TABLE(loader_rows, struct coke_loader_options);
    return &t;
}

struct coke_loader_options coke_loader_options_default(void)
{
    struct coke_loader_options o;
    coke_options_default(coke_loader_option_table(), &o);
    o.view = coke_view_options_default();
    return o;
}

int ck_loader_options_check(const struct coke_loader_options *o)
{
    CK_RETURN_IF(ck_options_check(coke_view_option_table(), &o->view));
    CK_RETURN_IF(ck_options_check(coke_loader_option_table(), o));
    if (o->ranks < 0 || o->rank < 0 || o->rank >= (o->ranks ? o->ranks : 1))
        return ck_fail(COKE_EUSAGE, "invalid rank %d of %d", o->rank, o->ranks);
    return COKE_OK;
}
