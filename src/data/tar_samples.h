/* tar_samples.h - the samples of a tar file in the WebDataset convention: consecutive members
 * whose names agree up to the first dot of the last path component are one sample. */
#ifndef CK_TAR_SAMPLES_H
#define CK_TAR_SAMPLES_H

#include "data/dataset.h"
#include "io/tar.h"

struct ck_sample {
    const char *key;      /* valid until the next call */
    int64_t offset, size; /* of the image in the tar file, bytes */
    uint64_t sum;         /* of these bytes, 0 = unknown */
    int32_t label;        /* from .cls, -1 = none */
};

/* What was skipped. */
struct ck_sample_counts {
    int64_t without; /* samples without an image */
    int64_t further; /* further images of a sample */
    int64_t odd;     /* members that are links, devices or unknown */
    int64_t unended; /* archives without an end mark: perhaps truncated */
};

/* Initialize with zeros and set tar.in. */
struct ck_samples {
    struct ck_tar tar;
    struct ck_tar_member member; /* the member read ahead */
    size_t key_length;           /* of the member's name */
    int pending;                 /* whether there is one */
    char *key;
    size_t room;
    struct ck_sample_counts counts;
};

/* Moves to the next sample that has an image. Of its members it takes the first with only an
 * image's extension (x.jpg), else the first that ends in one (x.left.jpg), else the first that
 * is a JPEG, PNG or WebP by its content. Reads the image into item (NULL = skip the data).
 * *more = 0: no more samples. */
int ck_samples_next(struct ck_samples *s, struct ck_item *item, struct ck_sample *out,
                    int *more);
void ck_samples_release(struct ck_samples *s);

#endif
