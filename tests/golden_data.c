/* golden_data.c - reads recordings, and compares with them. */
#include "golden_data.h"
#include "io/npy.h"

#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *golden_root(void)
{
    const char *root = getenv("COKE_GOLDEN");
    return root && *root ? root : GOLDEN_DEFAULT;
}

/* ---- reading ---------------------------------------------------------------------------- */

static int dtype_is(const json_t *entry, const char *word, enum ck_dtype have,
                    enum ck_dtype want)
{
    const char *said = json_string_value(json_object_get(entry, "dtype"));
    return said && strcmp(said, word) == 0 && have == want;
}

static int copy_array(struct golden_array *a, const json_t *entry, const struct ck_npy *h,
                      const unsigned char *data)
{
    const json_t *shape = json_object_get(entry, "shape");
    if ((int)json_array_size(shape) != h->ndim)
        return -1;
    a->ndim = h->ndim;
    a->n = h->elements;
    for (int d = 0; d < h->ndim; d++) {
        a->shape[d] = h->shape[d];
        if (json_integer_value(json_array_get(shape, (size_t)d)) != h->shape[d])
            return -1;
    }
    int wide = dtype_is(entry, "float64", h->dtype, CK_F64);
    a->is_float = wide || dtype_is(entry, "float32", h->dtype, CK_F32);
    if (!a->is_float && !dtype_is(entry, "int32", h->dtype, CK_I32))
        return -1;
    void *copy = malloc((size_t)h->bytes + 1);
    memcpy(copy, data + h->offset, (size_t)h->bytes);
    for (int64_t i = 0; wide && i < h->elements; i++) {
        double x;
        memcpy(&x, data + h->offset + (size_t)i * sizeof x, sizeof x);
        ((float *)copy)[i] = (float)x;
    }
    a->f = a->is_float ? copy : NULL;
    a->i = a->is_float ? NULL : copy;
    return 0;
}

static int load_array(struct golden_array *a, const char *folder, const json_t *entry)
{
    char path[1024];
    struct ck_map map;
    struct ck_npy header;
    snprintf(a->name, sizeof a->name, "%s", json_string_value(json_object_get(entry, "name")));
    snprintf(path, sizeof path, "%s/%s/%s", golden_root(), folder,
             json_string_value(json_object_get(entry, "file")));
    int rc = ck_map_open(&map, path);
    if (!rc)
        rc = ck_npy_parse(&header, path, map.data, map.size);
    if (!rc)
        rc = copy_array(a, entry, &header, map.data);
    if (rc)
        fprintf(stderr, "%s: unreadable, or not as the manifest says\n", path);
    ck_map_release(&map);
    return rc;
}

static json_t *load_manifest(const char *name)
{
    char path[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s/manifest.json", golden_root(), name);
    return json_load_file(path, 0, &error);
}

struct golden_case *golden_load(const char *name)
{
    struct golden_case *c = calloc(1, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    c->manifest = load_manifest(name);
    c->hyper = json_object_get(c->manifest, "hyper");
    const json_t *arrays = json_object_get(c->manifest, "arrays");
    int rc = !c->hyper || json_array_size(arrays) > GOLDEN_ARRAYS;
    for (size_t i = 0; !rc && i < json_array_size(arrays); i++)
        rc = load_array(&c->array[c->narrays++], name, json_array_get(arrays, i));
    if (!rc)
        return c;
    golden_free(c);
    return NULL;
}

void golden_free(struct golden_case *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->narrays; i++) {
        free(c->array[i].f);
        free(c->array[i].i);
    }
    json_decref(c->manifest);
    free(c);
}

struct golden_array *golden_array(const struct golden_case *c, const char *format, ...)
{
    char name[64];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    for (int i = 0; i < c->narrays; i++)
        if (strcmp(c->array[i].name, name) == 0)
            return (struct golden_array *)(uintptr_t)&c->array[i];
    return NULL;
}

double golden_number(const struct golden_case *c, const char *key, double absent)
{
    const json_t *v = json_object_get(c->hyper, key);
    return json_is_number(v) ? json_number_value(v) : absent;
}

int64_t golden_item(const struct golden_case *c, const char *key, int i)
{
    const json_t *v = json_object_get(c->hyper, key);
    if (json_is_array(v))
        v = json_array_get(v, (size_t)i);
    return (int64_t)json_number_value(v);
}

/* ---- which recordings there are --------------------------------------------------------- */

static int has_array(const json_t *manifest, const char *name)
{
    const json_t *arrays = json_object_get(manifest, "arrays");
    for (size_t i = 0; i < json_array_size(arrays); i++) {
        const json_t *entry = json_array_get(arrays, i);
        const char *have = json_string_value(json_object_get(entry, "name"));
        if (have && strcmp(have, name) == 0)
            return 1;
    }
    return 0;
}

static enum golden_kind kind_of(const char *name)
{
    json_t *m = load_manifest(name);
    const json_t *hyper = json_object_get(m, "hyper");
    enum golden_kind kind = GOLDEN_OTHER;
    if (json_object_get(hyper, "dual_lr") && has_array(m, "labels_new") && has_array(m, "ids"))
        kind = GOLDEN_TRACE;
    else if (json_object_get(hyper, "ls") && has_array(m, "labels") &&
             has_array(m, "label_val"))
        kind = GOLDEN_TABLE;
    json_decref(m);
    return kind;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int golden_list(enum golden_kind kind, char *name[GOLDEN_CASES])
{
    int n = 0;
    DIR *d = opendir(golden_root());
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (e->d_name[0] != '.' && n < GOLDEN_CASES && kind_of(e->d_name) == kind)
            name[n++] = strdup(e->d_name);
    if (d)
        closedir(d);
    qsort(name, (size_t)n, sizeof *name, by_name);
    return n;
}

/* ---- comparing -------------------------------------------------------------------------- */

int golden_same_ints(struct golden_report *r, const char *what, const int32_t *got,
                     const int32_t *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i]) {
            snprintf(r->text, sizeof r->text, "%s: number %lld is %d, recorded %d", what,
                     (long long)i, got[i], want[i]);
            return -1;
        }
    r->compared += n;
    return 0;
}

int golden_close(struct golden_report *r, const char *what, const float *got, const float *want,
                 int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; i++) /* written so that NaN is a difference */
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance)) {
            snprintf(r->text, sizeof r->text,
                     "%s: number %lld is %.9g, recorded %.9g (%g apart)", what, (long long)i,
                     (double)got[i], (double)want[i], fabs((double)got[i] - (double)want[i]));
            return -1;
        }
    r->compared += n;
    return 0;
}
