/* torch_read.c - reads torch.save files: a pickle that describes tensors, and their bytes
 * beside it. */
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "io/convert.h"
#include "io/pickle.h"
#include "io/torch_file.h"
#include "io/torch_legacy.h"
#include "io/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the state owns and its tensors point into. */
struct backing {
    struct ck_map map;
    void **copy; /* of tensors that lie scattered in the file */
    int copies;
    int64_t room;
    size_t copied;
};

/* A file being read; owns pickle, storage and checked. backing belongs to the state. */
struct reader {
    const char *path;
    struct backing *backing;
    struct ck_pickle pickle;
    struct ck_zip storage; /* storages by name: prefix + key */
    const char *prefix;
    size_t prefix_size;
    char *checked; /* per storage, whether its checksum was verified; NULL in legacy files */
};

static void release_backing(void *p)
{
    struct backing *b = p;
    for (int i = 0; i < b->copies; i++)
        ck_free(b->copy[i]);
    ck_free(b->copy);
    ck_map_release(&b->map);
    ck_free(b);
}

int ck_torch_is_file(const struct ck_map *map)
{
    return map->size >= 4 && (memcmp(map->data, "PK\3\4", 4) == 0 ||
                              (map->data[0] == 0x80 && map->data[1] >= 2 && map->data[1] <= 5));
}

/* ---- the archive ---- */

/* Finds FOLDER/data.pkl and sets the prefix; FOLDER is the archive's name when it was
 * written. */
static const struct ck_zip_entry *find_pickle(struct reader *r)
{
    static const char name[] = "/data.pkl";
    size_t n = sizeof name - 1;
    for (int i = 0; i < r->storage.n; i++) {
        const struct ck_zip_entry *e = &r->storage.entry[i];
        if (e->name_size <= n || memcmp(e->name + e->name_size - n, name, n) != 0)
            continue;
        r->prefix = e->name;
        r->prefix_size = e->name_size - n + 1;
        return e;
    }
    return NULL;
}

static int check_kind(const struct reader *r)
{
    const struct ck_zip_entry *order =
        ck_zip_find(&r->storage, r->prefix, r->prefix_size, "byteorder");
    if (ck_zip_find(&r->storage, r->prefix, r->prefix_size, "constants.pkl"))
        return ck_fail(COKE_EFORMAT,
                       "%s is a TorchScript module; save its state_dict with torch.save",
                       r->path);
    if (order && (order->size != 6 || memcmp(order->data, "little", 6) != 0))
        return ck_fail(COKE_EFORMAT, "%s: its numbers are not little-endian", r->path);
    return COKE_OK;
}

static int open_archive(struct reader *r)
{
    int rc = COKE_OK;
    size_t used = 0;
    const struct ck_map *map = &r->backing->map;
    CK_TRY(ck_zip_init(&r->storage, r->path, map->data, map->size));
    const struct ck_zip_entry *e = find_pickle(r);
    if (!e)
        CK_FAIL(COKE_EFORMAT, "%s: a zip archive, but not written by torch.save: no data.pkl",
                r->path);
    CK_TRY(check_kind(r));
    CK_TRY(ck_zip_check(&r->storage, e));
    CK_TRY(ck_pickle_read(&r->pickle, r->path, e->data, e->size, &used));
    r->checked = ck_calloc_array((size_t)r->storage.n, 1);
    if (!r->checked)
        rc = COKE_ENOMEM;
done:
    return rc;
}

/* ---- tensors ---- */

static int fail_tensor(const struct reader *r, const char *name, const char *words)
{
    return ck_fail(COKE_EFORMAT, "%s: tensor '%s' %s", r->path, name, words);
}

/* Finds the bytes of a storage and verifies checksum and size; the checksum once per
 * storage. */
static int find_storage(struct reader *r, const char *name, const struct ck_pickle_storage *s,
                        const struct ck_zip_entry **out)
{
    char key[160];
    if (s->key_size > sizeof key - 8 || memchr(s->key, 0, s->key_size))
        return fail_tensor(r, name, "has an invalid storage name");
    snprintf(key, sizeof key, "%s%.*s", r->checked ? "data/" : "", (int)s->key_size, s->key);
    const struct ck_zip_entry *e = ck_zip_find(&r->storage, r->prefix, r->prefix_size, key);
    if (!e)
        return ck_fail(COKE_EFORMAT, "%s: tensor '%s': its storage '%s' is missing", r->path,
                       name, key);
    if (r->checked && !r->checked[e - r->storage.entry]) {
        CK_RETURN_IF(ck_zip_check(&r->storage, e));
        r->checked[e - r->storage.entry] = 1;
    }
    if (s->elements < 0 || (uint64_t)s->elements > e->size / ck_dtype_size(s->dtype) ||
        (size_t)s->elements * ck_dtype_size(s->dtype) != e->size)
        return ck_fail(COKE_EFORMAT,
                       "%s: tensor '%s': its storage has %zu bytes, not %lld elements of %s",
                       r->path, name, e->size, (long long)s->elements, ck_dtype_name(s->dtype));
    *out = e;
    return COKE_OK;
}

