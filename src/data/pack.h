/* pack.h - a data set as resized WebDataset shards. */
#ifndef CK_PACK_H
#define CK_PACK_H

#include "data/fetch.h"

int ck_pack(struct coke_dataset *d, const char *prefix, const struct ck_pack_options *o,
            int force, const struct coke_callbacks *callbacks, struct coke_pack_summary *out);

#endif
