/* pickle_access.c - queries on a pickle that was read: text, items, tensors. */
#include "core/error.h"
#include "io/pickle.h"
#include "io/pickle_names.h"

#include <string.h>

const char *ck_pickle_text(const struct ck_pickle *p, int32_t node, size_t *size)
{
    if (node < 0 || p->node[node].kind != CK_PICKLE_TEXT)
        return NULL;
    *size = (size_t)p->node[node].count;
    return (const char *)p->data + p->node[node].number;
}

int ck_pickle_is_text(const struct ck_pickle *p, int32_t node, const char *text)
{
    size_t n;
    const char *own = ck_pickle_text(p, node, &n);
    return own && n == strlen(text) && memcmp(own, text, n) == 0;
}

/* The first item of a tuple, list or dict; other nodes have none, because their `first` means
 * something else. */
static int32_t first_item(const struct ck_pickle *p, int32_t node)
{
    if (node < 0)
        return -1;
    enum ck_pickle_kind kind = p->node[node].kind;
    int has = kind == CK_PICKLE_TUPLE || kind == CK_PICKLE_LIST || kind == CK_PICKLE_DICT;
    return has ? p->node[node].first : -1;
}

int32_t ck_pickle_get(const struct ck_pickle *p, int32_t dict, const char *key)
{
    for (int32_t i = first_item(p, dict); i >= 0; i = p->item[i].next)
        if (ck_pickle_is_text(p, p->item[i].key, key))
            return p->item[i].value;
    return -1;
}

int32_t ck_pickle_at(const struct ck_pickle *p, int32_t node, int i)
{
    int32_t item = first_item(p, node);
    for (; item >= 0 && i > 0; i--)
        item = p->item[item].next;
    return item < 0 ? -1 : p->item[item].value;
}

static int get_int(const struct ck_pickle *p, int32_t node, int64_t *out)
{
    if (node < 0 || p->node[node].kind != CK_PICKLE_INT)
        return 0;
    *out = p->node[node].number;
    return 1;
}

static int fail_shape(const struct ck_pickle *p, const char *words)
{
    return ck_fail(COKE_EFORMAT, "%s: its pickle has a tensor %s", p->path, words);
}

/* ('storage', type, key, device, elements); older files append a view, which may be None. */
int ck_pickle_storage(const struct ck_pickle *p, int32_t node, struct ck_pickle_storage *out)
{
    if (node < 0 || p->node[node].kind != CK_PICKLE_STORAGE)
        return fail_shape(p, "without a storage");
    int32_t id = p->node[node].first, type = ck_pickle_at(p, id, 1),
            view = ck_pickle_at(p, id, 5);
    out->key = ck_pickle_text(p, ck_pickle_at(p, id, 2), &out->key_size);
    if (!ck_pickle_is_text(p, ck_pickle_at(p, id, 0), "storage") || !out->key || type < 0 ||
        p->node[type].kind != CK_PICKLE_GLOBAL ||
        !ck_pickle_storage_dtype(p->node[type].number, &out->dtype) ||
        !get_int(p, ck_pickle_at(p, id, 4), &out->elements))
        return fail_shape(p, "whose storage is not described");
    if (view >= 0 && p->node[view].kind != CK_PICKLE_NONE)
        return fail_shape(p, "in a view of a storage; save it again with a current PyTorch");
    return COKE_OK;
}

/* A tuple of at most CK_MAX_DIMS integers; returns 0 if it is anything else. */
static int get_ints(const struct ck_pickle *p, int32_t node, int *n, int64_t out[CK_MAX_DIMS])
{
    *n = 0;
    if (node < 0 || p->node[node].kind != CK_PICKLE_TUPLE)
        return 0;
    for (int32_t i = p->node[node].first; i >= 0; i = p->item[i].next)
        if (*n == CK_MAX_DIMS || !get_int(p, p->item[i].value, &out[(*n)++]))
            return 0;
    return 1;
}

/* _rebuild_tensor_v2(storage, offset, shape, stride, requires_grad, hooks) */
int ck_pickle_tensor(const struct ck_pickle *p, int32_t node, struct ck_pickle_tensor *out)
{
    int strides, rc = COKE_OK;
    if (node < 0 || p->node[node].kind != CK_PICKLE_TENSOR)
        return fail_shape(p, "that is not one");
    int32_t args = p->node[node].first;
    CK_TRY(ck_pickle_storage(p, ck_pickle_at(p, args, 0), &out->storage));
    if (!get_int(p, ck_pickle_at(p, args, 1), &out->offset) ||
        !get_ints(p, ck_pickle_at(p, args, 2), &out->ndim, out->shape) ||
        !get_ints(p, ck_pickle_at(p, args, 3), &strides, out->stride) || strides != out->ndim)
        rc = fail_shape(p, "whose shape is not described, or has more than 8 dimensions");
done:
    return rc;
}
