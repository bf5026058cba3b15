/* rows_array.c - rows that are already in memory, and rows of any source into memory. */
#include "io/rows_file.h"
#include "io/convert.h"
#include "core/error.h"
#include "core/mem.h"

#include <stdio.h>
#include <string.h>

enum { AHEAD = 6 }; /* prefetch distance, rows */

struct array_rows {
    struct coke_rows base;
    const unsigned char *x; /* element (0, 0), borrowed */
    enum ck_dtype dtype;
    int64_t element;                   /* bytes */
    int64_t row_stride, column_stride; /* bytes; may be negative */
};

/* Elements that are not adjacent are gathered in pieces on the stack and converted together. */
static void gather(const struct array_rows *a, const unsigned char *row, float *out)
{
    enum { PIECE = 256, WIDEST = 8 };
    unsigned char piece[PIECE * WIDEST];
    for (int32_t at = 0; at < a->base.dim; at += PIECE) {
        int32_t n = a->base.dim - at < PIECE ? a->base.dim - at : PIECE;
        for (int32_t j = 0; j < n; j++)
            memcpy(piece + j * a->element, row + (at + j) * a->column_stride,
                   (size_t)a->element);
        ck_convert_f32(a->dtype, piece, n, out + at);
    }
}

/* As in rows_file.c: rows in random order miss every cache. */
static inline __attribute__((always_inline)) void fetch_ahead(const struct array_rows *a,
                                                              int64_t row)
{
    enum { LINE = 64, LINES = 8 };
    if (row < 0 || row >= a->base.n || a->column_stride != a->element)
        return;
    const unsigned char *p = a->x + row * a->row_stride;
    for (int64_t at = 0; at < a->base.dim * a->element && at < LINE * LINES; at += LINE)
        __builtin_prefetch(p + at);
}

/* Reads only, so several threads may call it at the same time. */
static int get(struct coke_rows *r, const int64_t *index, int n, float *out, int ld)
{
    const struct array_rows *a = (const struct array_rows *)r;
    for (int i = 0; i < n; i++, out += ld) {
        if (index[i] < 0 || index[i] >= r->n)
            return ck_fail(COKE_EUSAGE, "row %lld requested, but there are only %lld",
                           (long long)index[i], (long long)r->n);
        if (i + AHEAD < n)
            fetch_ahead(a, index[i + AHEAD]);
        const unsigned char *row = a->x + index[i] * a->row_stride;
        if (a->column_stride == a->element)
            ck_convert_f32(a->dtype, row, r->dim, out);
        else
            gather(a, row, out);
        for (int j = r->dim; j < ld; j++)
            out[j] = 0.0f;
    }
    return COKE_OK;
}

static double value(struct coke_rows *r, int64_t index, int32_t column)
{
    const struct array_rows *a = (const struct array_rows *)r;
    double x;
    ck_convert_f64(a->dtype, a->x + index * a->row_stride + column * a->column_stride, 1, &x);
    return x;
}

static void where(const struct coke_rows *r, int64_t index, char *text, int size)
{
    (void)r;
    snprintf(text, (size_t)size, "row %lld", (long long)index);
}

static void release(struct coke_rows *r)
{
    ck_free(r);
}

/* The types of elements by enum coke_number. */
static const enum ck_dtype dtypes[] = {CK_F32, CK_F16, CK_F64, CK_U8, CK_I8};

/* The distance of the last of n elements from the first must be a number of bytes. */
static int check_stride(int64_t n, int64_t stride, const char *of)
{
    int64_t bytes;
    if (!__builtin_mul_overflow(n, stride, &bytes))
        return COKE_OK;
    return ck_fail(COKE_EUSAGE, "%lld %s at a distance of %lld bytes do not fit in memory",
                   (long long)n, of, (long long)stride);
}

int ck_rows_from_memory(struct coke_rows **out, const struct coke_memory *m)
{
    int64_t bytes;
    *out = NULL;
    if (m->n < 1 || m->dim < 1)
        return ck_fail(COKE_EUSAGE, "invalid array of %lld rows and %d columns",
                       (long long)m->n, m->dim);
    if ((unsigned)m->type >= sizeof dtypes / sizeof *dtypes)
        return ck_fail(COKE_EUSAGE, "invalid type %d of the elements", (int)m->type);
    int64_t element = (int64_t)ck_dtype_size(dtypes[m->type]);
    if (__builtin_mul_overflow(m->n, m->dim * element, &bytes))
        return ck_fail(COKE_EUSAGE, "%lld rows of %d columns do not fit in memory",
                       (long long)m->n, m->dim);
    CK_RETURN_IF(check_stride(m->n, m->row_stride, "rows"));
    CK_RETURN_IF(check_stride(m->dim, m->column_stride, "columns"));
    struct array_rows *a = ck_calloc_array(1, sizeof *a);
    if (!a)
        return COKE_ENOMEM;
    a->base = (struct coke_rows){.n = m->n,
                                 .dim = m->dim,
                                 .bytes = bytes,
                                 .name = "array",
                                 .note = "",
                                 .get = get,
                                 .value = value,
                                 .where = where,
                                 .free = release};
    a->x = m->data;
    a->dtype = dtypes[m->type];
    a->element = element;
    a->row_stride = m->row_stride;
    a->column_stride = m->column_stride;
    *out = &a->base;
    return COKE_OK;
}

int ck_rows_from_array(struct coke_rows **out, const float *x, int64_t n, int32_t dim)
{
    return ck_rows_from_memory(out,
                               &(struct coke_memory){.data = x,
                                                     .n = n,
                                                     .dim = dim,
                                                     .type = COKE_NUMBER_F32,
                                                     .row_stride = dim * (int64_t)sizeof *x,
                                                     .column_stride = sizeof *x});
}

int ck_rows_read(struct coke_rows *rows, const int64_t *index, int64_t n, float *out)
{
    enum { PIECE = 1 << 16 }; /* get() counts in int */
    if (rows->one_pass)
        return ck_fail(COKE_EUSAGE, "%s: a stream that is read once has no rows by number",
                       rows->name);
    if (n < 0)
        return ck_fail(COKE_EUSAGE, "%lld rows requested", (long long)n);
    for (int64_t at = 0; at < n; at += PIECE) {
        int count = (int)(n - at < PIECE ? n - at : PIECE);
        CK_RETURN_IF(rows->get(rows, index + at, count, out + at * rows->dim, (int)rows->dim));
    }
    return COKE_OK;
}
