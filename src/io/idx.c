/* idx.c - IDX arrays of bytes (the format of MNIST), plain or gzipped.
 *
 * Format: two zeros, the element type (8 = u8), the number of dimensions, each length as a
 * big-endian int32, then the elements. */
#include "io/idx.h"
#include "io/load.h"
#include "core/error.h"
#include "core/mem.h"

#include <unistd.h>

enum { U8 = 8 };

static int64_t big_endian(const unsigned char *p)
{
    return (int64_t)p[0] << 24 | (int64_t)p[1] << 16 | (int64_t)p[2] << 8 | p[3];
}

/* Fills ndim, shape and bytes; the size is plausible only after check_size. */
static int read_header(struct ck_idx *out, struct ck_stream *s)
{
    unsigned char magic[4], length[4 * CK_IDX_DIMS];
    CK_RETURN_IF(ck_stream_need(s, magic, sizeof magic, "the IDX header"));
    if (magic[0] || magic[1])
        return ck_fail(COKE_EFORMAT, "%s: not an IDX file: it does not begin with two zeros",
                       s->name);
    if (magic[2] != U8)
        return ck_fail(COKE_EFORMAT,
                       "%s: IDX element type 0x%02x is not supported, only u8 (0x08)", s->name,
                       magic[2]);
    if (magic[3] < 1 || magic[3] > CK_IDX_DIMS)
        return ck_fail(COKE_EFORMAT, "%s: IDX array has %d dimensions; supported: 1 to %d",
                       s->name, magic[3], CK_IDX_DIMS);
    out->ndim = magic[3];
    CK_RETURN_IF(ck_stream_need(s, length, 4 * (size_t)out->ndim, "the IDX header"));
    out->bytes = 1;
    for (int i = 0; i < out->ndim; i++) {
        out->shape[i] = big_endian(length + 4 * i);
        if (__builtin_mul_overflow(out->bytes, out->shape[i], &out->bytes))
            return ck_fail(COKE_EFORMAT, "%s: the size in the IDX header overflows 63 bits",
                           s->name);
    }
    return COKE_OK;
}

/* Compares the header's size with the file's before anything is allocated: exactly for a plain
 * file, as an upper bound for a gzipped one. */
static int check_size(const struct ck_idx *a, const struct ck_stream *s)
{
    int64_t left = ck_stream_limit(s);
    if (left < 0)
        return ck_fail(COKE_EIO, "%s: not a regular file", s->name);
    if (!s->gzip)
        left -= s->position;
    if (a->bytes > left || (!s->gzip && a->bytes < left))
        return ck_fail(COKE_EFORMAT, "%s: the IDX header says %lld bytes, the file %s %lld",
                       s->name, (long long)a->bytes, s->gzip ? "cannot hold more than" : "has",
                       (long long)left);
    return COKE_OK;
}

int ck_idx_read(struct ck_idx *out, struct ck_stream *s)
{
    unsigned char more;
    size_t got;
    int rc = COKE_OK;
    *out = (struct ck_idx){0};
    CK_TRY(read_header(out, s));
    CK_TRY(check_size(out, s));
    out->data = ck_alloc_array((size_t)out->bytes, 1);
    if (!out->data)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(
        ck_stream_need(s, out->data, (size_t)out->bytes, "the data announced by its header"));
    CK_TRY(ck_stream_read(s, &more, 1, &got));
    if (got)
        CK_FAIL(COKE_EFORMAT, "%s: more data after the %lld bytes that its header says",
                s->name, (long long)out->bytes);
done:
    if (rc)
        ck_idx_release(out);
    return rc;
}

int ck_idx_load(struct ck_idx *out, const char *path)
{
    struct ck_stream s = {0};
    int fd = -1;
    int64_t size;
    *out = (struct ck_idx){0};
    int rc = ck_load_open(path, &fd, &size); /* does not block on a pipe without a writer */
    if (rc)
        return rc;
    CK_TRY(ck_stream_fd(&s, fd, path));
    CK_TRY(ck_idx_read(out, &s));
done:
    ck_stream_close(&s);
    close(fd);
    return rc;
}

void ck_idx_release(struct ck_idx *a)
{
    ck_free(a->data);
    *a = (struct ck_idx){0};
}
