/* torch_legacy.c - torch.save files from before torch 1.6.
 *
 * Format: five pickles (a signature, a version, system information, the object, the keys of its
 * storages), then for each key the number of elements (i64) and the elements. */
#include "io/torch_legacy.h"
#include "core/error.h"
#include "core/mem.h"

#include <stdlib.h>
#include <string.h>

/* 0x1950a86a20f9469cfc6c, of which the pickle reader keeps 64 bits. */
static const int64_t SIGNATURE = (int64_t)0xa86a20f9469cfc6cu;
enum { VERSION = 1001 };

static int fail_file(const char *path, const char *words)
{
    return ck_fail(COKE_EFORMAT, "%s: %s", path, words);
}

/* Replaces *p by the pickle at *at and advances *at. */
static int next(const char *path, const struct ck_map *map, size_t *at, struct ck_pickle *p)
{
    size_t used = 0;
    ck_pickle_release(p);
    int rc = ck_pickle_read(p, path, map->data + *at, map->size - *at, &used);
    if (!rc)
        *at += used;
    return rc;
}

static int is_number(const struct ck_pickle *p, int64_t number)
{
    const struct ck_pickle_node *v = &p->node[p->root];
    return v->kind == CK_PICKLE_INT && v->number == number;
}

static int read_head(const char *path, const struct ck_map *map, size_t *at)
{
    struct ck_pickle p = {0};
    int rc = COKE_OK;
    CK_TRY(next(path, map, at, &p));
    if (!is_number(&p, SIGNATURE))
        CK_FAIL(COKE_EFORMAT, "%s: a pickle, but not written by torch.save", path);
    CK_TRY(next(path, map, at, &p));
    if (!is_number(&p, VERSION))
        CK_FAIL(COKE_EFORMAT, "%s: this version of torch.save is not supported", path);
    CK_TRY(next(path, map, at, &p));
    int32_t order = ck_pickle_get(&p, p.root, "little_endian");
    if (order >= 0 && p.node[order].kind == CK_PICKLE_BOOL && !p.node[order].number)
        CK_FAIL(COKE_EFORMAT, "%s: its numbers are not little-endian", path);
done:
    ck_pickle_release(&p);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const struct ck_zip_entry *x = a, *y = b;
    size_t n = x->name_size < y->name_size ? x->name_size : y->name_size;
    int order = n ? memcmp(x->name, y->name, n) : 0;
    return order ? order : (x->name_size > y->name_size) - (x->name_size < y->name_size);
}

/* Lists the storages that the pickle names, each once, sorted by key; until read_storage,
 * `size` is that of one element. */
static int list_storages(const struct ck_pickle *p, struct ck_zip *z)
{
    int n = 0, rc = COKE_OK;
    for (int32_t i = 0; i < p->nodes; i++)
        n += p->node[i].kind == CK_PICKLE_STORAGE;
    z->path = p->path;
    z->entry = ck_calloc_array((size_t)n + 1, sizeof *z->entry);
    if (!z->entry)
        return COKE_ENOMEM;
    for (int32_t i = 0; i < p->nodes; i++) {
        struct ck_pickle_storage s = {0};
        if (p->node[i].kind != CK_PICKLE_STORAGE)
            continue;
        CK_TRY(ck_pickle_storage(p, i, &s));
        z->entry[z->n++] = (struct ck_zip_entry){
            .name = s.key, .name_size = s.key_size, .size = ck_dtype_size(s.dtype)};
    }
    qsort(z->entry, (size_t)z->n, sizeof *z->entry, by_name);
    n = z->n;
    z->n = 0;
    for (int i = 0; i < n; i++)
        if (!i || by_name(&z->entry[i - 1], &z->entry[i]) != 0)
            z->entry[z->n++] = z->entry[i];
done:
    return rc;
}

/* Locates the bytes of one storage at *at and advances *at. */
static int read_storage(struct ck_zip *z, const struct ck_map *map, size_t *at, const char *key,
                        size_t key_size)
{
    struct ck_zip_entry wanted = {.name = key, .name_size = key_size};
    struct ck_zip_entry *e =
        bsearch(&wanted, z->entry, (size_t)z->n, sizeof *z->entry, by_name);
    int64_t elements;
    if (!e || e->data)
        return fail_file(z->path, "a storage that no tensor uses, or a duplicate");
    if (map->size - *at < sizeof elements)
        return fail_file(z->path, "truncated before the bytes of a tensor");
    memcpy(&elements, map->data + *at, sizeof elements);
    *at += sizeof elements;
    if (elements < 0 || (uint64_t)elements > (map->size - *at) / e->size)
        return fail_file(z->path, "truncated within the bytes of a tensor");
    e->data = map->data + *at;
    e->size *= (size_t)elements;
    *at += e->size;
    return COKE_OK;
}

static int read_storages(const char *path, struct ck_zip *z, const struct ck_map *map,
                         size_t at)
{
    struct ck_pickle keys = {0};
    int rc = COKE_OK;
    CK_TRY(next(path, map, &at, &keys));
    if (keys.node[keys.root].kind != CK_PICKLE_LIST || keys.node[keys.root].count != z->n)
        CK_FAIL(COKE_EFORMAT, "%s: its list of storages does not match its tensors", path);
    for (int32_t i = keys.node[keys.root].first; i >= 0; i = keys.item[i].next) {
        size_t n;
        const char *key = ck_pickle_text(&keys, keys.item[i].value, &n);
        if (!key)
            CK_FAIL(COKE_EFORMAT, "%s: the name of a storage is not text", path);
        CK_TRY(read_storage(z, map, &at, key, n));
    }
done:
    ck_pickle_release(&keys);
    return rc;
}

int ck_torch_legacy(const char *path, const struct ck_map *map, struct ck_pickle *pickle,
                    struct ck_zip *storage)
{
    size_t at = 0;
    CK_RETURN_IF(read_head(path, map, &at));
    CK_RETURN_IF(next(path, map, &at, pickle));
    CK_RETURN_IF(list_storages(pickle, storage));
    return read_storages(path, storage, map, at);
}
