/* spool.h - a .npy from a pipe, kept in a temporary file so that it can be read again. */
#ifndef CK_SPOOL_H
#define CK_SPOOL_H

#include "io/file.h"

/* Copies what fd brings to an unnamed file in dir (NULL: $TMPDIR or /tmp) and maps it. No more
 * is copied than the .npy header promises. note [size] says what was done, and why. */
int ck_spool_npy(struct ck_map *out, int fd, const char *name, const char *dir, char *note,
                 size_t size);

/* Data that go on after the promised end are an error. */
int ck_spool_expect_end(int fd, const char *name, long long promised);

#endif
