/* fbin.c - .fbin, .f16bin, .u8bin and .i8bin: u32 rows, u32 columns, then the rows. */
#include "io/fbin.h"
#include "io/convert.h"
#include "io/raw_rows.h"
#include "core/error.h"
#include "core/text.h"

#include <string.h>

static const struct {
    const char *ending;
    enum ck_dtype dtype;
} kinds[] = {{".fbin", CK_F32}, {".f16bin", CK_F16}, {".u8bin", CK_U8}, {".i8bin", CK_I8}};

int ck_fbin_is_name(const char *path, enum ck_dtype *dtype)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t m = strlen(kinds[i].ending);
        if (n >= m && ck_text_same(path + n - m, kinds[i].ending)) {
            *dtype = kinds[i].dtype;
            return 1;
        }
    }
    return 0;
}

/* Files that were cut out of larger ones often keep the header of those. */
static int fail_size(const char *name, enum ck_dtype dtype, const uint32_t head[2],
                     long long bytes, long long got)
{
    return ck_fail(COKE_EFORMAT,
                   "%s: the header says %u x %u %s = %lld bytes of rows, the file has %lld; "
                   "--raw %s:%u:%d reads all that is there",
                   name, head[0], head[1], ck_raw_type(dtype), bytes, got, ck_raw_type(dtype),
                   head[1], CK_FBIN_HEAD);
}

int ck_fbin_parse(struct ck_vecs *out, const char *name, enum ck_dtype dtype,
                  const unsigned char *data, size_t size)
{
    uint32_t head[2];
    int64_t elements, bytes;
    if (size == 0)
        return ck_fail(COKE_EFORMAT, "%s: no rows: the file is empty", name);
    if (size < CK_FBIN_HEAD)
        return ck_fail(COKE_EFORMAT, "%s: %zu bytes are too few for the header, which has %d",
                       name, size, CK_FBIN_HEAD);
    memcpy(head, data, sizeof head);
    if (head[0] == 0 || head[1] == 0)
        return ck_fail(COKE_EFORMAT, "%s: the header says %u rows of %u columns", name, head[0],
                       head[1]);
    if (head[1] > INT32_MAX)
        return ck_fail(COKE_EFORMAT, "%s: %u columns are too many", name, head[1]);
    if (!ck_shape_size(dtype, 2, (const int64_t[]){head[0], head[1]}, &elements, &bytes))
        return ck_fail(COKE_EFORMAT, "%s: the size of %u x %u %s overflows 63 bits", name,
                       head[0], head[1], ck_raw_type(dtype));
    if (bytes != (int64_t)(size - CK_FBIN_HEAD))
        return fail_size(name, dtype, head, bytes, (long long)(size - CK_FBIN_HEAD));
    *out = (struct ck_vecs){.dtype = dtype,
                            .dim = (int32_t)head[1],
                            .n = head[0],
                            .stride = head[1] * ck_dtype_size(dtype)};
    return COKE_OK;
}
