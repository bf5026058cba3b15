/* npy.c - NumPy's .npy arrays: parses headers from memory or a pipe, writes files.
 *
 * Format: \x93NUMPY, version, length of the header, then a Python dict literal with the keys
 * descr, fortran_order and shape in any order (numpy.lib.format). */
#include "io/npy.h"
#include "io/sums.h"
#include "io/convert.h"
#include "core/error.h"
#include "core/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, ALIGN = 64 };

/* descr of each supported type, without its byte order. */
static const struct {
    char text[3];
    enum ck_dtype dtype;
} types[] = {
    {"f4", CK_F32}, {"f2", CK_F16}, {"f8", CK_F64}, {"i4", CK_I32},
    {"i8", CK_I64}, {"i2", CK_I16}, {"i1", CK_I8},  {"u1", CK_U8},
    {"u2", CK_U16}, {"u4", CK_U32}, {"u8", CK_U64}, {"b1", CK_BOOL},
};
enum { TYPES = sizeof types / sizeof *types };

const char *ck_npy_dtype(enum ck_dtype t)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].dtype == t)
            return types[i].text;
    return ck_dtype_name(t);
}

int ck_npy_is_magic(const unsigned char *data, size_t size)
{
    return size >= MAGIC && memcmp(data, magic, MAGIC) == 0;
}

/* ---- the dict ---- */

/* Scans the dict literal; nothing is evaluated. Borrows the header's bytes. */
struct scanner {
    const char *name; /* of the file */
    const unsigned char *p, *end;
};

static void skip_space(struct scanner *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

static int next_is(struct scanner *s, char c)
{
    skip_space(s);
    if (s->p == s->end || *s->p != (unsigned char)c)
        return 0;
    s->p++;
    return 1;
}

static int expect(struct scanner *s, char c)
{
    if (next_is(s, c))
        return COKE_OK;
    return ck_fail(COKE_EFORMAT, "%s: the .npy header is not a dict: '%c' is missing", s->name,
                   c);
}

/* A quoted word of printable characters, shorter than `size`; no escapes. */
static int scan_string(struct scanner *s, char *out, size_t size)
{
    skip_space(s);
    size_t n = 0;
    unsigned char quote = s->p < s->end ? *s->p : 0;
    if (quote != '\'' && quote != '"')
        return ck_fail(COKE_EFORMAT, "%s: a quoted string is missing in the .npy header",
                       s->name);
    for (s->p++; s->p < s->end && *s->p != quote; s->p++) {
        if (n + 1 == size || !isprint(*s->p))
            return ck_fail(COKE_EFORMAT, "%s: invalid string in the .npy header", s->name);
        out[n++] = (char)*s->p;
    }
    if (s->p == s->end)
        return ck_fail(COKE_EFORMAT, "%s: unterminated string in the .npy header", s->name);
    s->p++;
    out[n] = 0;
    return COKE_OK;
}

static int scan_flag(struct scanner *s, int *out)
{
    skip_space(s);
    size_t left = (size_t)(s->end - s->p);
    if (left >= 4 && memcmp(s->p, "True", 4) == 0)
        *out = 1;
    else if (left >= 5 && memcmp(s->p, "False", 5) == 0)
        *out = 0;
    else
        return ck_fail(COKE_EFORMAT, "%s: fortran_order is neither True nor False", s->name);
    s->p += *out ? 4 : 5;
    return COKE_OK;
}

static int scan_length(struct scanner *s, int64_t *out)
{
    skip_space(s);
    const unsigned char *first = s->p;
    *out = 0;
    for (; s->p < s->end && isdigit(*s->p); s->p++)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, *s->p - '0', out))
            return ck_fail(COKE_EFORMAT, "%s: a length in the shape is too large", s->name);
    if (s->p == first)
        return ck_fail(COKE_EFORMAT, "%s: the shape is not a tuple of lengths", s->name);
    if (s->p < s->end && *s->p == 'L') /* Python 2 wrote 3L */
        s->p++;
    return COKE_OK;
}

static int scan_shape(struct scanner *s, struct ck_npy *out)
{
    int comma = 1;
    CK_RETURN_IF(expect(s, '('));
    while (!next_is(s, ')')) {
        if (!comma)
            return ck_fail(COKE_EFORMAT, "%s: the shape is not a tuple of lengths", s->name);
        if (out->ndim == CK_MAX_DIMS)
            return ck_fail(COKE_EFORMAT, "%s: more than %d dimensions", s->name, CK_MAX_DIMS);
        CK_RETURN_IF(scan_length(s, &out->shape[out->ndim]));
        out->ndim++;
        comma = next_is(s, ',');
    }
    if (out->ndim == 1 && !comma) /* (3) is a number, (3,) a tuple */
        return ck_fail(COKE_EFORMAT, "%s: the shape is not a tuple of lengths", s->name);
    return COKE_OK;
}