/* Returns 0 unless every element lies within the storage; *elements is their number. */
static int check_extent(const struct ck_pickle_tensor *t, int64_t *elements)
{
    int64_t last = t->offset, bytes, step;
    if (t->offset < 0 || !ck_shape_size(t->storage.dtype, t->ndim, t->shape, elements, &bytes))
        return 0;
    for (int i = 0; *elements && i < t->ndim; i++)
        if (t->stride[i] < 0 || __builtin_mul_overflow(t->shape[i] - 1, t->stride[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return 0;
    return *elements ? last < t->storage.elements : t->offset <= t->storage.elements;
}

static int is_contiguous(const struct ck_pickle_tensor *t)
{
    int64_t expected = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->stride[i] != expected)
            return 0;
        expected *= t->shape[i];
    }
    return 1;
}

/* Copies n elements at the strides of t to `to`, in C order. */
static void gather(const struct ck_pickle_tensor *t, const unsigned char *from, int64_t n,
                   unsigned char *to)
{
    size_t size = ck_dtype_size(t->storage.dtype);
    int64_t at[CK_MAX_DIMS] = {0}, place = 0;
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + (size_t)i * size, from + (size_t)place * size, size);
        for (int d = t->ndim - 1; d >= 0; d--) {
            place += t->stride[d];
            if (++at[d] < t->shape[d])
                break;
            place -= at[d] * t->stride[d];
            at[d] = 0;
        }
    }
}

/* Makes a copy in C order, owned by the backing. All copies together may not exceed the file's
 * size: only strides that repeat elements could ask for more. */
static int copy_scattered(struct reader *r, const char *name, const struct ck_pickle_tensor *t,
                          const unsigned char *from, int64_t n, const void **out)
{
    struct backing *b = r->backing;
    size_t bytes = (size_t)n * ck_dtype_size(t->storage.dtype);
    if (n > t->storage.elements || bytes > b->map.size - b->copied)
        return fail_tensor(r, name, "has more elements than its storage");
    CK_RETURN_IF(CK_VEC_RESERVE(b->copy, b->room, b->copies + 1));
    unsigned char *copy = ck_alloc_array(bytes, 1);
    if (!copy)
        return COKE_ENOMEM;
    gather(t, from, n, copy);
    b->copy[b->copies++] = copy;
    b->copied += bytes;
    *out = copy;
    return COKE_OK;
}

static int add_tensor(struct reader *r, const char *name, int32_t node, struct ck_state *out)
{
    struct ck_pickle_tensor t = {0};
    const struct ck_zip_entry *e = NULL;
    int64_t n = 0;
    CK_RETURN_IF(ck_pickle_tensor(&r->pickle, node, &t));
    CK_RETURN_IF(find_storage(r, name, &t.storage, &e));
    if (!check_extent(&t, &n))
        return ck_fail(COKE_EFORMAT, "%s: tensor '%s' exceeds its storage of %lld elements",
                       r->path, name, (long long)t.storage.elements);
    const unsigned char *from = e->data + (size_t)t.offset * ck_dtype_size(t.storage.dtype);
    const void *data = from;
    if (n && !is_contiguous(&t))
        CK_RETURN_IF(copy_scattered(r, name, &t, from, n, &data));
    return ck_state_add(out, name, t.storage.dtype, t.ndim, t.shape, data);
}

/* ---- the dict ---- */

static int has_tensors(const struct ck_pickle *p, int32_t dict)
{
    for (int32_t i = p->node[dict].first; i >= 0; i = p->item[i].next)
        if (p->node[p->item[i].value].kind == CK_PICKLE_TENSOR)
            return 1;
    return 0;
}

static int is_dict(const struct ck_pickle *p, int32_t node)
{
    return node >= 0 && p->node[node].kind == CK_PICKLE_DICT;
}

/* DINO saves two networks side by side, VISSL trunk and heads: their names get these prefixes. */
static const char *const part[] = {"teacher", "student", "trunk", "heads"};
enum { PARTS = sizeof part / sizeof part[0] };

/* What holds the parts: VISSL's model, else the whole object. */
static int32_t find_model(const struct ck_pickle *p)
{
    static const char *const path[] = {"classy_state_dict", "base_model", "model"};
    int32_t at = p->root;
    for (size_t i = 0; is_dict(p, at) && i < sizeof path / sizeof path[0]; i++)
        at = ck_pickle_get(p, at, path[i]);
    return is_dict(p, at) ? at : p->root;
}

