/* safetensors.c - reads and writes states in the safetensors format, with a checksum per
 * tensor.
 *
 * Format: u64 length of the header, the header as JSON (name -> dtype, shape, data_offsets, and
 * __metadata__ of text -> text), then the data without holes (huggingface/safetensors). */
#include "io/safetensors.h"
#include "io/convert.h"
#include "io/json.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char meta_key[] = "__metadata__";
static const char sum_prefix[] = "xxh3.";
static const char meta_sum_key[] = "xxh3-metadata";
enum { ALIGN = 64, SUM_PREFIX = 5, SUM_TEXT = 17 };

/* What a state that was read owns: the map that its tensors point into. */
struct backing {
    struct ck_map map;
    int checked;
};

/* One tensor of the header; begin and end are byte offsets in the data. */
struct entry {
    const char *name; /* borrowed from the JSON */
    enum ck_dtype dtype;
    int ndim;
    int64_t shape[CK_MAX_DIMS];
    int64_t begin, end;
};

/* A file being read; owns header and entry, borrows the rest. */
struct reader {
    const char *path;
    json_t *header;
    json_t *meta; /* borrowed from the header, or NULL */
    const unsigned char *data;
    int64_t data_size;
    struct entry *entry;
    int n;
};

static void sum_text(const void *data, size_t n, char out[SUM_TEXT])
{
    /* An empty tensor may have no address. */
    snprintf(out, SUM_TEXT, "%016llx", (unsigned long long)XXH3_64bits(n ? data : "", n));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Hashes all entries of the metadata but the checksum itself, each as key and value with their
 * final zeros, in the order of the keys: other programs may write them in another order. */
static int sum_meta(json_t *meta, char out[SUM_TEXT])
{
    uint64_t sum = 0;
    int n = 0;
    const char **key = ck_alloc_array(json_object_size(meta) + 1, sizeof *key);
    if (!key)
        return COKE_ENOMEM;
    for (void *i = json_object_iter(meta); i; i = json_object_iter_next(meta, i))
        if (strcmp(json_object_iter_key(i), meta_sum_key) != 0)
            key[n++] = json_object_iter_key(i);
    qsort(key, (size_t)n, sizeof *key, by_text);
    for (int i = 0; i < n; i++) {
        const char *value = json_string_value(json_object_get(meta, key[i]));
        sum = ck_hash(key[i], strlen(key[i]) + 1, sum);
        sum = ck_hash(value, strlen(value) + 1, sum);
    }
    ck_free(key);
    snprintf(out, SUM_TEXT, "%016llx", (unsigned long long)sum);
    return COKE_OK;
}

/* ---- reading ---- */

static void release_backing(void *p)
{
    struct backing *b = p;
    ck_map_release(&b->map);
    ck_free(b);
}

/* Checks the size before it parses: the header of a wrong file may claim any length. head: the
 * file's first bytes, up to the end of the header. */
static int parse_header(struct reader *r, const unsigned char *head, const struct ck_map *map)
{
    uint64_t n;
    json_error_t error;
    if (map->size < 8 + 2)
        return ck_fail(COKE_EFORMAT, "%s: %zu bytes are too few for safetensors", r->path,
                       map->size);
    memcpy(&n, head, 8);
    if (memcmp(head, "PK\3\4", 4) == 0)
        return ck_fail(COKE_EFORMAT,
                       "%s: not safetensors but a zip archive; import it first if PyTorch "
                       "wrote it",
                       r->path);
    if (memcmp(head, "\x93NUMPY", 6) == 0)
        return ck_fail(COKE_EFORMAT, "%s: not safetensors but a NumPy array", r->path);
    if (n > CK_SAFETENSORS_HEADER_MAX)
        return ck_fail(COKE_EFORMAT,
                       "%s: not safetensors: header of %llu bytes; the limit is %d", r->path,
                       (unsigned long long)n, CK_SAFETENSORS_HEADER_MAX);
    if (n > map->size - 8)
        return ck_fail(COKE_EFORMAT, "%s: the header claims %llu bytes, the file has %zu",
                       r->path, (unsigned long long)n, map->size);
    if (n == 0 || head[8] != '{')
        return ck_fail(COKE_EFORMAT, "%s: not safetensors: the header does not begin with {",
                       r->path);
    r->data = map->data + 8 + n;
    r->data_size = (int64_t)(map->size - 8 - n);
    r->header = json_loadb((const char *)head + 8, n, JSON_REJECT_DUPLICATES, &error);
    if (r->header)
        return COKE_OK;
    if (json_error_code(&error) == json_error_out_of_memory || !error.text[0])
        return ck_fail(COKE_ENOMEM, "%s: out of memory for the header", r->path);
    return ck_fail(COKE_EFORMAT, "%s: header: %s", r->path, error.text);
}

/* Files of other programs and of earlier versions have no checksum of the metadata. */
static int check_meta(const struct reader *r)
{
    char sum[SUM_TEXT];
    const char *expected = json_string_value(json_object_get(r->meta, meta_sum_key));
    if (!expected)
        return COKE_OK;
    CK_RETURN_IF(sum_meta(r->meta, sum));
    if (strcmp(sum, expected) == 0)
        return COKE_OK;
    return ck_fail(COKE_EFORMAT,
                   "%s: the metadata are damaged: checksum %s does not match %.20s", r->path,
                   sum, expected);
}

/* Copies the metadata except the checksums, which check_sum looks up in the header. */
static int read_meta(struct reader *r, struct ck_state *out)
{
    r->meta = json_object_get(r->header, meta_key);
    if (!r->meta)
        return COKE_OK;
    if (!json_is_object(r->meta))
        return ck_fail(COKE_EFORMAT, "%s: %s is not an object", r->path, meta_key);
    for (void *i = json_object_iter(r->meta); i; i = json_object_iter_next(r->meta, i)) {
        const char *key = json_object_iter_key(i);
        const json_t *value = json_object_iter_value(i);
        if (!json_is_string(value))
            return ck_fail(COKE_EFORMAT, "%s: metadata '%s' is not text", r->path, key);
        if (strncmp(key, sum_prefix, SUM_PREFIX) == 0 || strcmp(key, meta_sum_key) == 0)
            continue;
        int rc = ck_state_add_meta(out, key, json_string_value(value));
        if (rc)
            return rc;
    }
    return check_meta(r);
}

static int read_dtype(const struct reader *r, struct entry *e, const json_t *value)
{
    const char *text = json_string_value(value);
    if (!text)
        return ck_fail(COKE_EFORMAT, "%s: tensor '%s' has no dtype", r->path, e->name);
    for (int t = 0; t < CK_DTYPES; t++)
        if (strcmp(text, ck_dtype_name((enum ck_dtype)t)) == 0) {
            e->dtype = (enum ck_dtype)t;
            return COKE_OK;
        }
    return ck_fail(COKE_EFORMAT, "%s: tensor '%s': dtype '%s' is not supported", r->path,
                   e->name, text);
}

static int read_shape(const struct reader *r, struct entry *e, const json_t *value)
{
    size_t i;
    const json_t *length;
    if (!json_is_array(value))
        return ck_fail(COKE_EFORMAT, "%s: tensor '%s' has no shape", r->path, e->name);
    if (json_array_size(value) > CK_MAX_DIMS)
        return ck_fail(COKE_EFORMAT, "%s: tensor '%s' has %zu dimensions; the limit is %d",
                       r->path, e->name, json_array_size(value), CK_MAX_DIMS);
    json_array_foreach(value, i, length)
    {
        if (!json_is_integer(length) || json_integer_value(length) < 0)
            return ck_fail(COKE_EFORMAT, "%s: tensor '%s': dimension %zu is not a length",
                           r->path, e->name, i);
        e->shape[e->ndim++] = json_integer_value(length);
    }
    return COKE_OK;
}

static int read_offsets(const struct reader *r, struct entry *e, const json_t *value)
{
    const json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return ck_fail(COKE_EFORMAT, "%s: tensor '%s' has no data_offsets", r->path, e->name);
    e->begin = json_integer_value(begin);
    e->end = json_integer_value(end);
    if (e->begin < 0 || e->end < e->begin || e->end > r->data_size)
        return ck_fail(
            COKE_EFORMAT, "%s: tensor '%s' is at bytes %lld to %lld of %lld bytes of data",
            r->path, e->name, (long long)e->begin, (long long)e->end, (long long)r->data_size);
    return COKE_OK;
}

static int read_entry(const struct reader *r, struct entry *e, const json_t *value)
{
    int64_t elements, bytes;
    CK_RETURN_IF(read_dtype(r, e, json_object_get(value, "dtype")));
    CK_RETURN_IF(read_shape(r, e, json_object_get(value, "shape")));
    CK_RETURN_IF(read_offsets(r, e, json_object_get(value, "data_offsets")));
    if (!ck_shape_size(e->dtype, e->ndim, e->shape, &elements, &bytes))
        return ck_fail(COKE_EFORMAT, "%s: the size of tensor '%s' overflows 63 bits", r->path,
                       e->name);
    if (bytes != e->end - e->begin)
        return ck_fail(
            COKE_EFORMAT,
            "%s: tensor '%s' needs %lld bytes by its shape but has %lld by its offsets",
            r->path, e->name, (long long)bytes, (long long)(e->end - e->begin));
    return COKE_OK;
}

static int read_entries(struct reader *r)
{
    r->entry = ck_calloc_array(json_object_size(r->header), sizeof *r->entry);
    if (!r->entry)
        return COKE_ENOMEM;
    for (void *i = json_object_iter(r->header); i; i = json_object_iter_next(r->header, i)) {
        struct entry *e = &r->entry[r->n];
        e->name = json_object_iter_key(i);
        if (strcmp(e->name, meta_key) == 0)
            continue;
        int rc = read_entry(r, e, json_object_iter_value(i));
        if (rc)
            return rc;
        r->n++;
    }
    return COKE_OK;
}

/* Sorts by offset; an empty tensor has the offset of the next one and comes first. */
static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The tensors must cover the data from the first to the last byte, without holes or
 * overlaps. */
static int check_chain(struct reader *r)
{
    int64_t at = 0;
    qsort(r->entry, (size_t)r->n, sizeof *r->entry, by_place);
    for (int i = 0; i < r->n; i++) {
        const struct entry *e = &r->entry[i];
        if (e->begin != at)
            return ck_fail(COKE_EFORMAT, "%s: tensor '%s' begins at byte %lld, %s %lld",
                           r->path, e->name, (long long)e->begin,
                           e->begin < at ? "but data are taken up to"
                                         : "which leaves a hole from",
                           (long long)at);
        at = e->end;
    }
    if (at != r->data_size)
        return ck_fail(COKE_EFORMAT, "%s: the tensors end at byte %lld, the data at %lld",
                       r->path, (long long)at, (long long)r->data_size);
    return COKE_OK;
}

/* Verifies the checksum if the file has one; files of other writers have none. */
static int check_sum(const struct reader *r, const struct entry *e, int *checked)
{
    char sum[SUM_TEXT];
    size_t n = SUM_PREFIX + strlen(e->name) + 1;
    if (!r->meta)
        return COKE_OK;
    char *key = ck_alloc_array(n, 1);
    if (!key)
        return COKE_ENOMEM;
    snprintf(key, n, "%s%s", sum_prefix, e->name);
    const char *expected = json_string_value(json_object_get(r->meta, key));
    ck_free(key);
    if (!expected)
        return COKE_OK;
    sum_text(r->data + e->begin, (size_t)(e->end - e->begin), sum);
    ++*checked;
    if (strcmp(sum, expected) == 0)
        return COKE_OK;
    return ck_fail(COKE_EFORMAT, "%s: tensor '%s' is damaged: checksum %s does not match %.20s",
                   r->path, e->name, sum, expected);
}

/* Fills *out, whose tensors point into the map. head: its first bytes, up to the end of the
 * header. *checked counts the verified checksums; NULL: the tensors' data are not touched. */
static int read_map(const char *name, const unsigned char *head, const struct ck_map *map,
                    int *checked, struct ck_state *out)
{
    struct reader r = {.path = name};
    int rc = COKE_OK;
    CK_TRY(parse_header(&r, head, map));
    CK_TRY(read_meta(&r, out));
    CK_TRY(read_entries(&r));
    CK_TRY(check_chain(&r));
    for (int i = 0; i < r.n; i++) {
        const struct entry *e = &r.entry[i];
        if (checked)
            CK_TRY(check_sum(&r, e, checked));
        CK_TRY(ck_state_add(out, e->name, e->dtype, e->ndim, e->shape, r.data + e->begin));
    }
done:
    json_decref(r.header);
    ck_free(r.entry);
    return rc;
}

int ck_safetensors_read(const char *path, struct ck_state *out)
{
    *out = (struct ck_state){0};
    struct backing *b = ck_calloc_array(1, sizeof *b);
    if (!b)
        return COKE_ENOMEM;
    out->backing = b;
    out->release_backing = release_backing;
    int rc = ck_map_load(&b->map, path);
    if (!rc)
        rc = read_map(path, b->map.data, &b->map, &b->checked, out);
    if (rc)
        ck_state_release(out);
    return rc;
}

int ck_safetensors_unpack(const char *name, const void *bytes, size_t size,
                          struct ck_state *out)
{
    const struct ck_map map = {.data = bytes, .size = size};
    int unused = 0;
    *out = (struct ck_state){0};
    int rc = read_map(name, map.data, &map, &unused, out);
    if (rc)
        ck_state_release(out);
    return rc;
}

int ck_safetensors_index(const char *path, const unsigned char *head, const struct ck_map *map,
                         struct ck_state *out)
{
    *out = (struct ck_state){0};
    int rc = read_map(path, head, map, NULL, out);
    if (rc)
        ck_state_release(out);
    return rc;
}

int ck_safetensors_checked(const struct ck_state *s)
{
    return s->release_backing == release_backing ? ((struct backing *)s->backing)->checked : 0;
}

/* ---- writing ---- */

static int fail_memory(void)
{
    return ck_fail(COKE_ENOMEM, "out of memory for the safetensors header");
}

static size_t tensor_bytes(const struct ck_tensor *t)
{
    return (size_t)ck_tensor_elements(t) * ck_dtype_size(t->dtype);
}

/* File order: wide types first, so that every tensor is aligned to its element size; then by
 * name, so that equal states give equal bytes. */
static int by_width_and_name(const void *a, const void *b)
{
    const struct ck_tensor *x = *(const struct ck_tensor *const *)a;
    const struct ck_tensor *y = *(const struct ck_tensor *const *)b;
    size_t wx = ck_dtype_size(x->dtype), wy = ck_dtype_size(y->dtype);
    if (wx != wy)
        return wx > wy ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Takes ownership of value, also on failure. */
static int set_new(json_t *object, const char *key, json_t *value)
{
    if (json_object_get(object, key)) {
        json_decref(value);
        return ck_fail(COKE_EFAIL, "duplicate name '%s'", key);
    }
    if (ck_json_is_utf8(key))
        return json_object_set_new(object, key, value) ? fail_memory() : COKE_OK;
    json_decref(value);
    return ck_fail(COKE_EFAIL, "'%s' is not UTF-8", key);
}

static int set_text(json_t *object, const char *key, const char *text)
{
    if (!ck_json_is_utf8(text))
        return ck_fail(COKE_EFAIL, "the text of '%s' is not UTF-8", key);
    return set_new(object, key, json_string(text));
}

static int set_ints(json_t *object, const char *key, int n, const int64_t *v)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        if (json_array_append_new(list, json_integer(v[i]))) {
            json_decref(list);
            return fail_memory();
        }
    return set_new(object, key, list);
}

static int add_sum(json_t *meta, const struct ck_tensor *t)
{
    char sum[SUM_TEXT];
    size_t n = SUM_PREFIX + strlen(t->name) + 1;
    char *key = ck_alloc_array(n, 1);
    if (!key)
        return COKE_ENOMEM;
    snprintf(key, n, "%s%s", sum_prefix, t->name);
    sum_text(t->data, tensor_bytes(t), sum);
    int rc = set_text(meta, key, sum);
    ck_free(key);
    return rc;
}

static int add_meta(json_t *header, const struct ck_state *s,
                    const struct ck_tensor *const *tensor)
{
    char sum[SUM_TEXT];
    json_t *meta = json_object();
    int rc = set_new(header, meta_key, meta);
    for (int i = 0; i < s->nmeta && !rc; i++)
        rc = set_text(meta, s->meta[i].key, s->meta[i].value);
    for (int i = 0; i < s->ntensors && !rc; i++)
        rc = add_sum(meta, tensor[i]);
    if (!rc)
        rc = sum_meta(meta, sum);
    return rc ? rc : set_text(meta, meta_sum_key, sum);
}

static int add_entry(json_t *header, const struct ck_tensor *t, int64_t begin)
{
    const int64_t place[2] = {begin, begin + (int64_t)tensor_bytes(t)};
    json_t *entry = json_object();
    int rc = set_new(header, t->name, entry);
    if (!rc)
        rc = set_text(entry, "dtype", ck_dtype_name(t->dtype));
    if (!rc)
        rc = set_ints(entry, "shape", t->ndim, t->shape);
    return rc ? rc : set_ints(entry, "data_offsets", 2, place);
}

/* Makes the length and the header, padded with spaces so that the data begin at a multiple of
 * ALIGN; the caller frees *out, also on failure. */
static int make_text(const json_t *header, unsigned char **out, size_t *size)
{
    size_t n = json_dumpb(header, NULL, 0, JSON_COMPACT);
    if (n == 0)
        return fail_memory();
    *size = (8 + n + ALIGN - 1) / ALIGN * ALIGN;
    *out = ck_alloc_array(*size, 1);
    if (!*out)
        return COKE_ENOMEM;
    uint64_t length = *size - 8;
    if (length > CK_SAFETENSORS_HEADER_MAX)
        return ck_fail(COKE_EFAIL, "header of %llu bytes; the limit is %d",
                       (unsigned long long)length, CK_SAFETENSORS_HEADER_MAX);
    memset(*out, ' ', *size);
    memcpy(*out, &length, 8);
    return json_dumpb(header, (char *)*out + 8, n, JSON_COMPACT) == n ? COKE_OK : fail_memory();
}

static int make_header(const struct ck_state *s, const struct ck_tensor *const *tensor,
                       unsigned char **out, size_t *size)
{
    int64_t at = 0;
    int rc = COKE_OK;
    json_t *header = json_object();
    if (!header)
        return fail_memory();
    CK_TRY(add_meta(header, s, tensor));
    for (int i = 0; i < s->ntensors; i++) {
        CK_TRY(add_entry(header, tensor[i], at));
        at += (int64_t)tensor_bytes(tensor[i]);
    }
    CK_TRY(make_text(header, out, size));
done:
    json_decref(header);
    return rc;
}

/* A state as it goes to a file: owns both pointers. */
struct layout {
    const struct ck_tensor **tensor; /* in file order */
    unsigned char *header;
    size_t header_size;
};

/* The caller releases *l, also on failure. */
static int lay_out(struct layout *l, const struct ck_state *s)
{
    size_t n = (size_t)s->ntensors;
    *l = (struct layout){.tensor = ck_alloc_array(n, sizeof *l->tensor)};
    if (!l->tensor)
        return COKE_ENOMEM;
    for (size_t i = 0; i < n; i++)
        l->tensor[i] = &s->tensor[i];
    qsort(l->tensor, n, sizeof *l->tensor, by_width_and_name);
    return make_header(s, l->tensor, &l->header, &l->header_size);
}

static void layout_release(struct layout *l)
{
    ck_free(l->header);
    ck_free(l->tensor);
}

int ck_safetensors_write_to(struct ck_writer *w, const struct ck_state *s)
{
    struct layout l;
    int rc = lay_out(&l, s);
    if (rc) {
        ck_fail_prefix(rc, "%s: ", w->path);
        goto done;
    }
    CK_TRY(ck_writer_write(w, l.header, l.header_size));
    for (int i = 0; i < s->ntensors; i++)
        CK_TRY(ck_writer_write(w, l.tensor[i]->data, tensor_bytes(l.tensor[i])));
done:
    layout_release(&l);
    return rc;
}

int ck_safetensors_pack(const struct ck_state *s, void **bytes, size_t *size)
{
    struct layout l;
    unsigned char *to = NULL;
    int rc = COKE_OK;
    CK_TRY(lay_out(&l, s));
    *size = l.header_size;
    for (int i = 0; i < s->ntensors; i++)
        *size += tensor_bytes(l.tensor[i]);
    *bytes = to = ck_alloc_array(*size, 1);
    if (!to)
        CK_LEAVE(COKE_ENOMEM);
    memcpy(to, l.header, l.header_size);
    to += l.header_size;
    for (int i = 0; i < s->ntensors; to += tensor_bytes(l.tensor[i++]))
        if (tensor_bytes(l.tensor[i]))
            memcpy(to, l.tensor[i]->data, tensor_bytes(l.tensor[i]));
done:
    layout_release(&l);
    return rc;
}

int ck_safetensors_write(const char *path, const struct ck_state *s, int force)
{
    struct ck_writer w = {0};
    int rc = COKE_OK;
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_safetensors_write_to(&w, s));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}
