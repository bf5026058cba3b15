/* load.h - reads whole files or parts of them with read() instead of mapping them: a failing
 * disk, or a file that shrinks during the read, is an error and not a signal. */
#ifndef CK_LOAD_H
#define CK_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Opens a regular file; the caller closes *fd. Anything else is refused without blocking on a
 * pipe that has no writer. */
int ck_load_open(const char *path, int *fd, int64_t *size);

/* Reads exactly n bytes at offset; a file that ends earlier has been truncated since it was
 * opened: COKE_EIO. Uses pread, so several threads may share fd. */
int ck_load_at(int fd, const char *name, int64_t offset, void *out, size_t n);

/* Hashes the size and 16 blocks of the file: the first, the last and some between them; all of a
 * file of up to 256 KB. Other content is noticed, a small change may not be. Takes less than a
 * millisecond if the file is cached, else 16 reads. */
int ck_load_sample(int fd, const char *name, int64_t size, uint64_t *hash);

/* Reads a whole file into *buffer [*capacity], which grows as needed and is never left NULL on
 * success; the caller owns it and may reuse it for the next file. A file of more than `max`
 * bytes is COKE_EFORMAT. */
int ck_load_file(const char *path, int64_t max, unsigned char **buffer, size_t *capacity,
                 size_t *size);

/* Makes room for n bytes and one more (for a terminating zero); discards the contents. */
int ck_load_reserve(unsigned char **buffer, size_t *capacity, size_t n);

#endif
