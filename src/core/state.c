/* state.c - a list of named tensors and texts. */
#include "core/state.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/vec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[CK_DTYPES] = {
    [CK_F64] = {"F64", 8},   [CK_F32] = {"F32", 4}, [CK_F16] = {"F16", 2},
    [CK_BF16] = {"BF16", 2}, [CK_I64] = {"I64", 8}, [CK_I32] = {"I32", 4},
    [CK_I16] = {"I16", 2},   [CK_I8] = {"I8", 1},   [CK_U64] = {"U64", 8},
    [CK_U32] = {"U32", 4},   [CK_U16] = {"U16", 2}, [CK_U8] = {"U8", 1},
    [CK_BOOL] = {"BOOL", 1},
};

size_t ck_dtype_size(enum ck_dtype t)
{
    return dtypes[t].size;
}

const char *ck_dtype_name(enum ck_dtype t)
{
    return dtypes[t].name;
}

void ck_state_release(struct ck_state *s)
{
    for (int i = 0; i < s->ntensors; i++)
        ck_free(s->tensor[i].name);
    for (int i = 0; i < s->nmeta; i++) {
        ck_free(s->meta[i].key);
        ck_free(s->meta[i].value);
    }
    ck_free(s->tensor);
    ck_free(s->meta);
    if (s->release_backing)
        s->release_backing(s->backing);
    memset(s, 0, sizeof *s);
}

int ck_state_add(struct ck_state *s, const char *name, enum ck_dtype dtype, int ndim,
                 const int64_t *shape, const void *data)
{
    CK_RETURN_IF(CK_VEC_RESERVE(s->tensor, s->room_tensors, s->ntensors + 1));
    struct ck_tensor t = {.dtype = dtype, .ndim = ndim, .data = data};
    for (int i = 0; i < ndim; i++)
        t.shape[i] = shape[i];
    t.name = ck_strdup(name);
    if (!t.name)
        return COKE_ENOMEM;
    s->tensor[s->ntensors++] = t;
    return COKE_OK;
}

int ck_state_add_meta(struct ck_state *s, const char *key, const char *value)
{
    CK_RETURN_IF(CK_VEC_RESERVE(s->meta, s->room_meta, s->nmeta + 1));
    struct ck_meta m = {.key = ck_strdup(key), .value = ck_strdup(value)};
    if (!m.key || !m.value) {
        ck_free(m.key);
        ck_free(m.value);
        return COKE_ENOMEM;
    }
    s->meta[s->nmeta++] = m;
    return COKE_OK;
}

int ck_state_add_meta_number(struct ck_state *s, const char *key, double value)
{
    char text[32];
    ck_format(text, sizeof text, "%.17g", value);
    return ck_state_add_meta(s, key, text);
}

int ck_state_add_meta_int(struct ck_state *s, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return ck_state_add_meta(s, key, text);
}

const struct ck_tensor *ck_state_find(const struct ck_state *s, const char *name)
{
    for (int i = 0; i < s->ntensors; i++)
        if (strcmp(s->tensor[i].name, name) == 0)
            return &s->tensor[i];
    return NULL;
}

const char *ck_state_meta(const struct ck_state *s, const char *key)
{
    for (int i = 0; i < s->nmeta; i++)
        if (strcmp(s->meta[i].key, key) == 0)
            return s->meta[i].value;
    return NULL;
}

int64_t ck_tensor_elements(const struct ck_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        n *= t->shape[i];
    return n;
}

/* *bytes of *t, which is tensor `name` and has this dtype and shape. */
static int find_checked(const struct ck_state *s, const char *name, enum ck_dtype dtype,
                        int ndim, const int64_t *shape, const struct ck_tensor **out,
                        size_t *bytes)
{
    const struct ck_tensor *t = *out = ck_state_find(s, name);
    if (!t)
        return ck_fail(COKE_EFORMAT, "tensor '%s' is missing", name);
    if (t->dtype != dtype)
        return ck_fail(COKE_EFORMAT, "tensor '%s' is %s, not %s", name, ck_dtype_name(t->dtype),
                       ck_dtype_name(dtype));
    if (t->ndim != ndim)
        return ck_fail(COKE_EFORMAT, "tensor '%s' has %d dimensions, not %d", name, t->ndim,
                       ndim);
    for (int i = 0; i < ndim; i++)
        if (t->shape[i] != shape[i])
            return ck_fail(COKE_EFORMAT, "tensor '%s': dimension %d is %lld, not %lld", name, i,
                           (long long)t->shape[i], (long long)shape[i]);
    *bytes = (size_t)ck_tensor_elements(t) * ck_dtype_size(dtype);
    return COKE_OK;
}

