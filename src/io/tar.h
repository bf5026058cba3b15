/* tar.h - iterates over the members of a tar archive: ustar, GNU and pax, from a file or a
 * pipe.
 *
 * Nothing is unpacked to disk, so member names such as ../x are harmless. One thread at a time
 * per archive. */
#ifndef CK_TAR_H
#define CK_TAR_H

#include "io/stream.h"

/* A regular file in the archive. */
struct ck_tar_member {
    const char *name; /* valid until the next call */
    int64_t offset;   /* of its data in the (uncompressed) archive */
    int64_t size;
    uint64_t sum; /* XXH3 of its data; 0 = unknown */
};

/* ck_tar_add puts the checksum of a member where its group has a name, a field that is free text
 * and means nothing for owner 0: "xxh3-" and 16 digits. */
#define CK_TAR_SUM "xxh3-"

/* COKE_EFORMAT if the data of a member have another checksum than `sum`, unless that is 0. */
int ck_tar_check(const char *archive, const char *member, uint64_t sum, const void *data,
                 size_t n);

/* Initialize with zeros and set `in` (borrowed). */
struct ck_tar {
    struct ck_stream *in;
    int64_t left;   /* unread bytes of the current member */
    size_t padding; /* bytes of padding after them */
    int broken;     /* an error was returned; nothing more can be read */
    int ended;      /* the end mark (blocks of zeros) was seen */
    int unended;    /* the archive ended without its end mark: truncated? */
    int64_t odd;    /* skipped special members: links, devices, unknown types */
    char *name;     /* of the current member */
    size_t room;
    char *extended; /* contents of an extended header */
    size_t extended_room;
};

/* Moves to the next regular file; *more = 0 at the end, with or without an end mark. Skips
 * folders, links and other special members. Damaged headers and sparse files are
 * COKE_EFORMAT. */
int ck_tar_next(struct ck_tar *t, struct ck_tar_member *out, int *more);
/* Reads up to n bytes of the current member; *got < n only at its end. */
int ck_tar_read(struct ck_tar *t, void *out, size_t n, size_t *got);
void ck_tar_release(struct ck_tar *t); /* the stream stays open */

#endif
