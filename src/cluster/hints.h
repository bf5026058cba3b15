/* hints.h - warns before a clustering by cosine where the rows suggest another metric. */
#ifndef CK_HINTS_H
#define CK_HINTS_H

#include "cluster/scan.h"

/* Looks at up to 512 rows, drawn by `seed`: warns if nearly all point one way, or else if their
 * lengths differ a lot. Fails only with COKE_ENOMEM: rows
 * that cannot be used are found later. Not for streams. */
int ck_hints_give(const struct ck_scan *s, uint64_t seed, const struct coke_callbacks *cb);

#endif
