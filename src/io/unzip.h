/* unzip.h - reads one entry of a zip archive in order, stored or deflated, and verifies its
 * checksum. */
#ifndef CK_UNZIP_H
#define CK_UNZIP_H

#include "io/zip.h"

/* Zeroed = closed. */
struct ck_unzip {
    struct ck_zip_entry
        entry;        /* its bytes are borrowed from the archive, which may be mapped */
    void *inflater;   /* zlib's state; NULL = stored */
    uint64_t in, out; /* bytes consumed and produced so far */
    uint32_t crc;
};

/* COKE_EFORMAT for other compressions, and where the sizes cannot be true. */
int ck_unzip_open(struct ck_unzip *u, const char *name, const struct ck_zip_entry *e);
/* Reads exactly n bytes; name is for messages. */
int ck_unzip_read(struct ck_unzip *u, const char *name, void *out, size_t n);
/* After all entry.full bytes were read: that nothing follows, and the checksum. */
int ck_unzip_end(struct ck_unzip *u, const char *name);
void ck_unzip_close(struct ck_unzip *u);

#endif
