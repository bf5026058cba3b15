/* rows_array.c - rows that are already in memory. */
#include "io/rows_file.h"
#include "core/error.h"
#include "core/mem.h"

#include <stdio.h>
#include <string.h>

struct array_rows {
    struct coke_rows base;
    const float *x; /* [n][dim], borrowed */
};

/* Reads only, so several threads may call it at the same time. */
static int get(struct coke_rows *r, const int64_t *index, int n, float *out, int ld)
{
    const struct array_rows *a = (const struct array_rows *)r;
    size_t dim = (size_t)r->dim;
    for (int i = 0; i < n; i++, out += ld) {
        if (index[i] < 0 || index[i] >= r->n)
            return ck_fail(COKE_EFAIL, "row %lld requested, but there are only %lld",
                           (long long)index[i], (long long)r->n);
        memcpy(out, a->x + (size_t)index[i] * dim, dim * sizeof *out);
        for (int j = r->dim; j < ld; j++)
            out[j] = 0.0f;
    }
    return COKE_OK;
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

int ck_rows_from_array(struct coke_rows **out, const float *x, int64_t n, int32_t dim)
{
    int64_t bytes;
    *out = NULL;
    if (n < 1 || dim < 1)
        return ck_fail(COKE_EUSAGE, "invalid array of %lld rows and %d columns", (long long)n,
                       dim);
    if (__builtin_mul_overflow(n, (int64_t)dim * (int64_t)sizeof *x, &bytes))
        return ck_fail(COKE_EUSAGE, "%lld rows of %d columns do not fit in memory",
                       (long long)n, dim);
    struct array_rows *a = ck_calloc_array(1, sizeof *a);
    if (!a)
        return COKE_ENOMEM;
    a->base = (struct coke_rows){.n = n,
                                 .dim = dim,
                                 .bytes = bytes,
                                 .name = "array",
                                 .note = "",
                                 .get = get,
                                 .where = where,
                                 .free = release};
    a->x = x;
    *out = &a->base;
    return COKE_OK;
}
