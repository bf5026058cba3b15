/* zip.h - zip archives as torch.save makes them: entries that are stored, not compressed. */
#ifndef CK_ZIP_H
#define CK_ZIP_H

#include "io/file.h"

#include <stdint.h>

/* ---- reading: an archive in memory ---- */

struct ck_zip_entry {
    const char *name; /* in the archive, without a final zero */
    size_t name_size;
    const unsigned char *data;
    size_t size; /* in the archive */
    uint32_t crc;
    int stored; /* not compressed */
};

struct ck_zip {
    const char *path;           /* for sentences; borrowed, as the bytes are */
    struct ck_zip_entry *entry; /* sorted by name */
    int n;
};

/* Entries lie within the archive, do not overlap and have different names: else, and where one
 * is encrypted, COKE_EFORMAT. */
int ck_zip_init(struct ck_zip *z, const char *path, const unsigned char *data, size_t size);
void ck_zip_release(struct ck_zip *z);

/* The entry PREFIX + NAME, or NULL. */
const struct ck_zip_entry *ck_zip_find(const struct ck_zip *z, const char *prefix,
                                       size_t prefix_size, const char *name);
/* COKE_EFORMAT if the entry's bytes are compressed, or not those that were written. */
int ck_zip_check(const struct ck_zip *z, const struct ck_zip_entry *e);

/* ---- writing ---- */

/* Each entry's bytes begin at a multiple of 64, as torch has it. Archives and entries are below
 * 4 GB: more is COKE_EUSAGE. */
struct ck_zip_out {
    struct ck_writer *file;
    uint64_t at; /* bytes written */
    struct ck_zip_made *made;
    int n;
    int64_t room;
};

int ck_zip_add(struct ck_zip_out *z, const char *name, const void *data, size_t size);
int ck_zip_end(struct ck_zip_out *z); /* the directory */
void ck_zip_out_release(struct ck_zip_out *z);

#endif
