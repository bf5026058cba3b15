/* rows_part.c - one file of rows: detects and validates its format. */
#include "io/rows_file.h"
#include "io/convert.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/mem.h"
#include "core/text.h"

#include <string.h>

/* Rows are a non-empty two-dimensional array of a type that ck_convert_f32 converts. */
int ck_rows_check_npy(const struct ck_npy *a, const char *name)
{
    if (a->ndim != 2)
        return ck_fail(COKE_EFORMAT,
                       "%s: the array has %d dimension%s; rows need two: vectors and columns",
                       name, a->ndim, a->ndim == 1 ? "" : "s");
    if (!ck_convert_is_row(a->dtype))
        return ck_fail(COKE_EFORMAT, "%s: dtype %s; rows must be f4, f2, f8, u1 or i1", name,
                       ck_npy_dtype(a->dtype));
    if (a->shape[0] == 0)
        return ck_fail(COKE_EFORMAT, "%s: no rows", name);
    if (a->shape[1] == 0)
        return ck_fail(COKE_EFORMAT, "%s: no columns", name);
    if (a->shape[1] > INT32_MAX)
        return ck_fail(COKE_EFORMAT, "%s: %lld columns are too many", name,
                       (long long)a->shape[1]);
    return COKE_OK;
}

/* Describes a .npy by the same fields as a .fvecs whose records have no header. */
static int parse_npy(struct ck_part *p)
{
    struct ck_npy a;
    int rc = ck_npy_parse(&a, p->name, p->map.data, p->map.size);
    if (rc == COKE_OK)
        rc = ck_rows_check_npy(&a, p->name);
    if (rc)
        return rc;
    p->dtype = a.dtype;
    p->data = p->map.data + a.offset;
    p->vecs = (struct ck_vecs){.dtype = a.dtype,
                               .dim = (int32_t)a.shape[1],
                               .n = a.shape[0],
                               .stride = (size_t)a.shape[1] * ck_dtype_size(a.dtype)};
    return COKE_OK;
}

/* p->dtype is already set from the name. */
static int parse_vecs(struct ck_part *p)
{
    p->is_vecs = 1;
    p->data = p->map.data;
    return ck_vecs_parse(&p->vecs, p->name, p->dtype, p->map.data, p->map.size);
}

static int fail_unknown(const struct ck_part *p)
{
    const char *hint = "";
    if (p->map.size == 0)
        return ck_fail(COKE_EFORMAT, "%s: empty", p->name);
    if (p->map.size > 4 && memcmp(p->map.data, "PK\3\4", 4) == 0)
        hint = " (a .npz or zip must be unpacked first)";
    return ck_fail(COKE_EFORMAT,
                   "%s: unknown format%s; supported: .npy (f4 f2 f8 u1 i1), .fvecs, .bvecs",
                   p->name, hint);
}

/* The content decides before the name, because .npy files may have any name. Called by
 * ck_guard_call: holds nothing. */
static int parse(void *arg)
{
    struct ck_part *p = arg;
    size_t n = strlen(p->name);
    if (ck_npy_is_magic(p->map.data, p->map.size))
        return parse_npy(p);
    if (ck_vecs_is_name(p->name, &p->dtype))
        return parse_vecs(p);
    if (n >= 4 && ck_text_same(p->name + n - 4, ".npy"))
        return parse_npy(p); /* fails with the reason */
    return fail_unknown(p);
}

int ck_part_parse(struct ck_part *p)
{
    int rc = ck_guard_call(parse, p);
    return rc == COKE_EIO ? ck_fail_prefix(rc, "%s: ", p->name) : rc;
}

void ck_part_release(struct ck_part *p)
{
    ck_map_release(&p->map);
    ck_free(p->name);
    *p = (struct ck_part){0};
}
