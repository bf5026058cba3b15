/* stream.c - reads bytes in order from a file or pipe, and gunzips them if necessary. */
#include "io/stream.h"
#include "io/file.h"
#include "core/error.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Bytes. The buffer serves tar headers; the members between them are skipped by seeking, so a
 * larger buffer would mostly read data in vain. */
enum { BUFFER = 16 << 10, DEFLATE_MAX = 1032, INFLATE_MAX = 1 << 20 };

/* ---- unsupported compressions ---- */

static const struct {
    const char *name, *command;
    unsigned char magic[6];
    size_t length;
} foreign[] = {
    {"zstd", "zstd -dc", {0x28, 0xb5, 0x2f, 0xfd}, 4},
    {"xz", "xz -dc", {0xfd, '7', 'z', 'X', 'Z', 0}, 6},
    {"bzip2", "bzip2 -dc", {'B', 'Z', 'h'}, 3},
    {"lz4", "lz4 -dc", {0x04, 0x22, 0x4d, 0x18}, 4},
};

static int refuse_foreign(const struct ck_stream *s)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (s->until >= foreign[i].length &&
            memcmp(s->in, foreign[i].magic, foreign[i].length) == 0)
            return ck_fail(COKE_EUSAGE,
                           "%s: compressed with %s, which is not read; open - instead and "
                           "pipe in the output of: %s %s",
                           s->name, foreign[i].name, foreign[i].command, s->name);
    return COKE_OK;
}

/* ---- the input ---- */

/* Fills the buffer, which must be empty. */
static int refill(struct ck_stream *s)
{
    s->from = s->until = 0;
    int rc = ck_fd_read(s->fd, s->name, s->in, BUFFER, &s->until);
    s->ended = !rc && s->until < BUFFER;
    return rc;
}

/* zlib allocates through core/mem.h, so that the tests' failing allocations reach it. */
static voidpf zlib_alloc(voidpf opaque, uInt n, uInt size)
{
    (void)opaque;
    return ck_alloc_array(n, size);
}

static void zlib_free(voidpf opaque, voidpf p)
{
    (void)opaque;
    ck_free(p);
}

static int start_gzip(struct ck_stream *s)
{
    z_stream *z = ck_calloc_array(1, sizeof *z);
    if (!z)
        return COKE_ENOMEM;
    z->zalloc = zlib_alloc;
    z->zfree = zlib_free;
    if (inflateInit2(z, 15 + 16) != Z_OK) { /* 16: gzip, not zlib */
        ck_free(z);
        return ck_fail(COKE_ENOMEM, "%s: out of memory for decompression", s->name);
    }
    s->inflater = z;
    s->gzip = 1;
    return COKE_OK;
}

