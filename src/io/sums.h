/* sums.h - checksums beside the files that have no room for one: .npy, text and JSON.
 *
 * The files of a folder are in one list, FOLDER/checksums.xxh3; a single FILE has FILE.xxh3,
 * which counts more. Both are text in the format of `xxhsum -c`: a line "XXH3 (NAME) = <16 digits>"
 * per file. Files without a line are not verified: whoever changes a file on purpose deletes the
 * line or the list. */
#ifndef CK_SUMS_H
#define CK_SUMS_H

#include "io/file.h"

#include <stdint.h>

#define CK_SUMS_LIST "checksums.xxh3"
#define CK_SUMS_END ".xxh3" /* FILE.xxh3 */

/* Verifies the bytes of a file that was read: COKE_EFORMAT if it has a checksum and they have
 * another. data may be mapped. */
int ck_sums_check(const char *path, const void *data, size_t n);

/* Appends the line of a file to w, which becomes a list. */
int ck_sums_add(struct ck_writer *w, const char *name, uint64_t hash);
/* The same for a file that is being written, and all of which ck_writer_write got. */
int ck_sums_add_writer(struct ck_writer *w, const struct ck_writer *file);

/* The same for a file of that folder, if it is there. */
int ck_sums_add_file(struct ck_writer *w, const char *folder, const char *name);

/* ck_writer_commit, and FILE.xxh3 with it; pipes get none. A killed process leaves the file with
 * its checksum, or without one, but never with that of the file before. */
int ck_sums_commit(struct ck_writer *w);

#endif
