/* hash.h - XXH3, 64 bits. The values are stored in files (ids, indexes, checkpoints), so the
 * function must never change. */
#ifndef CK_HASH_H
#define CK_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t ck_hash(const void *data, size_t n, uint64_t seed);
uint64_t ck_hash_text(const char *text); /* without the terminating zero, seed 0 */

#endif
