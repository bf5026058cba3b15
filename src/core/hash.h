/* hash.h - XXH3 of 64 bits. */
#ifndef CK_HASH_H
#define CK_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t ck_hash(const void *data, size_t n, uint64_t seed);
uint64_t ck_hash_text(const char *text); /* without its final zero, seed 0 */

#endif
