/* rows_paths.h - which files are meant: patterns and folders, and arrays within files. */
#ifndef CK_ROWS_PATHS_H
#define CK_ROWS_PATHS_H

#include <stdint.h>

/* A list of paths. Owns all; zeroed = empty. */
struct ck_paths {
    char **path; /* [n] */
    int64_t n, room;
    int64_t left_out; /* files in folders that have no ending of rows */
};

/* Replaces patterns ("shards/part-*.npy"; a file of that very name comes first) by the files that
 * match them, and folders by the files in them, both sorted by the bytes of the names. Of a
 * folder, hidden files are left out and, unless `any` is set, those without an ending of rows.
 * Everything else is passed through. */
int ck_paths_expand(struct ck_paths *out, const char *const *paths, int npaths, int any);
void ck_paths_release(struct ck_paths *p);

/* "file.npz:train" is the array "train" if there is no file of that name and a file "file.npz".
 * *length: of the file's path; returns the array's name, within path, or NULL. */
const char *ck_paths_array(const char *path, int *length);

/* Whether the path ends like a file of rows: .npy, .fbin, ... */
int ck_paths_is_rows(const char *path);

#endif
