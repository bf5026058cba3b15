/* stream.h - reads bytes in order from a file or pipe, and gunzips them if necessary.
 *
 * gzip is recognized by its first two bytes, whatever the file name; unsupported compressions
 * are recognized as well and refused with the command that decompresses them. One thread at a
 * time per stream. */
#ifndef CK_STREAM_H
#define CK_STREAM_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed = closed. Owns everything but, depending on `owned`, fd. */
struct ck_stream {
    char *name; /* for messages */
    int fd;
    int owned;         /* ck_stream_close closes fd */
    int gzip;          /* the input is compressed */
    int regular;       /* seekable, and its size is known */
    int64_t size;      /* of a regular file, as stored; else -1 */
    int64_t position;  /* of the next byte that a read returns, uncompressed */
    unsigned char *in; /* input read but not yet consumed: [from, until) */
    size_t from, until;
    int ended;      /* the input is at its end */
    void *inflater; /* zlib's state, or NULL */
};

/* path "-" = standard input. */
int ck_stream_open(struct ck_stream *s, const char *path);
int ck_stream_fd(struct ck_stream *s, int fd, const char *name); /* the caller keeps fd */
void ck_stream_close(struct ck_stream *s);

/* Reads up to n bytes; *got < n only at the end. A truncated gzip stream is COKE_EFORMAT. */
int ck_stream_read(struct ck_stream *s, void *out, size_t n, size_t *got);
/* Skips n bytes, by seeking where possible. COKE_EFORMAT if the input ends earlier; `what`
 * completes the message, as in ck_stream_need. */
int ck_stream_skip(struct ck_stream *s, int64_t n, const char *what);
/* Reads exactly n bytes; COKE_EFORMAT if fewer are left: "NAME: ends within WHAT". */
int ck_stream_need(struct ck_stream *s, void *out, size_t n, const char *what);

/* Upper bound of the bytes that the input can yield (deflate expands at most 1032-fold); -1 =
 * unknown. Callers check it before they allocate what a header asks for. */
int64_t ck_stream_limit(const struct ck_stream *s);

#endif
