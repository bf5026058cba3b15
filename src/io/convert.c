/* convert.c - shapes and element types of arrays in files. */
#include "io/convert.h"

#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file formats are little-endian");

/* Shapes come from files: 0 if one is negative or the product overflows. */
int ck_shape_size(enum ck_dtype t, int ndim, const int64_t *shape, int64_t *elements,
                  int64_t *bytes)
{
    int64_t n = 1;
    /* A zero makes the array empty however large the other dimensions claim to be. */
    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0)
            n = 0;
    for (int i = 0; i < ndim; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(n, shape[i], &n))
            return 0;
    *elements = n;
    return !__builtin_mul_overflow(n, (int64_t)ck_dtype_size(t), bytes);
}

void ck_shape_text(int ndim, const int64_t *shape, char text[CK_SHAPE_TEXT])
{
    size_t used = 0;
    snprintf(text, CK_SHAPE_TEXT, "scalar");
    for (int i = 0; i < ndim; i++)
        used += (size_t)snprintf(text + used, CK_SHAPE_TEXT - used, "%s%lld", i ? " x " : "",
                                 (long long)shape[i]);
}

/* IEEE half to single, exact. Masks instead of branches, so that compilers vectorize it; no
 * intermediate result is subnormal, so flush-to-zero modes do not matter. */
static float half_to_float(uint16_t h)
{
    int32_t magnitude = h & 0x7fff;
    uint32_t is_small = 0u - (magnitude < 0x400), is_huge = 0u - (magnitude > 0x7bff);
    /* Infinity and NaN (whose payload is kept) move the exponent twice as far. */
    uint32_t normal = ((uint32_t)magnitude << 13) + (112u << 23) + (is_huge & 112u << 23);
    float f = (float)magnitude * 0x1p-24f;
    uint32_t small;
    memcpy(&small, &f, 4);
    uint32_t bits = (small & is_small) | (normal & ~is_small) | (uint32_t)(h & 0x8000) << 16;
    memcpy(&f, &bits, 4);
    return f;
}

static void from_half(const unsigned char *src, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, src + 2 * i, 2);
        out[i] = half_to_float(h);
    }
}

/* bfloat16 is the upper half of a single. */
static float bfloat_to_float(const unsigned char *src)
{
    uint32_t bits = (uint32_t)src[0] << 16 | (uint32_t)src[1] << 24;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static void from_bfloat(const unsigned char *src, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = bfloat_to_float(src + 2 * i);
}

static void from_float(const unsigned char *src, int64_t n, float *out)
{
    memcpy(out, src, (size_t)n * sizeof *out);
}

/* memcpy, because elements in files may be unaligned. */
#define FROM(name, type)                                                                       \
    static void name(const unsigned char *src, int64_t n, float *out)                          \
    {                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                      \
            type x;                                                                            \
            memcpy(&x, src + i * (int64_t)sizeof x, sizeof x);                                 \
            out[i] = (float)x;                                                                 \
        }                                                                                      \
    }
FROM(from_double, double)
FROM(from_i64, int64_t)
FROM(from_i32, int32_t)
FROM(from_i16, int16_t)
FROM(from_i8, int8_t)
FROM(from_u64, uint64_t)
FROM(from_u32, uint32_t)
FROM(from_u16, uint16_t)
FROM(from_u8, uint8_t)

void ck_convert_f32(enum ck_dtype t, const void *src, int64_t n, float *out)
{
    static void (*const from[CK_DTYPES])(const unsigned char *, int64_t, float *) = {
        [CK_F64] = from_double,  [CK_F32] = from_float, [CK_F16] = from_half,
        [CK_BF16] = from_bfloat, [CK_I64] = from_i64,   [CK_I32] = from_i32,
        [CK_I16] = from_i16,     [CK_I8] = from_i8,     [CK_U64] = from_u64,
        [CK_U32] = from_u32,     [CK_U16] = from_u16,   [CK_U8] = from_u8,
        [CK_BOOL] = from_u8,
    };
    from[t](src, n, out);
}

#define LOAD(type, p) ((double)*(const type *)memcpy(&(type){0}, (p), sizeof(type)))

/* One element as double; integers beyond 2^53 are rounded. The default case is U8 and BOOL. */
static double load_f64(enum ck_dtype t, const unsigned char *p)
{
    switch (t) {
    case CK_F64:
        return LOAD(double, p);
    case CK_F32:
        return LOAD(float, p);
    case CK_F16:
        return half_to_float((uint16_t)(p[0] | p[1] << 8));
    case CK_BF16:
        return bfloat_to_float(p);
    case CK_I64:
        return LOAD(int64_t, p);
    case CK_I32:
        return LOAD(int32_t, p);
    case CK_I16:
        return LOAD(int16_t, p);
    case CK_I8:
        return LOAD(int8_t, p);
    case CK_U64:
        return LOAD(uint64_t, p);
    case CK_U32:
        return LOAD(uint32_t, p);
    case CK_U16:
        return LOAD(uint16_t, p);
    default:
        return p[0];
    }
}

void ck_convert_f64(enum ck_dtype t, const void *src, int64_t n, double *out)
{
    size_t size = ck_dtype_size(t);
    for (int64_t i = 0; i < n; i++)
        out[i] = load_f64(t, (const unsigned char *)src + (size_t)i * size);
}
