/* pack.h - writes a data set as resized WebDataset shards (`coke data pack`). */
#ifndef CK_PACK_H
#define CK_PACK_H

#include "data/fetch.h"

/* Writes PREFIX-000000.tar, ... and PREFIX-classes.txt, in the order of the data set. Files
 * appear only after all images were packed; without force, existing ones are an error before
 * any work. */
int ck_pack(struct coke_dataset *d, const char *prefix, const struct ck_pack_options *o,
            int force, const struct coke_callbacks *callbacks, struct coke_pack_summary *out);

#endif