/* On failure the caller closes s, which holds whatever was allocated. */
static int start(struct ck_stream *s, const char *name)
{
    struct stat st;
    s->size = -1;
    s->name = ck_strdup(name);
    s->in = ck_alloc_array(BUFFER, 1);
    if (!s->name || !s->in)
        return COKE_ENOMEM;
    if (fstat(s->fd, &st))
        return ck_fail(COKE_EIO, "%s: %s", name, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return ck_fail(COKE_EIO, "%s: %s", name, strerror(EISDIR));
    s->regular = S_ISREG(st.st_mode) && lseek(s->fd, 0, SEEK_CUR) == 0;
    if (s->regular)
        s->size = (int64_t)st.st_size;
    CK_RETURN_IF(refill(s));
    CK_RETURN_IF(refuse_foreign(s));
    if (s->until >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b)
        CK_RETURN_IF(start_gzip(s));
    return COKE_OK;
}

int ck_stream_fd(struct ck_stream *s, int fd, const char *name)
{
    *s = (struct ck_stream){.fd = fd};
    int rc = start(s, name);
    if (rc)
        ck_stream_close(s);
    return rc;
}

int ck_stream_open(struct ck_stream *s, const char *path)
{
    if (strcmp(path, "-") == 0)
        return ck_stream_fd(s, STDIN_FILENO, "standard input");
    *s = (struct ck_stream){.fd = open(path, O_RDONLY | O_CLOEXEC), .owned = 1};
    if (s->fd < 0) {
        *s = (struct ck_stream){0};
        return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
    }
    int rc = start(s, path);
    if (rc)
        ck_stream_close(s);
    return rc;
}

void ck_stream_close(struct ck_stream *s)
{
    if (s->inflater)
        inflateEnd(s->inflater);
    if (s->owned)
        close(s->fd);
    ck_free(s->inflater);
    ck_free(s->name);
    ck_free(s->in);
    *s = (struct ck_stream){0};
}

int64_t ck_stream_limit(const struct ck_stream *s)
{
    if (s->size < 0 || !s->gzip)
        return s->size;
    return s->size > INT64_MAX / DEFLATE_MAX ? INT64_MAX : s->size * DEFLATE_MAX;
}

/* ---- reading ---- */

static int read_plain(struct ck_stream *s, unsigned char *out, size_t n, size_t *got)
{
    while (*got < n) {
        if (s->from == s->until && s->ended)
            break;
        if (s->from == s->until) {
            int rc = refill(s);
            if (rc)
                return rc;
        }
        size_t part = s->until - s->from;
        part = part < n - *got ? part : n - *got;
        memcpy(out + *got, s->in + s->from, part);
        s->from += part;
        *got += part;
    }
    return COKE_OK;
}

/* After the end of a gzip member: another may follow. Zeros and other padding are ignored, as
 * gzip does. Frees the inflater at the end of the data. */
static int next_member(struct ck_stream *s)
{
    z_stream *z = s->inflater;
    int rc = s->from == s->until && !s->ended ? refill(s) : COKE_OK;
    if (rc || (s->from < s->until && s->in[s->from] == 0x1f && inflateReset(z) == Z_OK))
        return rc;
    inflateEnd(z);
    ck_free(z);
    s->inflater = NULL;
    return COKE_OK;
}

/* Inflates what the buffered input yields; s->inflater is NULL once the end was reached. */
static int inflate_some(struct ck_stream *s, unsigned char *out, size_t room, size_t *made)
{
    z_stream *z = s->inflater;
    z->next_in = s->in + s->from;
    z->avail_in = (uInt)(s->until - s->from);
    z->next_out = out;
    z->avail_out = (uInt)room;
    int status = inflate(z, Z_NO_FLUSH);
    s->from = s->until - z->avail_in;
    *made = room - z->avail_out;
    if (status == Z_OK || status == Z_BUF_ERROR)
        return COKE_OK;
    if (status == Z_STREAM_END)
        return next_member(s);
    if (status == Z_MEM_ERROR)
        return ck_fail(COKE_ENOMEM, "%s: out of memory for decompression", s->name);
    return ck_fail(COKE_EFORMAT, "%s: the compressed data are damaged%s%s", s->name,
                   z->msg ? ": " : "", z->msg ? z->msg : "");
}

static int read_gzip(struct ck_stream *s, unsigned char *out, size_t n, size_t *got)
{
    while (*got < n && s->inflater) {
        size_t made, room = n - *got < INFLATE_MAX ? n - *got : INFLATE_MAX;
        if (s->from == s->until && s->ended)
            return ck_fail(COKE_EFORMAT, "%s: the compressed data are truncated", s->name);
        if (s->from == s->until)
            CK_RETURN_IF(refill(s));
        CK_RETURN_IF(inflate_some(s, out + *got, room, &made));
        *got += made;
    }
    return COKE_OK;
}

int ck_stream_read(struct ck_stream *s, void *out, size_t n, size_t *got)
{
    *got = 0;
    int rc = s->gzip ? read_gzip(s, out, n, got) : read_plain(s, out, n, got);
    s->position += (int64_t)*got;
    return rc;
}

int ck_stream_need(struct ck_stream *s, void *out, size_t n, const char *what)
{
    size_t got;
    int rc = ck_stream_read(s, out, n, &got);
    if (!rc && got < n)
        return ck_fail(COKE_EFORMAT, "%s: ends within %s, after %lld bytes", s->name, what,
                       (long long)s->position);
    return rc;
}

/* Skips the buffered bytes, then seeks. */
static int skip_plain_file(struct ck_stream *s, int64_t n, const char *what)
{
    int64_t buffered = (int64_t)(s->until - s->from);
    if (n > s->size - s->position)
        return ck_fail(COKE_EFORMAT, "%s: ends within %s, after %lld bytes", s->name, what,
                       (long long)s->size);
    s->position += n;
    if (n <= buffered) {
        s->from += (size_t)n;
        return COKE_OK;
    }
    s->from = s->until = 0;
    s->ended = 0;
    if (lseek(s->fd, (off_t)s->position, SEEK_SET) < 0)
        return ck_fail(COKE_EIO, "%s: %s", s->name, strerror(errno));
    return COKE_OK;
}

int ck_stream_skip(struct ck_stream *s, int64_t n, const char *what)
{
    unsigned char sink[4096];
    if (s->regular && !s->gzip)
        return skip_plain_file(s, n, what);
    for (int rc; n > 0;) {
        size_t part = n < (int64_t)sizeof sink ? (size_t)n : sizeof sink;
        rc = ck_stream_need(s, sink, part, what);
        if (rc)
            return rc;
        n -= (int64_t)part;
    }
    return COKE_OK;
}
