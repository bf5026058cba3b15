/* pack.h - a data set as resized WebDataset shards. */
#ifndef CK_PACK_H
#define CK_PACK_H

#include "data/fetch.h"

typedef void ck_say_bad(void *user, int64_t i, const char *sentence);

int ck_pack(struct coke_dataset *d, const char *prefix, const struct ck_pack_options *o,
            int force, const struct coke_callbacks *callbacks, ck_say_bad *say_bad,
            struct coke_packed *out);

#endif
