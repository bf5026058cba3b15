/* spool.h - copies a .npy from a pipe to a temporary file, so that it can be read more than
 * once. */
#ifndef CK_SPOOL_H
#define CK_SPOOL_H

#include "io/file.h"

/* Copies fd to an unnamed file in dir (NULL: $TMPDIR or /tmp) and maps it; the space is freed
 * when the map is released. Copies no more than the .npy header says. note [size] tells the
 * user what was done and why. The caller keeps fd. */
int ck_spool_npy(struct ck_map *out, int fd, const char *name, const char *dir, char *note,
                 size_t size);

/* COKE_EFORMAT if more data follow after the `promised` bytes. */
int ck_spool_expect_end(int fd, const char *name, long long promised);

#endif
