/* shard_index.h - where the images of a tar file are: found by one scan, then cached in a file.
 *
 * The cache is FILE.tar.cokeidx beside the tar file, or in a cache folder. It records the size
 * and modification time of the tar file and a hash of a sample of its bytes, and carries a
 * checksum; an index that does not match is rebuilt. */
#ifndef CK_SHARD_INDEX_H
#define CK_SHARD_INDEX_H

#include "data/names.h"
#include "data/tar_samples.h"

struct ck_shard_record {
    int64_t offset, size; /* of the image in the tar file, bytes */
    int64_t label;        /* -1 = none */
    uint64_t sum;         /* XXH3 of the image, 0 = unknown */
};

/* Initialize with zeros. Owns record and keys. */
struct ck_shard_index {
    int64_t n, room;
    struct ck_shard_record *record; /* [n] */
    struct ck_names keys;           /* [n] */
    struct ck_sample_counts counts;
    int64_t size; /* of the tar file */
    int kept;     /* stored in a cache file */
};

/* Reads the index of the tar file at path, or builds and stores it. cache_dir as in
 * ck_dataset_options. Failing to store the index is not an error: kept = 0. */
int ck_shard_index_open(struct ck_shard_index *x, const char *path, const char *cache_dir);
void ck_shard_index_release(struct ck_shard_index *x);

#endif
