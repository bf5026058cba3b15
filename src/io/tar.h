/* tar.h - the members of a tar archive, in order: ustar, GNU and pax, from a file or a pipe.
 *
 * Nothing is unpacked: names are just names, wherever they would lead. */
#ifndef CK_TAR_H
#define CK_TAR_H

#include "io/stream.h"

/* A regular file in the archive. */
struct ck_tar_member {
    const char *name; /* valid until the next call */
    int64_t offset;   /* of its data in the (uncompressed) archive */
    int64_t size;
};

/* Zeroed, then `in` set = ready. */
struct ck_tar {
    struct ck_stream *in;
    int64_t left;   /* bytes of the current member that were not read yet */
    size_t padding; /* behind them */
    int broken;     /* nothing more can be had of it: an error was returned */
    int ended;      /* blocks of zeros were seen */
    int unended;    /* it ended without the blocks of zeros that should end it */
    int64_t odd;    /* members that are not files or folders: links, devices, unknown types */
    char *name;     /* of the current member */
    size_t room;
    char *extended; /* of an extended header */
    size_t extended_room;
};

/* *more = 0: the archive ends, with or without blocks of zeros. Folders, links and other odd
 * members are passed over. A header that is damaged is COKE_EFORMAT, sparse files are, too. */
int ck_tar_next(struct ck_tar *t, struct ck_tar_member *out, int *more);
/* Data of the current member: up to n bytes, *got < n only where it ends. */
int ck_tar_read(struct ck_tar *t, void *out, size_t n, size_t *got);
void ck_tar_release(struct ck_tar *t); /* the stream stays open */

#endif
