/* data_options.c - the options of data sets, views, loaders and shards. */
#include "data/data_options.h"
#include "core/error.h"
#include "core/thread.h"
#include "image/codec.h"

#define SEED_MAX 9007199254740992.0

/* ---- data sets ---- */

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_dataset_options, field, name, def, min, max, choices, help)

static const struct ck_option dataset_rows[] = {
    ROW(CK_OPT_CHOICE, split, "split", CK_SPLIT_TRAIN, 0, CK_SPLIT_TEST, "train|test",
        "split of CIFAR, MNIST or synthetic: data"),
    ROW(CK_OPT_FLAG, coarse, "coarse", 0, 0, 1, NULL, "CIFAR-100: the 20 super-classes"),
    ROW(CK_OPT_INT, channels, "channels", 0, 0, 3, "auto",
        "1: gray, 3: color; auto: those of the data, color for image files"),
    ROW(CK_OPT_FLAG, exif, "exif", 0, 0, 1, NULL,
        "turn photographs upright by their EXIF orientation"),
    {.name = "background",
     .type = CK_OPT_NUMBERS,
     .offset = offsetof(struct ck_dataset_options, background),
     .max = 255,
     .choices = "auto|white|black|none",
     .help = "what shows through transparent pixels: a word or R,G,B; none: the colours stored "
             "under them; auto: white, or as in the encoder's training",
     .lengths = 1 << 3},
    ROW(CK_OPT_INT, max_pixels, "max-pixels", CK_MAX_PIXELS, 1, 4e9, NULL,
        "larger images are refused before memory is allocated"),
    {.name = "one-pass",
     .type = CK_OPT_FLAG,
     .offset = offsetof(struct ck_dataset_options, one_pass),
     .max = 1,
     .help = "the source may be a pipe or compressed: read once, in order",
     .local = 1},
    {.name = "cache",
     .type = CK_OPT_TEXT,
     .offset = offsetof(struct ck_dataset_options, cache_dir),
     .choices = "DIR",
     .help = "folder for indexes of tar files, otherwise written beside them",
     .local = 1},
};

const struct ck_option_table *ck_dataset_option_table(void)
{
    static const struct ck_option_table t =
        CK_OPTION_TABLE(dataset_rows, struct ck_dataset_options);
    return &t;
}

struct ck_dataset_options ck_dataset_options_default(void)
{
    struct ck_dataset_options o;
    ck_options_default(ck_dataset_option_table(), &o);
    return o;
}

/* ---- views ---- */

#undef ROW
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_view_options, field, name, def, min, max, choices, help)

static const struct ck_option view_rows[] = {
    ROW(CK_OPT_CHOICE, recipe, "recipe", 0, 0, CK_RECIPE_NONE,
        "auto|single|double|multi|cifar-single|cifar|cifar-small|weak-strong|cifar-weak-strong|"
        "strong|weak|multi-swav|multi-dino|cifar-strong|cifar-weak|cifar-solarize|"
        "linear|eval|none",
        "augmentation of the images; auto: cifar up to 64 pixels, else double"),
    ROW(CK_OPT_INT, size, "size", 0, 0, 4096, "auto", "side of the views; auto: the recipe's"),
    ROW(CK_OPT_INT, views, "views", 0, 0, COKE_MAX_VIEWS, "auto",
        "equal views of an image, which take turns with the recipe's; auto: as many as it has"),
    ROW(CK_OPT_INT, small_views, "small-views", 0, 0, COKE_MAX_VIEWS - 2, "auto",
        "small views of recipes multi, multi-swav and multi-dino; auto: 6"),
    ROW(CK_OPT_INT, small_size, "small-size", 0, 0, 4096, "auto",
        "side of the small views; auto: 96"),
    ROW(CK_OPT_FLOAT, min_scale, "min-scale", 0, 0, 1, "auto",
        "minimum fraction of the area in a crop; auto: the recipe's"),
    ROW(CK_OPT_CHOICE, filter, "filter", 0, 0, 1, "bilinear|bicubic", "how images are resized"),
    ROW(CK_OPT_CHOICE, decode, "decode", 0, 0, 1, "scaled|exact",
        "scaled: decode large JPEGs at reduced size where pixels hardly change"),
    ROW(CK_OPT_INT, seed, "seed", 0, 0, SEED_MAX, NULL, "seed of all random numbers"),
};

const struct ck_option_table *ck_view_option_table(void)
{
    static const struct ck_option_table t = CK_OPTION_TABLE(view_rows, struct ck_view_options);
    return &t;
}

