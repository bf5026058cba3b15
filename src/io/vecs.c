/* vecs.c - .fvecs and .bvecs: per record an int32 dimension d and d elements. */
#include "io/vecs.h"
#include "core/error.h"
#include "core/text.h"

#include <string.h>

enum { HEAD = 4 }; /* bytes of the dimension */

int ck_vecs_is_name(const char *path, enum ck_dtype *dtype)
{
    size_t n = strlen(path);
    const char *end = n < 6 ? "" : path + n - 6;
    int is_f = ck_text_same(end, ".fvecs"), is_b = ck_text_same(end, ".bvecs");
    *dtype = is_b ? CK_U8 : CK_F32;
    return is_f || is_b;
}

/* memcpy, because records of bytes leave d unaligned. */
static int32_t load_d(const unsigned char *p)
{
    int32_t d;
    memcpy(&d, p, sizeof d);
    return d;
}

/* Checks the first and the last record only; ck_vecs_row checks the others when they are
 * read. */
int ck_vecs_parse(struct ck_vecs *out, const char *name, enum ck_dtype dtype,
                  const unsigned char *data, size_t size)
{
    const unsigned char *last;
    size_t element = ck_dtype_size(dtype);
    if (size == 0)
        return ck_fail(COKE_EFORMAT, "%s: no rows: the file is empty", name);
    if (size < HEAD)
        return ck_fail(COKE_EFORMAT, "%s: %zu bytes are too few for a record", name, size);
    int32_t d = load_d(data);
    if (d <= 0)
        return ck_fail(COKE_EFORMAT, "%s: the first record claims %d elements", name, d);
    size_t stride = HEAD + (size_t)d * element;
    if (size % stride)
        return ck_fail(COKE_EFORMAT,
                       "%s: %zu bytes are not a multiple of the record, 4 + %d x %zu = %zu "
                       "bytes",
                       name, size, d, element, stride);
    *out = (struct ck_vecs){
        .dtype = dtype, .dim = d, .n = (int64_t)(size / stride), .stride = stride};
    return ck_vecs_row(out, name, data, out->n - 1, &last);
}

int ck_vecs_row(const struct ck_vecs *v, const char *name, const unsigned char *data, int64_t i,
                const unsigned char **row)
{
    const unsigned char *record = data + (size_t)i * v->stride;
    int32_t d = load_d(record);
    if (d != v->dim)
        return ck_fail(COKE_EFORMAT, "%s: row %lld has %d elements, row 0 has %d", name,
                       (long long)i, d, v->dim);
    *row = record + HEAD;
    return COKE_OK;
}
