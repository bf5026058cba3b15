/* hash.h - XXH3, 64 bits, and which samples stand for a whole. The values are stored in files (ids,
 * indexes, checkpoints), so the functions must never change. */
#ifndef CK_HASH_H
#define CK_HASH_H

#include <stddef.h>
#include <stdint.h>

/* data may be NULL if n is 0. */
uint64_t ck_hash(const void *data, size_t n, uint64_t seed);
uint64_t ck_hash_text(const char *text); /* without the terminating zero, seed 0 */

/* The position of sample i of `count` among n items, ascending in i: the first, the last, and one
 * of every other of `count` equal parts, which depends on n and i alone. 1 <= count <= n, and
 * n * count fits into 63 bits. */
int64_t ck_sample_at(int64_t n, int64_t count, int64_t i);

#endif
