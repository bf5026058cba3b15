/* hash.h - XXH3, 64 bits, and which samples stand for a whole. The values are stored in files (ids,
 * indexes, checkpoints), so the functions must never change. */
#ifndef CK_HASH_H
#define CK_HASH_H

#include <stddef.h>
#include <stdint.h>

/* data may be NULL if n is 0. */
uint64_t ck_hash(const void *data, size_t n, uint64_t seed);
uint64_t ck_hash_text(const char *text); /* without the terminating zero, seed 0 */

/* As text: CK_HASH_DIGITS hexadecimal digits, in small letters. Parsing reads just those and
 * returns 0 if another character is among them. */
enum { CK_HASH_DIGITS = 16 };
void ck_hash_print(uint64_t hash, char out[CK_HASH_DIGITS + 1]);
int ck_hash_parse(const char text[CK_HASH_DIGITS], uint64_t *hash);

/* ck_hash of bytes that arrive in parts, with seed 0. NULL: out of memory, with its sentence; all
 * functions below take NULL, and the value of NULL is 0. */
struct ck_hash_stream;
struct ck_hash_stream *ck_hash_stream_new(void);
void ck_hash_stream_add(struct ck_hash_stream *s, const void *data, size_t n);
uint64_t ck_hash_stream_value(const struct ck_hash_stream *s); /* of all bytes so far */
void ck_hash_stream_free(struct ck_hash_stream *s);

/* The position of sample i of `count` among n items, ascending in i: the first, the last, and one
 * of every other of `count` equal parts, which depends on n and i alone. 1 <= count <= n, and
 * n * count fits into 63 bits. */
int64_t ck_sample_at(int64_t n, int64_t count, int64_t i);

#endif
