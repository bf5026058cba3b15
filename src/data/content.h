/* content.h - hashes of some images of a data set, so that a file that was replaced under its old
 * name is noticed. Cheap enough for every start of a training. */
#ifndef CK_CONTENT_H
#define CK_CONTENT_H

#include "data/dataset.h"

/* Images that are read: all of a small data set, of a larger one the first, the last and others
 * that depend on the number of images alone. None of a source that is read once, nor of
 * generated images. */
enum { CK_CONTENT_MAX = 1024 };
int64_t ck_content_count(const struct ck_dataset *d);
/* The image of sample i, in ascending order. */
int64_t ck_content_image(const struct ck_dataset *d, int64_t i);

/* Hashes of the samples, out [ck_content_count]: of the bytes of the file, or of the pixels where
 * the images are not files. A damaged image has hash 0. Fails where the loader would, by a failing disk or memory:
 * a hash of 0 that a checkpoint kept would make every later start differ. */
int ck_content_hash(struct ck_dataset *d, uint64_t *out);

#endif