struct ck_view_options ck_view_options_default(void)
{
    struct ck_view_options o;
    ck_options_default(ck_view_option_table(), &o);
    return o;
}

/* ---- loaders ---- */

#undef ROW
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_loader_options, field, name, def, min, max, choices, help)

static const struct ck_option loader_rows[] = {
    CK_NORMALIZE_ROW(struct ck_loader_options,
                     "mean and deviation that normalize the pixels (0 to 1); half: .5 and "
                     ".25; or numbers: M,S or three means and three deviations"),
    ROW(CK_OPT_INT, batch, "batch", 256, 1, 1 << 20, NULL,
        "images per batch, of all processes together"),
    ROW(CK_OPT_INT, workers, "workers", 0, 0, 1024, "auto",
        "threads that prepare batches; auto: as many as cores"),
    ROW(CK_OPT_INT, prefetch, "prefetch", 3, 1, 1024, NULL, "batches prepared ahead"),
    ROW(CK_OPT_CHOICE, bad, "bad", CK_BAD_SKIP, 0, CK_BAD_REPLACE, "error|skip|replace",
        "unreadable images: stop, skip, or replace by another image"),
    ROW(CK_OPT_FLOAT, max_bad, "max-bad", 0.01, 0, 1, NULL,
        "fraction of unreadable images beyond which to stop"),
    ROW(CK_OPT_FLAG, shuffle, "shuffle", 1, 0, 1, NULL, "a new order in each epoch"),
    {.name = "rank",
     .type = CK_OPT_INT,
     .offset = offsetof(struct ck_loader_options, rank),
     .max = 1 << 20,
     .help = "this process's number in a job of several",
     .local = 1},
    {.name = "ranks",
     .type = CK_OPT_INT,
     .offset = offsetof(struct ck_loader_options, ranks),
     .max = 1 << 20,
     .help = "processes of the job; 0: one alone",
     .local = 1},
};

const struct ck_option_table *ck_loader_own_table(void)
{
    static const struct ck_option_table t =
        CK_OPTION_TABLE(loader_rows, struct ck_loader_options);
    return &t;
}

static struct ck_option_part loader_parts[2];
static struct ck_option loader_all[32];
static struct ck_option_table loader_table;

static void join_loader(void)
{
    loader_parts[0] = (struct ck_option_part){ck_view_option_table(),
                                              offsetof(struct ck_loader_options, view), NULL};
    loader_parts[1] = (struct ck_option_part){ck_loader_own_table(), 0, NULL};
    ck_option_join(&loader_table, loader_all, 32, sizeof(struct ck_loader_options),
                   loader_parts, 2);
}

const struct ck_option_table *ck_loader_option_table(void)
{
    static struct ck_once once = CK_ONCE;
    ck_once(&once, join_loader);
    return &loader_table;
}

struct ck_loader_options ck_loader_options_default(void)
{
    struct ck_loader_options o;
    ck_options_default(ck_loader_option_table(), &o);
    return o;
}

int ck_loader_options_check(const struct ck_loader_options *o)
{
    CK_RETURN_IF(ck_options_check(ck_loader_option_table(), o));
    if (o->rank >= (o->ranks ? o->ranks : 1))
        return ck_fail(COKE_EUSAGE, "rank: %lld is not within 0..%lld", (long long)o->rank,
                       (long long)(o->ranks ? o->ranks - 1 : 0));
    return COKE_OK;
}

/* ---- shards ---- */

#undef ROW
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_pack_options, field, name, def, min, max, choices, help)

static const struct ck_option pack_rows[] = {
    ROW(CK_OPT_INT, size, "size", 256, 0, CK_IMAGE_MAX_SIDE, NULL,
        "maximum short side; larger images are resized; 0: as they are"),
    ROW(CK_OPT_CHOICE, format, "format", 0, 0, 2, "jpeg|png|ppm",
        "jpeg: small files; png: no loss; ppm: no decoding, largest"),
    ROW(CK_OPT_INT, quality, "quality", 90, 1, 100, NULL, "of JPEG"),
    ROW(CK_OPT_INT, shard_size, "shard-size", 1e9, 1e3, 1e15, NULL,
        "bytes after which a new shard begins"),
};

const struct ck_option_table *ck_pack_option_table(void)
{
    static const struct ck_option_table t = CK_OPTION_TABLE(pack_rows, struct ck_pack_options);
    return &t;
}

struct ck_pack_options ck_pack_options_default(void)
{
    struct ck_pack_options o;
    ck_options_default(ck_pack_option_table(), &o);
    return o;
}
