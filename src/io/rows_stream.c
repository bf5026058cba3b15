/* rows_stream.c - rows of a .npy read from a pipe, once and in order.
 *
 * The first rows stay in memory, in their stored type, until a later row is requested: options
 * and initial centers are chosen from them. Reading them also proves the row length in the
 * header before any caller allocates by it. One thread at a time. */
#include "io/rows_file.h"
#include "io/convert.h"
#include "io/rows_part.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_ROWS = 65536, CHUNK = 1 << 20 };

struct stream_rows {
    struct coke_rows base;
    struct ck_npy npy;
    int fd;
    char *name;
    size_t row_bytes;
    unsigned char *head;  /* [base.head][row_bytes], NULL once released */
    unsigned char *chunk; /* [chunk_rows][row_bytes], read ahead */
    size_t chunk_rows;
    int64_t chunk_first, chunk_n; /* rows now in chunk */
    int64_t last;                 /* largest row returned so far, after the head */
};

static int fail_short(const struct stream_rows *s, int64_t bytes)
{
    return ck_npy_fail_size(&s->npy, s->name, bytes);
}

/* Grows with the data that arrive: the header may claim any size. */
static int read_head(struct stream_rows *s)
{
    size_t want = (size_t)s->base.head * s->row_bytes, room = 0, used = 0;
    while (used < want) {
        room = room ? 2 * room : CHUNK;
        room = room < want ? room : want;
        unsigned char *p = ck_realloc_array(s->head, room, 1);
        if (!p)
            return COKE_ENOMEM;
        s->head = p;
        size_t got;
        int rc = ck_fd_read(s->fd, s->name, s->head + used, room - used, &got);
        if (rc)
            return rc;
        used += got;
        if (used < room)
            return fail_short(s, (int64_t)used);
    }
    return COKE_OK;
}

/* Releases the head; from here on rows pass through a chunk. */
static int leave_head(struct stream_rows *s)
{
    ck_free(s->head);
    s->head = NULL;
    s->chunk_rows = CHUNK / s->row_bytes ? CHUNK / s->row_bytes : 1;
    s->chunk = ck_alloc_array(s->chunk_rows, s->row_bytes);
    return s->chunk ? COKE_OK : COKE_ENOMEM;
}

/* Replaces the chunk by the next rows. After the last one it checks that the input ends. */
static int read_chunk(struct stream_rows *s)
{
    int64_t first = s->chunk_first + s->chunk_n, left = s->base.n - first;
    int64_t n = left < (int64_t)s->chunk_rows ? left : (int64_t)s->chunk_rows;
    size_t got, want = (size_t)n * s->row_bytes;
    int rc = ck_fd_read(s->fd, s->name, s->chunk, want, &got);
    if (rc)
        return rc;
    if (got < want)
        return fail_short(s, first * (int64_t)s->row_bytes + (int64_t)got);
    s->chunk_first = first;
    s->chunk_n = n;
    return n == left ? ck_spool_expect_end(s->fd, s->name, (long long)s->npy.bytes) : COKE_OK;
}

/* Reads up to `row`; *src is its data, valid until the next call. */
static int reach(struct stream_rows *s, int64_t row, const unsigned char **src)
{
    int rc = COKE_OK;
    if (row < 0 || row >= s->base.n)
        CK_FAIL(COKE_EUSAGE, "%s: row %lld requested, but there are only %lld", s->name,
                (long long)row, (long long)s->base.n);
    if (row < s->base.head && s->head) {
        *src = s->head + (size_t)row * s->row_bytes;
        goto done;
    }
    if (row <= s->last)
        CK_FAIL(COKE_EFAIL,
                "%s: row %lld requested after row %lld; a pipe delivers rows "
                "once, in order",
                s->name, (long long)row, (long long)s->last);
    if (!s->chunk)
        CK_TRY(leave_head(s));
    while (row >= s->chunk_first + s->chunk_n)
        CK_TRY(read_chunk(s));
    s->last = row;
    *src = s->chunk + (size_t)(row - s->chunk_first) * s->row_bytes;
done:
    return rc;
}

static int get(struct coke_rows *r, const int64_t *index, int n, float *out, int ld)
{
    struct stream_rows *s = (struct stream_rows *)r;
    for (int i = 0; i < n; i++, out += ld) {
        const unsigned char *src = NULL;
        int rc = reach(s, index[i], &src);
        if (rc)
            return rc;
        ck_convert_f32(s->npy.dtype, src, r->dim, out);
        for (int j = r->dim; j < ld; j++)
            out[j] = 0.0f;
    }
    return COKE_OK;
}

/* Of a row that was just read, which is still here. */
static double value(struct coke_rows *r, int64_t index, int32_t column)
{
    const struct stream_rows *s = (const struct stream_rows *)r;
    const unsigned char *row = NULL;
    double x = (double)NAN;
    if (s->head && index < r->head)
        row = s->head + (size_t)index * s->row_bytes;
    else if (s->chunk && index >= s->chunk_first && index < s->chunk_first + s->chunk_n)
        row = s->chunk + (size_t)(index - s->chunk_first) * s->row_bytes;
    if (row)
        ck_convert_f64(s->npy.dtype, row + (size_t)column * ck_dtype_size(s->npy.dtype), 1, &x);
    return x;
}

static void where(const struct coke_rows *r, int64_t index, char *text, int size)
{
    snprintf(text, (size_t)size, "%s: row %lld", r->name, (long long)index);
}

static void release(struct coke_rows *r)
{
    struct stream_rows *s = (struct stream_rows *)r;
    close(s->fd);
    ck_free(s->name);
    ck_free(s->head);
    ck_free(s->chunk);
    ck_free(s);
}

/* Reads the header and the head, so that a wrong file fails at opening. */
static int start(struct stream_rows *s)
{
    unsigned char *header = NULL;
    struct coke_rows *r = &s->base;
    int rc = COKE_OK;
    CK_TRY(ck_npy_read_header(&s->npy, s->name, s->fd, &header));
    CK_TRY(ck_rows_check_shape(s->name, s->npy.ndim, s->npy.shape));
    if (s->npy.fortran)
        CK_FAIL(COKE_EFORMAT,
                "%s: the array is in Fortran order, which cannot be read in one pass; save "
                "numpy.ascontiguousarray(x)",
                s->name);
    r->n = s->npy.shape[0];
    r->dim = (int32_t)s->npy.shape[1];
    r->bytes = s->npy.bytes;
    r->head = r->n < HEAD_ROWS ? r->n : HEAD_ROWS;
    s->row_bytes = (size_t)(s->npy.bytes / r->n);
    s->chunk_first = r->head;
    s->last = r->head - 1;
    CK_TRY(read_head(s));
    if (r->head == r->n)
        CK_TRY(ck_spool_expect_end(s->fd, s->name, (long long)s->npy.bytes));
done:
    ck_free(header);
    return rc;
}

int ck_rows_open_stream(struct coke_rows **out, int fd, const char *name)
{
    *out = NULL;
    struct stream_rows *s = ck_calloc_array(1, sizeof *s);
    if (!s) {
        close(fd);
        return COKE_ENOMEM;
    }
    s->fd = fd;
    s->name = ck_strdup(name);
    s->base = (struct coke_rows){.one_pass = 1,
                                 .name = s->name,
                                 .note = "",
                                 .get = get,
                                 .where = where,
                                 .value = value,
                                 .free = release};
    int rc = s->name ? start(s) : COKE_ENOMEM;
    if (rc)
        release(&s->base);
    else
        *out = &s->base;
    return rc;
}
