/* spool.h - temporary files for rows that cannot be read where they are: pipes, compressed
 * arrays, arrays in column order. */
#ifndef CK_SPOOL_H
#define CK_SPOOL_H

#include "io/file.h"

#include <stdint.h>

/* What was spooled for one list of rows, for the user. */
struct ck_spooled {
    const char *dir; /* NULL: $TMPDIR or /tmp */
    int files;
    int64_t bytes;
    char note[512]; /* what was done and why; "" = nothing */
};

/* A file without a name: its space is freed when it is closed and its map released. Zeroed =
 * closed. */
struct ck_spool {
    const char *dir; /* for messages */
    int fd;
    int is_open;
};

int ck_spool_open(struct ck_spool *s, const char *dir); /* NULL as above */
/* COKE_EIO, with sizes and the remedy, unless `bytes` more have room on its disk. */
int ck_spool_room(const struct ck_spool *s, const char *name, int64_t bytes);
int ck_spool_write(struct ck_spool *s, const void *data, size_t n);
/* Maps what was written, and adds it to `all`; name and reason are for the note: "because
 * REASON". */
int ck_spool_map(struct ck_spool *s, struct ck_map *out, struct ck_spooled *all,
                 const char *name, const char *reason);
void ck_spool_close(struct ck_spool *s);

/* Copies a .npy from a pipe, no more than its header says, and maps it. The caller keeps fd. */
int ck_spool_npy(struct ck_map *out, int fd, const char *name, struct ck_spooled *all);
/* The same for rows without a header: everything up to the end. */
int ck_spool_rest(struct ck_map *out, int fd, const char *name, struct ck_spooled *all);

/* Spools the columns [dim][n] of elements of `size` bytes (1, 2, 4 or 8) at `data`, which may be
 * a mapped file, as rows [n][dim]. */
int ck_spool_columns(struct ck_map *out, const char *name, const unsigned char *data, int64_t n,
                     int32_t dim, size_t size, struct ck_spooled *all);

/* COKE_EFORMAT if more data follow after the `promised` bytes. */
int ck_spool_expect_end(int fd, const char *name, long long promised);

#endif
