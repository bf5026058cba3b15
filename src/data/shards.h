/* shards.h - tar files that are read once, in order; used by shards.c. */
#ifndef CK_SHARDS_H
#define CK_SHARDS_H

#include "data/dataset_kinds.h"

/* paths [n], which the set takes over. */
int ck_shards_open_stream(struct ck_dataset **out, const char *source, struct ck_names *paths);

/* In words: what samples lack. */
struct ck_sample_counts;
int ck_shards_note(struct ck_dataset *d, const struct ck_sample_counts *counts);

#endif
