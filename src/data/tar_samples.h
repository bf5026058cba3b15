/* tar_samples.h - the samples of a tar file in the WebDataset convention: members in a row
 * whose names agree up to the first dot of the last part are one sample. */
#ifndef CK_TAR_SAMPLES_H
#define CK_TAR_SAMPLES_H

#include "data/dataset.h"
#include "io/tar.h"

struct ck_sample {
    const char *key;      /* valid until the next call */
    int64_t offset, size; /* of the image in the tar file */
    int32_t label;        /* from .cls, -1 = none */
};

/* What was passed over. */
struct ck_sample_counts {
    int64_t without; /* samples without an image */
    int64_t further; /* images beside the one taken */
    int64_t odd;     /* members that are links, devices or unknown */
    int64_t unended; /* archives without an end mark: perhaps cut short */
};

/* Zeroed, then tar.in set = ready. */
struct ck_samples {
    struct ck_tar tar;
    struct ck_tar_member member; /* read ahead */
    size_t key_length;           /* of the member's name */
    int pending;                 /* is there one? */
    char *key;
    size_t room;
    struct ck_sample_counts counts;
};

/* The next sample that has an image: of its members the first with an image's extension and
 * nothing else behind the first dot (x.jpg), else the first with one (x.left.jpg), else the
 * first that is a JPEG, PNG or WebP by its content. Its bytes go into item (NULL = nowhere).
 * *more = 0: no further. */
int ck_samples_next(struct ck_samples *s, struct ck_item *item, struct ck_sample *out,
                    int *more);
void ck_samples_release(struct ck_samples *s);

#endif
