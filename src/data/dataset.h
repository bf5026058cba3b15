/* dataset.h - images and labels from what users have, behind one interface.
 *
 * What a source is follows from its name and contents:
 *
 *     DIR                          images, with a class for each subfolder or without labels;
 *                                  or the folder of CIFAR-10/100 binary files or of MNIST
 *     FILE.txt .tsv .csv .list     one image a line: path, optional label
 *     x-{000..146}.tar, FILE.tar   tar shards in the WebDataset convention
 *     FILE.tar.gz, -               the same, in a single pass
 *     data_batch_1.bin             CIFAR binary records
 *     ...-idx3-ubyte[.gz]          IDX images; labels from the file beside it
 *     FILE.npy                     u8 images [n][h][w][c] or [n][h][w]
 *     synthetic:[n=..,size=..,seed=..]   generated
 *
 * A folder with an image directly in it is flat: no labels, whatever lies in its subfolders.
 * Classes are ordered by code point; numbers as labels keep their values where these are 0, 1,
 * 2, ... without gaps. Class names of shards come from x-classes.txt beside them, a name a
 * line. Anything that was left out or decided for the user is said in `note`. */
#ifndef CK_DATASET_H
#define CK_DATASET_H

#include "data/data_options.h"
#include "image/codec.h"

/* One image as it comes from a data set: a file's bytes, or pixels. Reused from image to image;
 * zeroed = ready. */
struct ck_item {
    const unsigned char *bytes; /* [size] an encoded file, valid until the next read into this
                                 * item; NULL = see pixels */
    size_t size;
    struct ck_image pixels;
    unsigned char *buffer; /* memory behind bytes */
    size_t capacity;
};
void ck_item_release(struct ck_item *item);

struct ck_dataset;

/* What a kind of source implements. */
struct ck_dataset_type {
    const char *kind; /* "folder", "list", "tar", "CIFAR-10", ... */
    int (*read)(struct ck_dataset *d, int64_t i, struct ck_item *item);
    void (*name)(const struct ck_dataset *d, int64_t i, char *text, size_t size);
    /* The file that image i is, as a path from here; NULL = images are no files. */
    int (*path)(const struct ck_dataset *d, int64_t i, char *path, size_t size);
    void (*free)(struct ck_dataset *d); /* what the kind added; NULL = nothing */
    /* Of the item just read, in a single pass; NULL = label[i]. */
    int32_t (*label)(const struct ck_dataset *d);
    int splits; /* options->split chooses a part */
    int coarse; /* options->coarse is known */
};

struct ck_dataset {
    const struct ck_dataset_type *type;
    int64_t n;                       /* -1: a single pass, whose end is not known before */
    int32_t classes;                 /* 0 = no labels, or a single pass: not known before */
    int32_t width, height, channels; /* of every image, where the source says so; else 0 */
    char *source;                    /* as the user gave it */
    char **class_name;               /* [classes] */
    int32_t *label;                  /* [n] 0..classes-1, -1 = unknown; NULL without labels, and
                                      * in a single pass */
    uint64_t *id;                    /* [n] all different, and stable: a hash of path or record,
                                      * not of position; NULL in a single pass */
    char *note;                      /* what the user should know, in sentences, or "" */
};

int ck_dataset_open(struct ck_dataset **out, const char *source,
                    const struct ck_dataset_options *options);
void ck_dataset_free(struct ck_dataset *d);

/* Any image from any thread, each with its own item (a single pass: one thread, i ascending by
 * one, and past the end item->bytes and item->pixels.width are 0). COKE_EIO: the disk,
 * COKE_EFORMAT: this image is not what it should be. */
int ck_dataset_read(struct ck_dataset *d, int64_t i, struct ck_item *item);
/* The label of the item just read, which in a single pass is known only now; -1 = unknown. */
int32_t ck_dataset_label(const struct ck_dataset *d, int64_t i);
/* "cats/tabby.jpg", "data_batch_1.bin#17": for people, and where ids come from. */
void ck_dataset_name(const struct ck_dataset *d, int64_t i, char *text, size_t size);

/* A hash over all ids and labels in their order. */
uint64_t ck_dataset_fingerprint(const struct ck_dataset *d);

/* How d differs from a set that had these ids [n]: counts, and a map from now to then. */
struct ck_dataset_change {
    int64_t added, removed, moved; /* moved: known, but at another position */
};
/* then [d->n]: position among the old ids, -1 = new. May be NULL. */
int ck_dataset_compare(const struct ck_dataset *d, const uint64_t *id, int64_t n,
                       struct ck_dataset_change *out, int64_t *then);

#endif