int ck_state_copy(const struct ck_state *s, const char *name, enum ck_dtype dtype, int ndim,
                  const int64_t *shape, void *out)
{
    const struct ck_tensor *t;
    size_t bytes;
    CK_RETURN_IF(find_checked(s, name, dtype, ndim, shape, &t, &bytes));
    if (bytes)
        memcpy(out, t->data, bytes);
    return COKE_OK;
}

int ck_state_copy_new(const struct ck_state *s, const char *name, enum ck_dtype dtype, int ndim,
                      const int64_t *shape, void **out)
{
    const struct ck_tensor *t;
    size_t bytes;
    *out = NULL;
    CK_RETURN_IF(find_checked(s, name, dtype, ndim, shape, &t, &bytes));
    *out = ck_alloc_array(bytes ? bytes : 1, 1);
    if (!*out)
        return COKE_ENOMEM;
    if (bytes)
        memcpy(*out, t->data, bytes);
    return COKE_OK;
}

/* The text under key, which must be there. strtod and strtoll skip white space, which no
 * writer puts before a number. */
static int find_number(const struct ck_state *s, const char *key, const char **text)
{
    *text = ck_state_meta(s, key);
    if (!*text)
        return ck_fail(COKE_EFORMAT, "metadata '%s' is missing", key);
    if (isspace((unsigned char)**text))
        return ck_fail(COKE_EFORMAT, "metadata '%s' is '%s', not a number", key, *text);
    return COKE_OK;
}

int ck_state_meta_number(const struct ck_state *s, const char *key, double *out)
{
    const char *text;
    char *end;
    CK_RETURN_IF(find_number(s, key, &text));
    *out = ck_parse_double(text, &end);
    if (end == text || *end)
        return ck_fail(COKE_EFORMAT, "metadata '%s' is '%s', not a number", key, text);
    return COKE_OK;
}

int ck_state_meta_int(const struct ck_state *s, const char *key, int64_t *out)
{
    const char *text;
    char *end;
    CK_RETURN_IF(find_number(s, key, &text));
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return ck_fail(COKE_EFORMAT, "metadata '%s' is '%s', not an integer", key, text);
    *out = value;
    return COKE_OK;
}

int ck_state_add_part(struct ck_state *s, const char *prefix, const struct ck_state *part)
{
    char name[128];
    for (int i = 0; i < part->ntensors; i++) {
        const struct ck_tensor *t = &part->tensor[i];
        snprintf(name, sizeof name, "%s%s", prefix, t->name);
        CK_RETURN_IF(ck_state_add(s, name, t->dtype, t->ndim, t->shape, t->data));
    }
    for (int i = 0; i < part->nmeta; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, part->meta[i].key);
        CK_RETURN_IF(ck_state_add_meta(s, name, part->meta[i].value));
    }
    return COKE_OK;
}

int ck_state_take_part(struct ck_state *part, const char *prefix, const struct ck_state *s)
{
    size_t n = strlen(prefix);
    for (int i = 0; i < s->ntensors; i++) {
        const struct ck_tensor *t = &s->tensor[i];
        if (strncmp(t->name, prefix, n) == 0)
            CK_RETURN_IF(ck_state_add(part, t->name + n, t->dtype, t->ndim, t->shape, t->data));
    }
    for (int i = 0; i < s->nmeta; i++)
        if (strncmp(s->meta[i].key, prefix, n) == 0)
            CK_RETURN_IF(ck_state_add_meta(part, s->meta[i].key + n, s->meta[i].value));
    return COKE_OK;
}
