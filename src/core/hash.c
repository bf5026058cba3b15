/* hash.c - XXH3 of 64 bits, and samples whose hashes stand for the whole. */
#include "core/hash.h"
#include "core/error.h"

#include <stdio.h>
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

void ck_hash_print(uint64_t hash, char out[CK_HASH_DIGITS + 1])
{
    snprintf(out, CK_HASH_DIGITS + 1, "%016llx", (unsigned long long)hash);
}

int ck_hash_parse(const char text[CK_HASH_DIGITS], uint64_t *hash)
{
    static const char digits[] = "0123456789abcdef";
    *hash = 0;
    for (int i = 0; i < CK_HASH_DIGITS; i++) {
        const char *at = memchr(digits, text[i], CK_HASH_DIGITS);
        if (!at)
            return 0;
        *hash = *hash << 4 | (uint64_t)(at - digits);
    }
    return 1;
}

static XXH3_state_t *state(const struct ck_hash_stream *s)
{
    return (XXH3_state_t *)(uintptr_t)s;
}

struct ck_hash_stream *ck_hash_stream_new(void)
{
    XXH3_state_t *s = XXH3_createState();
    if (!s)
        ck_fail(COKE_ENOMEM, "out of memory");
    else
        XXH3_64bits_reset(s);
    return (struct ck_hash_stream *)s;
}

void ck_hash_stream_add(struct ck_hash_stream *s, const void *data, size_t n)
{
    if (s && n)
        XXH3_64bits_update(state(s), data, n);
}

uint64_t ck_hash_stream_value(const struct ck_hash_stream *s)
{
    return s ? XXH3_64bits_digest(state(s)) : 0;
}

void ck_hash_stream_free(struct ck_hash_stream *s)
{
    XXH3_freeState(state(s));
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
