/* hash.c - XXH3 of 64 bits. */
#include "core/hash.h"

#include <string.h>
#include <xxhash.h>

uint64_t ck_hash(const void *data, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(n ? data : "", n, seed);
}

uint64_t ck_hash_text(const char *text)
{
    return ck_hash(text, strlen(text), 0);
}
