/* hash.c - XXH3 of 64 bits, and samples whose hashes stand for the whole. */
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

int64_t ck_sample_at(int64_t n, int64_t count, int64_t i)
{
    int64_t from = i * n / count, to = (i + 1) * n / count;
    if (i == 0)
        return 0;
    if (i == count - 1)
        return n - 1;
    return from + (int64_t)(ck_hash(&i, sizeof i, (uint64_t)n) % (uint64_t)(to - from));
}
