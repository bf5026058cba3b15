/* zip.h - zip archives as torch.save and numpy.savez write them. */
#ifndef CK_ZIP_H
#define CK_ZIP_H

#include "io/file.h"

#include <stdint.h>

/* ---- reading: an archive in memory ---- */

struct ck_zip_entry {
    const char *name; /* points into the archive, not zero-terminated */
    size_t name_size;
    const unsigned char *data;
    size_t size;   /* bytes in the archive */
    uint64_t full; /* bytes when decompressed */
    uint32_t crc;
    int stored;   /* not compressed */
    int deflated; /* compressed in the one way that io/unzip.h knows */
};

struct ck_zip {
    const char *path;           /* for messages; borrowed, and so are the archive's bytes */
    struct ck_zip_entry *entry; /* sorted by name */
    int n;
};

/* Reads the directory. COKE_EFORMAT unless all entries lie within the archive, do not overlap,
 * have different names and are not encrypted. Checksums are verified by ck_zip_check, per
 * entry. */
int ck_zip_init(struct ck_zip *z, const char *path, const unsigned char *data, size_t size);
void ck_zip_release(struct ck_zip *z);

/* The entry named PREFIX + NAME, or NULL; valid until ck_zip_release. */
const struct ck_zip_entry *ck_zip_find(const struct ck_zip *z, const char *prefix,
                                       size_t prefix_size, const char *name);
/* COKE_EFORMAT if the entry is compressed or its checksum does not match. */
int ck_zip_check(const struct ck_zip *z, const struct ck_zip_entry *e);

/* ---- writing ---- */

/* An archive being written: initialize with zeros and set `file` (borrowed). Each entry's data
 * begin at a multiple of 64 bytes, as in torch's files. Archives and entries are limited to 4
 * GB: more is COKE_EUSAGE. */
struct ck_zip_out {
    struct ck_writer *file;
    uint64_t at; /* bytes written */
    struct ck_zip_made *made;
    int n;
    int64_t room;
};

int ck_zip_add(struct ck_zip_out *z, const char *name, const void *data, size_t size);
int ck_zip_end(struct ck_zip_out *z); /* writes the directory */
void ck_zip_out_release(struct ck_zip_out *z);

#endif