static int scan_dtype(struct scanner *s, enum ck_dtype *out)
{
    char text[32];
    skip_space(s);
    if (s->p < s->end && *s->p == '[')
        return ck_fail(COKE_EFORMAT,
                       "%s: structured arrays are not supported; save plain numbers", s->name);
    int rc = scan_string(s, text, sizeof text);
    if (rc)
        return rc;
    int order = strchr("<>|=", text[0]) && text[0];
    const char *kind = text + order;
    if (kind[0] == 'O')
        return ck_fail(COKE_EFORMAT, "%s: Python objects (dtype '%s') are not supported",
                       s->name, text);
    if (text[0] == '>' && strcmp(kind + (kind[0] != 0), "1") != 0)
        return ck_fail(COKE_EFORMAT,
                       "%s: big-endian dtype '%s' is not supported; save x.astype('<%s')",
                       s->name, text, kind);
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].text, kind) == 0) {
            *out = types[i].dtype;
            return COKE_OK;
        }
    return ck_fail(COKE_EFORMAT, "%s: dtype '%s' is not supported", s->name, text);
}

enum { HAS_DTYPE = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

/* One "key: value". *has collects the HAS_ bits, to detect duplicate and missing keys. */
static int scan_item(struct scanner *s, struct ck_npy *out, int *has)
{
    char key[32];
    int bit;
    CK_RETURN_IF(scan_string(s, key, sizeof key));
    CK_RETURN_IF(expect(s, ':'));
    bit = strcmp(key, "descr") == 0           ? HAS_DTYPE
          : strcmp(key, "fortran_order") == 0 ? HAS_ORDER
          : strcmp(key, "shape") == 0         ? HAS_SHAPE
                                              : 0;
    if (!bit || (*has & bit))
        return ck_fail(COKE_EFORMAT, "%s: %s key '%s' in the .npy header", s->name,
                       bit ? "duplicate" : "unknown", key);
    *has |= bit;
    if (bit == HAS_DTYPE)
        CK_RETURN_IF(scan_dtype(s, &out->dtype));
    else if (bit == HAS_ORDER)
        CK_RETURN_IF(scan_flag(s, &out->fortran));
    else
        CK_RETURN_IF(scan_shape(s, out));
    return COKE_OK;
}

static int scan_dict(struct scanner *s, struct ck_npy *out)
{
    int has = 0;
    CK_RETURN_IF(expect(s, '{'));
    while (!next_is(s, '}')) {
        CK_RETURN_IF(scan_item(s, out, &has));
        if (!next_is(s, ',')) {
            CK_RETURN_IF(expect(s, '}'));
            break;
        }
    }
    skip_space(s);
    if (s->p != s->end)
        return ck_fail(COKE_EFORMAT, "%s: trailing data after the dict in the .npy header",
                       s->name);
    if (has != HAS_ALL)
        return ck_fail(COKE_EFORMAT, "%s: '%s' is missing in the .npy header", s->name,
                       !(has & HAS_DTYPE)   ? "descr"
                       : !(has & HAS_ORDER) ? "fortran_order"
                                            : "shape");
    out->fortran = out->fortran && out->ndim > 1;
    if (!ck_shape_size(out->dtype, out->ndim, out->shape, &out->elements, &out->bytes))
        return ck_fail(COKE_EFORMAT, "%s: the size of the array overflows 63 bits", s->name);
    return COKE_OK;
}

/* ---- the file ---- */

/* Finds from the first CK_NPY_MAGIC bytes where the dict and the data begin. */
static int find_header(const char *name, const unsigned char *data, size_t size, size_t *dict,
                       size_t *end)
{
    if (size == 0)
        return ck_fail(COKE_EFORMAT, "%s: empty", name);
    if (!ck_npy_is_magic(data, size))
        return ck_fail(COKE_EFORMAT, "%s: not a .npy file: it does not begin with \\x93NUMPY",
                       name);
    if (size < CK_NPY_MAGIC)
        return ck_fail(COKE_EFORMAT, "%s: ends within the .npy header, after %zu bytes", name,
                       size);
    int version = data[MAGIC];
    if (version < 1 || version > 3)
        return ck_fail(COKE_EFORMAT, "%s: .npy version %d.%d is not supported", name, version,
                       data[MAGIC + 1]);
    size_t length = (size_t)data[8] | (size_t)data[9] << 8;
    if (version > 1)
        length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (length > CK_NPY_HEADER_MAX)
        return ck_fail(COKE_EFORMAT, "%s: .npy header of %zu bytes; the limit is %d", name,
                       length, CK_NPY_HEADER_MAX);
    *dict = version == 1 ? 10 : 12;
    *end = *dict + length;
    return COKE_OK;
}

int ck_npy_parse_header(struct ck_npy *out, const char *name, const unsigned char *data,
                        size_t size)
{
    size_t dict = 0, end = 0;
    *out = (struct ck_npy){0};
    int rc = find_header(name, data, size, &dict, &end);
    if (rc)
        return rc;
    if (end > size)
        return ck_fail(COKE_EFORMAT, "%s: the .npy header ends at byte %zu, the file at %zu",
                       name, end, size);
    out->version = data[MAGIC];
    out->offset = end;
    struct scanner s = {.name = name, .p = data + dict, .end = data + end};
    return scan_dict(&s, out);
}

int ck_npy_header_size(const char *name, const unsigned char *data, size_t size, size_t *end)
{
    size_t dict;
    return find_header(name, data, size, &dict, end);
}

int ck_npy_check_order(const struct ck_npy *a, const char *name)
{
    return a->fortran
               ? ck_fail(COKE_EFORMAT,
                         "%s: the array is in Fortran order; save numpy.ascontiguousarray(x)",
                         name)
               : COKE_OK;
}

int ck_npy_fail_size(const struct ck_npy *a, const char *name, int64_t got)
{
    char shape[CK_SHAPE_TEXT];
    ck_shape_text(a->ndim, a->shape, shape);
    return ck_fail(COKE_EFORMAT,
                   "%s: the header says %s %s = %lld bytes of data, the file has %s%lld", name,
                   shape, ck_npy_dtype(a->dtype), (long long)a->bytes,
                   got > a->bytes ? "more: " : "", (long long)got);
}

int ck_npy_parse(struct ck_npy *out, const char *name, const unsigned char *data, size_t size)
{
    int rc = ck_npy_parse_header(out, name, data, size);
    if (rc)
        return rc;
    int64_t got = (int64_t)(size - out->offset);
    return got == out->bytes ? COKE_OK : ck_npy_fail_size(out, name, got);
}

int ck_npy_read_header(struct ck_npy *out, const char *name, int fd, unsigned char **head)
{
    unsigned char first[CK_NPY_MAGIC];
    size_t got, more, dict, end = 0;
    int rc = COKE_OK;
    *head = NULL;
    CK_TRY(ck_fd_read(fd, name, first, sizeof first, &got));
    CK_TRY(find_header(name, first, got, &dict, &end));
    if (end < sizeof first) /* a dict of at most two bytes */
        CK_FAIL(COKE_EFORMAT, "%s: 'descr' is missing in the .npy header", name);
    *head = ck_alloc_array(end, 1);
    if (!*head)
        CK_LEAVE(COKE_ENOMEM);
    memcpy(*head, first, sizeof first);
    CK_TRY(ck_fd_read(fd, name, *head + sizeof first, end - sizeof first, &more));
    CK_TRY(ck_npy_parse_header(out, name, *head, sizeof first + more));
done:
    if (rc) {
        ck_free(*head);
        *head = NULL;
    }
    return rc;
}

/* ---- writing ---- */

/* Writes a version 1 header, padded with spaces so that the data are aligned; returns its
 * length, a multiple of ALIGN. */
static size_t make_header(char out[4 * ALIGN + CK_SHAPE_TEXT], enum ck_dtype t, int ndim,
                          const int64_t *shape)
{
    char dims[CK_SHAPE_TEXT] = "";
    size_t used = 0;
    for (int i = 0; i < ndim; i++)
        used += (size_t)snprintf(dims + used, sizeof dims - used, "%s%lld%s", i ? ", " : "",
                                 (long long)shape[i], ndim == 1 ? "," : "");
    size_t n = (size_t)snprintf(out + 10, 3 * ALIGN + CK_SHAPE_TEXT,
                                "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }",
                                ck_dtype_size(t) == 1 ? '|' : '<', ck_npy_dtype(t), dims);
    size_t total = (10 + n + 1 + ALIGN - 1) / ALIGN * ALIGN;
    memset(out + 10 + n, ' ', total - 10 - n);
    out[total - 1] = '\n';
    memcpy(out, magic, MAGIC);
    out[6] = 1;
    out[7] = 0;
    out[8] = (char)((total - 10) & 0xff);
    out[9] = (char)((total - 10) >> 8);
    return total;
}

int ck_npy_write_to(struct ck_writer *w, enum ck_dtype t, int ndim, const int64_t *shape,
                    const void *data)
{
    char header[4 * ALIGN + CK_SHAPE_TEXT];
    int64_t elements, bytes;
    if (ndim < 0 || ndim > CK_MAX_DIMS || t == CK_BF16 ||
        !ck_shape_size(t, ndim, shape, &elements, &bytes))
        return ck_fail(COKE_EUSAGE, "%s: .npy cannot hold this array", w->path);
    size_t n = make_header(header, t, ndim, shape);
    int rc = ck_writer_write(w, header, n);
    return rc || !data ? rc : ck_writer_write(w, data, (size_t)bytes);
}

int ck_npy_write(const char *path, enum ck_dtype t, int ndim, const int64_t *shape,
                 const void *data, int force)
{
    struct ck_writer w = {0};
    int rc = COKE_OK;
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_npy_write_to(&w, t, ndim, shape, data));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}

int ck_npy_write_single(const char *path, enum ck_dtype t, int ndim, const int64_t *shape,
                        const void *data, int force)
{
    struct ck_writer w = {0};
    int rc = COKE_OK;
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_npy_write_to(&w, t, ndim, shape, data));
    CK_TRY(ck_sums_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}
