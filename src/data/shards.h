/* shards.h - tar files that are read once, in order; private to shards.c and
 * shards_stream.c. */
#ifndef CK_SHARDS_H
#define CK_SHARDS_H

#include "data/dataset_kinds.h"

/* Takes over the contents of *paths, also on failure of the first shard. */
int ck_shards_open_stream(struct ck_dataset **out, const char *source, struct ck_names *paths);

/* Adds notes to d about samples and members that were skipped. */
struct ck_sample_counts;
int ck_shards_note(struct ck_dataset *d, const struct ck_sample_counts *counts);

#endif