static int32_t find_part(const struct ck_pickle *p, int i)
{
    int32_t model = find_model(p);
    int32_t dict = is_dict(p, model) ? ck_pickle_get(p, model, part[i]) : -1;
    return is_dict(p, dict) && has_tensors(p, dict) ? dict : -1;
}

/* Finds the dict of weights: the whole object, or a member under one of the usual names. */
static int find_weights(const struct reader *r, int32_t *out)
{
    static const char *const usual[] = {"state_dict", "model_state_dict", "model", "net"};
    const struct ck_pickle *p = &r->pickle;
    *out = p->root;
    if (is_dict(p, *out) && has_tensors(p, *out))
        return COKE_OK;
    for (size_t i = 0; is_dict(p, p->root) && i < sizeof usual / sizeof usual[0]; i++) {
        *out = ck_pickle_get(p, p->root, usual[i]);
        if (is_dict(p, *out) && has_tensors(p, *out))
            return COKE_OK;
    }
    return ck_fail(COKE_EFORMAT,
                   "%s: no dict of tensors, neither at the top level nor under state_dict, "
                   "model_state_dict, model, net, teacher, student or VISSL's trunk",
                   r->path);
}

/* prefix: NULL, or a word that comes before the name, with a dot. */
static int read_name(const struct reader *r, int32_t node, const char *prefix, char **out)
{
    size_t n, before = prefix ? strlen(prefix) + 1 : 0;
    const char *text = ck_pickle_text(&r->pickle, node, &n);
    if (!text || memchr(text, 0, n))
        return ck_fail(COKE_EFORMAT, "%s: the name of a tensor is not text", r->path);
    *out = ck_alloc_array(before + n + 1, 1);
    if (!*out)
        return COKE_ENOMEM;
    if (prefix)
        snprintf(*out, before + 1, "%s.", prefix);
    memcpy(*out + before, text, n);
    (*out)[before + n] = 0;
    return COKE_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names must be unique. Sorted first: a search per tensor would take quadratic time. */
static int check_names(const struct reader *r, const struct ck_state *s)
{
    int rc = COKE_OK;
    const char **name = ck_alloc_array((size_t)s->ntensors, sizeof *name);
    if (!name)
        return COKE_ENOMEM;
    for (int i = 0; i < s->ntensors; i++)
        name[i] = s->tensor[i].name;
    qsort(name, (size_t)s->ntensors, sizeof *name, by_text);
    for (int i = 1; i < s->ntensors && !rc; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            rc = fail_tensor(r, name[i], "occurs twice");
    ck_free(name);
    return rc;
}

static int read_dict(struct reader *r, int32_t dict, const char *prefix, struct ck_state *out)
{
    char *name = NULL;
    int rc = COKE_OK;
    const struct ck_pickle *p = &r->pickle;
    for (int32_t i = p->node[dict].first; i >= 0; i = p->item[i].next) {
        if (p->node[p->item[i].value].kind != CK_PICKLE_TENSOR)
            continue;
        CK_TRY(read_name(r, p->item[i].key, prefix, &name));
        CK_TRY(add_tensor(r, name, p->item[i].value, out));
        ck_free(name);
        name = NULL;
    }
done:
    ck_free(name);
    return rc;
}

static int read_weights(struct reader *r, struct ck_state *out)
{
    int32_t dict = -1;
    int found = 0;
    for (int i = 0; i < PARTS; i++) {
        dict = find_part(&r->pickle, i);
        found |= dict >= 0;
        if (dict >= 0)
            CK_RETURN_IF(read_dict(r, dict, part[i], out));
    }
    if (!found) {
        CK_RETURN_IF(find_weights(r, &dict));
        CK_RETURN_IF(read_dict(r, dict, NULL, out));
    }
    return check_names(r, out);
}

int ck_torch_read(const char *path, struct ck_map *map, struct ck_state *out)
{
    int rc = COKE_OK;
    struct reader r = {.path = path};
    *out = (struct ck_state){0};
    r.backing = ck_calloc_array(1, sizeof *r.backing);
    if (!r.backing) {
        ck_map_release(map);
        return COKE_ENOMEM;
    }
    r.backing->map = *map;
    *map = (struct ck_map){0};
    out->backing = r.backing;
    out->release_backing = release_backing;
    if (r.backing->map.data[0] == 'P')
        CK_TRY(open_archive(&r));
    else
        CK_TRY(ck_torch_legacy(path, &r.backing->map, &r.pickle, &r.storage));
    CK_TRY(read_weights(&r, out));
done:
    ck_pickle_release(&r.pickle);
    ck_zip_release(&r.storage);
    ck_free(r.checked);
    if (rc)
        ck_state_release(out);
    return rc;
}
