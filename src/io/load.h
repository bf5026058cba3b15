/* load.h - whole files and parts of files read with read(), not mapped: a failing disk, or a
 * file that shrinks meanwhile, is an error and not a signal. */
#ifndef CK_LOAD_H
#define CK_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Opens a regular file (anything else is refused, without waiting for a pipe's writer). */
int ck_load_open(const char *path, int *fd, int64_t *size);

/* Exactly n bytes at offset; a file that ends before is COKE_EIO: it was longer. Any thread. */
int ck_load_at(int fd, const char *name, int64_t offset, void *out, size_t n);

/* A whole file into *buffer [*capacity], which grows as needed (and is never left NULL). At
 * most `most` bytes: a larger file is COKE_EFORMAT. */
int ck_load_file(const char *path, int64_t most, unsigned char **buffer, size_t *capacity,
                 size_t *size);

/* Room for n bytes and one more; the contents are lost. */
int ck_load_reserve(unsigned char **buffer, size_t *capacity, size_t n);

#endif
