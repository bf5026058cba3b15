/* rows_part.c - one array of rows in one file: detects and validates its format. */
#include "io/rows_part.h"
#include "io/convert.h"
#include "io/fbin.h"
#include "io/rows_paths.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/mem.h"
#include "core/text.h"

#include <string.h>

int ck_rows_check_shape(const char *name, int ndim, const int64_t *shape)
{
    if (ndim != 2)
        return ck_fail(COKE_EFORMAT,
                       "%s: the array has %d dimension%s; rows need two: vectors and columns",
                       name, ndim, ndim == 1 ? "" : "s");
    if (shape[0] == 0)
        return ck_fail(COKE_EFORMAT, "%s: no rows", name);
    if (shape[1] == 0)
        return ck_fail(COKE_EFORMAT, "%s: no columns", name);
    if (shape[0] < 0)
        return ck_fail(COKE_EFORMAT, "%s: the number of rows exceeds 63 bits", name);
    if (shape[1] < 0 || shape[1] > INT32_MAX)
        return ck_fail(COKE_EFORMAT, "%s: %llu columns are too many", name,
                       (unsigned long long)shape[1]);
    return COKE_OK;
}

void ck_part_take(struct ck_part *p, enum ck_dtype dtype, const int64_t shape[2], int fortran,
                  const unsigned char *data)
{
    p->dtype = dtype;
    p->data = data;
    p->vecs = (struct ck_vecs){.dtype = dtype,
                               .dim = (int32_t)shape[1],
                               .n = shape[0],
                               .stride = (size_t)shape[1] * ck_dtype_size(dtype)};
    p->layout = !data ? CK_LAYOUT_SOURCE : fortran ? CK_LAYOUT_COLUMNS : CK_LAYOUT_ROWS;
    p->source.columns = fortran;
}

/* ---- formats that need no memory ---- */

static int parse_npy(struct ck_part *p)
{
    struct ck_npy a;
    CK_RETURN_IF(ck_npy_parse(&a, p->name, p->map.data, p->map.size));
    CK_RETURN_IF(ck_rows_check_shape(p->name, a.ndim, a.shape));
    ck_part_take(p, a.dtype, a.shape, a.fortran, p->map.data + a.offset);
    return COKE_OK;
}

static int parse_vecs(struct ck_part *p)
{
    ck_vecs_is_name(p->path, &p->dtype);
    p->layout = CK_LAYOUT_RECORDS;
    p->data = p->map.data;
    return ck_vecs_parse(&p->vecs, p->name, p->dtype, p->map.data, p->map.size);
}

static int parse_fbin(struct ck_part *p)
{
    ck_fbin_is_name(p->path, &p->dtype);
    CK_RETURN_IF(ck_fbin_parse(&p->vecs, p->name, p->dtype, p->map.data, p->map.size));
    p->data = p->map.data + CK_FBIN_HEAD;
    return COKE_OK;
}

/* Called by ck_guard_call: holds nothing. */
static int parse_simple(void *arg)
{
    struct ck_part *p = arg;
    return p->format == CK_FORMAT_NPY    ? parse_npy(p)
           : p->format == CK_FORMAT_VECS ? parse_vecs(p)
                                         : parse_fbin(p);
}

static int parse_raw(struct ck_part *p, const struct ck_raw *raw)
{
    CK_RETURN_IF(ck_raw_view(&p->vecs, raw, p->name, p->map.size));
    p->dtype = raw->dtype;
    p->data = p->map.data + raw->offset;
    return COKE_OK;
}

/* ---- detection ---- */

static int ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && ck_text_same(path + n - m, ending);
}

/* The content decides before the name for .npy files, which may have any name. The header of
 * safetensors begins with its length (u64, below 2^48) and a '{'. Called by ck_guard_call: holds
 * nothing. */
