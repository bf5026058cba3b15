/* raw_rows.c - rows without a header: the user says type, columns and where they begin. */
#include "io/raw_rows.h"
#include "core/error.h"

#include <stdlib.h>
#include <string.h>

static const char *const types[CK_DTYPES] = {
    [CK_F64] = "f64", [CK_F32] = "f32", [CK_F16] = "f16",  [CK_BF16] = "bf16", [CK_I64] = "i64",
    [CK_I32] = "i32", [CK_I16] = "i16", [CK_I8] = "i8",    [CK_U64] = "u64",   [CK_U32] = "u32",
    [CK_U16] = "u16", [CK_U8] = "u8",   [CK_BOOL] = "bool"};

const char *ck_raw_type(enum ck_dtype t)
{
    return types[t];
}

static int fail_form(const char *text)
{
    return ck_fail(COKE_EUSAGE,
                   "raw: '%.40s' is not TYPE:COLUMNS or TYPE:COLUMNS:OFFSET, such as f16:768, "
                   "with a TYPE of f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 bool",
                   text);
}

/* Digits only, at least `min`; *end is behind them. */
static int parse_count(const char *text, long long min, long long max, long long *out,
                       char **end)
{
    if (*text < '0' || *text > '9')
        return 0;
    *out = strtoll(text, end, 10); /* saturates */
    return *out >= min && *out <= max;
}

int ck_raw_parse(struct ck_raw *out, const char *text)
{
    char *end;
    long long columns, offset = 0;
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    int t = 0;
    while (t < CK_DTYPES && (strlen(types[t]) != n || memcmp(types[t], text, n) != 0))
        t++;
    if (t == CK_DTYPES || !parse_count(colon + 1, 1, INT32_MAX, &columns, &end))
        return fail_form(text);
    if (*end == ':' && !parse_count(end + 1, 0, INT64_MAX, &offset, &end))
        return fail_form(text);
    if (*end)
        return fail_form(text);
    *out = (struct ck_raw){(enum ck_dtype)t, (int32_t)columns, offset};
    return COKE_OK;
}

int ck_raw_view(struct ck_vecs *out, const struct ck_raw *raw, const char *name, size_t size)
{
    size_t row = (size_t)raw->dim * ck_dtype_size(raw->dtype), offset = (size_t)raw->offset;
    if (size <= offset)
        return ck_fail(COKE_EFORMAT, "%s: no rows: the file has %zu bytes, %zu are left out",
                       name, size, offset);
    if ((size - offset) % row)
        return ck_fail(COKE_EFORMAT,
                       "%s: %zu bytes are not a multiple of a row, %d x %zu = %zu bytes (%s)",
                       name, size - offset, raw->dim, ck_dtype_size(raw->dtype), row,
                       ck_raw_type(raw->dtype));
    *out = (struct ck_vecs){.dtype = raw->dtype,
                            .dim = raw->dim,
                            .n = (int64_t)((size - offset) / row),
                            .stride = row};
    return COKE_OK;
}
