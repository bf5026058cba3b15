/* shard_index.h - where the images of a tar file are: found once, then kept in a small file.
 *
 * FILE.tar.cokeidx beside the tar file, or in a folder for such files; it names the size and
 * the time of the tar file and carries a checksum, and is made again when it does not fit. */
#ifndef CK_SHARD_INDEX_H
#define CK_SHARD_INDEX_H

#include "data/names.h"
#include "data/tar_samples.h"

struct ck_shard_record {
    int64_t offset, size; /* of the image in the tar file */
    int64_t label;        /* -1 = none */
};

/* Zeroed = empty. */
struct ck_shard_index {
    int64_t n, room;
    struct ck_shard_record *record; /* [n] */
    struct ck_names keys;           /* [n] */
    struct ck_sample_counts counts;
    int64_t size; /* of the tar file */
    int kept;     /* is in a file */
};

/* Reads the index of the tar file at path, or makes and keeps it. cache_dir as in
 * ck_dataset_options. An index that cannot be written is no error: kept = 0. */
int ck_shard_index_open(struct ck_shard_index *x, const char *path, const char *cache_dir);
void ck_shard_index_release(struct ck_shard_index *x);

#endif
