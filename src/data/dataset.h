/* dataset.h - images and labels from any supported source, behind one interface.
 *
 * The kind of a source follows from its name and contents:
 *
 *     DIR                          images, with a class for each subfolder or without labels;
 *                                  or the folder of CIFAR-10/100 binary files or of MNIST
 *     FILE.txt .tsv .csv .list     one image per line: path, optional label
 *     x-{000..146}.tar, FILE.tar   tar shards in the WebDataset convention
 *     FILE.tar.gz, -               the same, readable only once and in order
 *     data_batch_1.bin             CIFAR binary records
 *     ...-idx3-ubyte[.gz]          IDX images; labels from the file beside it
 *     FILE.npy                     u8 images [n][h][w][c] or [n][h][w]
 *     synthetic:[n=..,size=..,seed=..]   generated
 *
 * A folder with an image directly in it is flat: no labels, whatever its subfolders contain.
 * Classes are sorted by code point; numeric labels keep their values if these are 0, 1, 2, ...
 * without gaps. Class names of shards come from x-classes.txt beside them, one per line. `note`
 * tells the user what was skipped or decided automatically. */
#ifndef CK_DATASET_H
#define CK_DATASET_H

#include "core/first_error.h"
#include "data/data_options.h"
#include "image/codec.h"

/* One image as read from a data set: the bytes of a file, or pixels. One per thread, reused
 * from image to image; initialize with zeros. */
struct ck_item {
    const unsigned char *bytes; /* [size] an encoded file, valid until the next read into this
                                 * item; NULL = see pixels */
    size_t size;
    struct ck_image pixels;
    unsigned char *buffer; /* owned memory that bytes may point to */
    size_t capacity;
};
void ck_item_release(struct ck_item *item);

struct ck_dataset;

/* The functions that a kind of source implements. read and name are called from several threads
 * at the same time, except in a stream. */
struct ck_dataset_type {
    const char *kind; /* "folder", "list", "tar", "CIFAR-10", ... */
    int (*read)(struct ck_dataset *d, int64_t i, struct ck_item *item);
    void (*name)(const struct ck_dataset *d, int64_t i, char *text, size_t size);
    /* Path of the file of image i, relative to the working directory; NULL = images are not
     * files. */
    int (*path)(const struct ck_dataset *d, int64_t i, char *path, size_t size);
    void (*free)(struct ck_dataset *d); /* releases what the kind added; NULL = nothing */
    /* Label of the item just read from a stream; NULL = label[i]. */
    int32_t (*label)(const struct ck_dataset *d);
    int splits; /* options->split chooses a part */
    int coarse; /* options->coarse is supported */
};

struct ck_dataset {
    const struct ck_dataset_type *type;
    int64_t n;                       /* -1: a stream, whose length is not known in advance */
    int32_t classes;                 /* 0 = no labels, or a stream */
    int32_t width, height, channels; /* of every image if the source determines them; else 0 */
    char *source;                    /* as the user gave it */
    char **class_name;               /* [classes] */
    int32_t *label;                  /* [n] 0..classes-1, -1 = unknown; NULL without labels, and
                                      * in a single pass */
    uint64_t *id;                    /* [n] all different, and stable: a hash of path or record,
                                      * not of position; NULL in a single pass */
    char *note;                      /* what the user should know, in sentences, or "" */
    struct ck_first_error broken;    /* a single pass: the first shard that broke off */
};

/* Opens a source; options NULL = defaults. The caller frees *out; NULL on failure. */
int ck_dataset_open(struct ck_dataset **out, const char *source,
                    const struct ck_dataset_options *options);
void ck_dataset_free(struct ck_dataset *d);

/* Reads image i. Several threads may read at the same time, each with its own item. A stream
 * is read by one thread with i ascending by one; past its end item->bytes is NULL and
 * item->pixels.width 0. COKE_EIO is a failure of the disk, COKE_EFORMAT a defect of this
 * image. */
int ck_dataset_read(struct ck_dataset *d, int64_t i, struct ck_item *item);
/* The label of image i or, in a stream, of the item just read; -1 = unknown. */
int32_t ck_dataset_label(const struct ck_dataset *d, int64_t i);
/* A name such as "cats/tabby.jpg" or "data_batch_1.bin#17": shown to users, and hashed to
 * ids. */
void ck_dataset_name(const struct ck_dataset *d, int64_t i, char *text, size_t size);

/* Hash of all ids and labels in order; 0 for a stream. Checkpoints store it to detect other
 * data. */
uint64_t ck_dataset_fingerprint(const struct ck_dataset *d);

/* How a data set differs from an earlier one. */
struct ck_dataset_change {
    int64_t added, removed, moved; /* moved: known, but at a different position */
};
/* Compares d with the ids [n] of an earlier data set. then [d->n] (may be NULL): position among
 * the earlier ids, -1 = new. */
int ck_dataset_compare(const struct ck_dataset *d, const uint64_t *id, int64_t n,
                       struct ck_dataset_change *out, int64_t *then);

#endif
