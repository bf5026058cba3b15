/* unzip.c - reads one entry of a zip archive in order, stored or deflated, and verifies its
 * checksum. */
#include "io/unzip.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/mem.h"

#include <string.h>
#include <zlib.h>

/* PIECE: bytes per call of zlib, whose counters have 32 bits. RATIO: deflate expands no more. */
enum { PIECE = 1 << 30, RATIO = 1032 };

static void *zlib_alloc(void *unused, unsigned n, unsigned size)
{
    (void)unused;
    return ck_alloc_array(n, size);
}

static void zlib_free(void *unused, void *p)
{
    (void)unused;
    ck_free(p);
}

int ck_unzip_open(struct ck_unzip *u, const char *name, const struct ck_zip_entry *e)
{
    *u = (struct ck_unzip){.entry = *e};
    if (e->stored)
        return COKE_OK;
    if (!e->deflated)
        return ck_fail(COKE_EFORMAT, "%s: compressed by other means than deflate", name);
    if (e->full / RATIO > e->size + 1)
        return ck_fail(COKE_EFORMAT, "%s: damaged: %llu bytes cannot be deflated to %zu", name,
                       (unsigned long long)e->full, e->size);
    z_stream *z = ck_calloc_array(1, sizeof *z);
    if (!z)
        return COKE_ENOMEM;
    z->zalloc = zlib_alloc;
    z->zfree = zlib_free;
    if (inflateInit2(z, -15) != Z_OK) { /* negative: without zlib's header */
        ck_free(z);
        return ck_fail(COKE_ENOMEM, "%s: out of memory for decompression", name);
    }
    u->inflater = z;
    return COKE_OK;
}

struct pull {
    struct ck_unzip *u;
    const char *name;
    unsigned char *out;
    size_t n;
};

static int inflate_piece(struct pull *q)
{
    struct ck_unzip *u = q->u;
    z_stream *z = u->inflater;
    size_t left = u->entry.size - (size_t)u->in;
    uInt given = left < PIECE ? (uInt)left : PIECE;
    z->next_in = (Bytef *)(uintptr_t)(u->entry.data + u->in);
    z->avail_in = given;
    z->next_out = q->out;
    z->avail_out = q->n < PIECE ? (uInt)q->n : PIECE;
    uInt room = z->avail_out;
    int status = inflate(z, Z_NO_FLUSH);
    size_t made = room - z->avail_out;
    u->in += given - z->avail_in;
    q->out += made;
    q->n -= made;
    if (status == Z_MEM_ERROR)
        return ck_fail(COKE_ENOMEM, "%s: out of memory for decompression", q->name);
    if ((status != Z_OK && status != Z_STREAM_END) || (q->n && status == Z_STREAM_END))
        return ck_fail(COKE_EFORMAT,
                       "%s: damaged: the compressed data end or are invalid at "
                       "byte %llu of %llu",
                       q->name, (unsigned long long)(u->out + made),
                       (unsigned long long)u->entry.full);
    return COKE_OK;
}

/* Called by ck_guard_call: what it holds belongs to q->u. */
static int pull(void *arg)
{
    struct pull *q = arg;
    struct ck_unzip *u = q->u;
    if (!u->inflater)
        memcpy(q->out, u->entry.data + u->out, q->n);
    while (u->inflater && q->n)
        CK_RETURN_IF(inflate_piece(q));
    return COKE_OK;
}

int ck_unzip_read(struct ck_unzip *u, const char *name, void *out, size_t n)
{
    struct pull q = {u, name, out, n};
    if (n > u->entry.full - u->out)
        return ck_fail(COKE_EFORMAT, "%s: ends after %llu bytes", name,
                       (unsigned long long)u->entry.full);
    int rc = ck_guard_call(pull, &q);
    if (rc)
        return rc == COKE_EIO ? ck_fail_prefix(rc, "%s: ", name) : rc;
    u->out += n;
    u->crc = (uint32_t)crc32_z(u->crc, out, n);
    return COKE_OK;
}

/* Called by ck_guard_call: what it holds belongs to the caller. */
static int finish(void *arg)
{
    struct ck_unzip *u = arg;
    z_stream *z = u->inflater;
    unsigned char more;
    size_t left = u->entry.size - (size_t)u->in;
    z->next_in = (Bytef *)(uintptr_t)(u->entry.data + u->in);
    z->avail_in = left < PIECE ? (uInt)left : PIECE;
    z->next_out = &more;
    z->avail_out = 1;
    return inflate(z, Z_NO_FLUSH) == Z_STREAM_END && z->avail_out == 1 && z->avail_in == 0
               ? COKE_OK
               : COKE_EFORMAT;
}

int ck_unzip_end(struct ck_unzip *u, const char *name)
{
    int rc = u->inflater ? ck_guard_call(finish, u) : COKE_OK;
    if (rc == COKE_EIO)
        return ck_fail_prefix(rc, "%s: ", name);
    if (rc)
        return ck_fail(COKE_EFORMAT, "%s: damaged: more data than the directory says", name);
    return u->crc == u->entry.crc
               ? COKE_OK
               : ck_fail(COKE_EFORMAT, "%s: damaged: its checksum does not match", name);
}

void ck_unzip_close(struct ck_unzip *u)
{
    if (u->inflater)
        inflateEnd(u->inflater);
    ck_free(u->inflater);
    *u = (struct ck_unzip){0};
}
