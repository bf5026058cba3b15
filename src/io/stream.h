/* stream.h - bytes in order from a file or pipe, gunzipped on the way if need be.
 *
 * gzip is known by its first two bytes, whatever the name says; compressions that are not read
 * are known, too, and refused with the command that helps. */
#ifndef CK_STREAM_H
#define CK_STREAM_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed = closed. */
struct ck_stream {
    char *name; /* for sentences */
    int fd;
    int owned;         /* fd is closed at the end */
    int gzip;          /* compressed */
    int regular;       /* can be positioned, and its size is known */
    int64_t size;      /* of a regular file, as stored; else -1 */
    int64_t position;  /* of the next byte given, uncompressed */
    unsigned char *in; /* bytes read and not given yet: [from, until) */
    size_t from, until;
    int ended; /* the input gives no more */
    void *inflater;
};

/* path "-" = standard input. */
int ck_stream_open(struct ck_stream *s, const char *path);
int ck_stream_fd(struct ck_stream *s, int fd, const char *name); /* does not take fd */
void ck_stream_close(struct ck_stream *s);

/* Up to n bytes; *got < n only at the end. A gzip stream that ends too early is COKE_EFORMAT.
 */
int ck_stream_read(struct ck_stream *s, void *out, size_t n, size_t *got);
/* Skips n bytes; COKE_EFORMAT with this sentence's `what` if the input ends before. */
int ck_stream_skip(struct ck_stream *s, int64_t n, const char *what);
/* COKE_EFORMAT unless exactly n bytes came: "NAME: ends within WHAT". */
int ck_stream_need(struct ck_stream *s, void *out, size_t n, const char *what);

/* The most bytes that the input can hold, -1 = not known: deflate makes at most 1032 of one. */
int64_t ck_stream_limit(const struct ck_stream *s);

#endif