static int detect(void *arg)
{
    struct ck_part *p = arg;
    enum ck_dtype t;
    const unsigned char *data = p->map.data;
    size_t n = p->map.size;
    p->format = CK_FORMAT_FOREIGN;
    if (ck_npy_is_magic(data, n))
        p->format = CK_FORMAT_NPY;
    else if (ck_vecs_is_name(p->path, &t))
        p->format = CK_FORMAT_VECS;
    else if (ck_fbin_is_name(p->path, &t))
        p->format = CK_FORMAT_FBIN;
    else if (n == 0)
        return COKE_OK;
    else if (n > 4 && (memcmp(data, "PK\3\4", 4) == 0 || memcmp(data, "PK\5\6", 4) == 0))
        p->format = CK_FORMAT_NPZ;
    else if ((n >= 8 && memcmp(data, "\x89HDF\r\n\x1a\n", 8) == 0) ||
             ends_with(p->path, ".h5") || ends_with(p->path, ".hdf5"))
        p->format = CK_FORMAT_HDF5;
    else if ((n > 9 && data[8] == '{' && data[6] == 0 && data[7] == 0) ||
             ends_with(p->path, ".safetensors"))
        p->format = CK_FORMAT_SAFETENSORS;
    else if (ends_with(p->path, ".npy"))
        p->format = CK_FORMAT_NPY; /* fails with the reason */
    else if (ends_with(p->path, ".npz"))
        p->format = CK_FORMAT_NPZ;
    return COKE_OK;
}

int ck_part_detect(struct ck_part *p)
{
    int rc = ck_guard_call(detect, p);
    return rc == COKE_EIO ? ck_fail_prefix(rc, "%s: ", p->name) : rc;
}

int ck_part_parse(struct ck_part *p, const struct ck_raw *raw)
{
    CK_RETURN_IF(ck_part_detect(p));
    p->format = raw ? CK_FORMAT_RAW : p->format;
    int one = p->format == CK_FORMAT_NPY || p->format == CK_FORMAT_VECS ||
              p->format == CK_FORMAT_FBIN || p->format == CK_FORMAT_RAW;
    if (p->array && one)
        return ck_fail(COKE_EFORMAT,
                       "%s: the file is one array; a name after ':' is for .npz, .safetensors "
                       "and .h5",
                       p->name);
    switch (p->format) {
    case CK_FORMAT_RAW:
        return parse_raw(p, raw);
    case CK_FORMAT_NPZ:
        return ck_part_parse_npz(p);
    case CK_FORMAT_SAFETENSORS:
        return ck_part_parse_safetensors(p);
    case CK_FORMAT_HDF5:
        return ck_part_parse_hdf5(p);
    case CK_FORMAT_FOREIGN:
        return ck_part_fail_foreign(p);
    default:
        break;
    }
    int rc = ck_guard_call(parse_simple, p);
    return rc == COKE_EIO ? ck_fail_prefix(rc, "%s: ", p->name) : rc;
}

int ck_part_name(struct ck_part *p, const char *name)
{
    int length;
    const char *array = ck_paths_array(name, &length);
    p->name = ck_strdup(name);
    p->path = p->name ? ck_strdup(name) : NULL;
    if (!p->path)
        return COKE_ENOMEM;
    p->path[length] = 0;
    p->array = array ? p->name + (array - name) : NULL;
    return COKE_OK;
}

void ck_part_release(struct ck_part *p)
{
    if (p->source.from)
        p->source.free(p->source.from);
    ck_map_release(&p->map);
    ck_free(p->name);
    ck_free(p->path);
    *p = (struct ck_part){0};
}

/* ---- elements ---- */

/* Where an element is in rows and columns; .fvecs have the row's length before it. */
static const unsigned char *element(const struct ck_part *p, int64_t row, int32_t column)
{
    size_t size = ck_dtype_size(p->dtype);
    if (p->layout == CK_LAYOUT_COLUMNS)
        return p->data + ((size_t)column * (size_t)p->vecs.n + (size_t)row) * size;
    size_t head = p->layout == CK_LAYOUT_RECORDS ? sizeof(int32_t) : 0;
    return p->data + (size_t)row * p->vecs.stride + head + (size_t)column * size;
}

int ck_part_row(const struct ck_part *p, int64_t row, float *out)
{
    const unsigned char *src = p->data + (size_t)row * p->vecs.stride;
    if (p->layout == CK_LAYOUT_RECORDS)
        CK_RETURN_IF(ck_vecs_row(&p->vecs, p->name, p->data, row, &src));
    if (p->layout != CK_LAYOUT_COLUMNS)
        ck_convert_f32(p->dtype, src, p->vecs.dim, out);
    else
        for (int32_t j = 0; j < p->vecs.dim; j++)
            ck_convert_f32(p->dtype, element(p, row, j), 1, &out[j]);
    return COKE_OK;
}

double ck_part_value(const struct ck_part *p, int64_t row, int32_t column)
{
    double x;
    ck_convert_f64(p->dtype, element(p, row, column), 1, &x);
    return x;
}
