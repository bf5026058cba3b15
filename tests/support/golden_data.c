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

/* ---- what a recording is of ---- */

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

/* Methods whose losses golden_check_method replays; recordings of others are passed over. */
static const char *const methods[] = {"simclr", "simsiam", "barlow", "vicreg", "emp",
                                      "ema",    "byol",    "mocov2", "mocov3", "nnclr",
                                      "swav",   "dino",    "msn"};

static enum golden_kind kind_of(const json_t *m)
{
    const json_t *hyper = json_object_get(m, "hyper");
    const char *method = json_string_value(json_object_get(hyper, "method"));
    if (method && strcmp(method, "secu") == 0)
        return has_array(m, "ids")        ? GOLDEN_SECU
               : has_array(m, "view_raw") ? GOLDEN_SECU_LOSS
                                          : GOLDEN_SECU_SCHED;
    if (method && (strcmp(method, "scan") == 0 || strcmp(method, "iic") == 0 ||
                   strcmp(method, "deepclusterv2") == 0))
        return GOLDEN_CLASS;
    if (method)
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
            if (strcmp(method, methods[i]) == 0)
                return GOLDEN_METHOD;
    if (json_object_get(hyper, "dual_lr") && has_array(m, "labels_new") && has_array(m, "ids"))
        return GOLDEN_TRACE;
    if (json_object_get(hyper, "ls") && has_array(m, "labels") && has_array(m, "label_val"))
        return GOLDEN_TABLE;
    if (json_object_get(hyper, "mode") && has_array(m, "proj_raw"))
        return GOLDEN_LOSS;
    if (has_array(m, "lr") && has_array(m, "p0_init"))
        return GOLDEN_OPTIM;
    if (has_array(m, "lr") && json_object_get(hyper, "num_iter"))
        return GOLDEN_SCHED;
    if (json_object_get(hyper, "arch") && has_array(m, "output_train_f64"))
        return GOLDEN_NET;
    if (json_object_get(hyper, "dim_mlp") && has_array(m, "params_after_f64"))
        return GOLDEN_HEADS;
    if (has_array(m, "pred") && has_array(m, "num_clusters"))
        return GOLDEN_METRICS;
    return GOLDEN_OTHER;
}

static json_t *load_manifest(const char *name)
{
    char path[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s/manifest.json", golden_root(), name);
    return json_load_file(path, 0, &error);
}

/* ---- reading ---- */

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
    if (wide) {
        a->d = copy;
        a->f = malloc((size_t)h->elements * sizeof *a->f + 1);
        for (int64_t i = 0; i < h->elements; i++)
            a->f[i] = (float)a->d[i];
        return 0;
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

struct golden_case *golden_load(const char *name)
{
    struct golden_case *c = calloc(1, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    c->manifest = load_manifest(name);
    c->kind = kind_of(c->manifest);
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
        free(c->array[i].d);
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

const char *golden_word(const struct golden_case *c, const char *key)
{
    const char *word = json_string_value(json_object_get(c->hyper, key));
    return word ? word : "";
}

int64_t golden_item(const struct golden_case *c, const char *key, int i)
{
    const json_t *v = json_object_get(c->hyper, key);
    if (json_is_array(v))
        v = json_array_get(v, (size_t)i);
    return (int64_t)json_number_value(v);
}

double golden_real(const struct golden_case *c, const char *key, int i, double absent)
{
    const json_t *v = json_array_get(json_object_get(c->hyper, key), (size_t)i);
    return json_is_number(v) ? json_number_value(v) : absent;
}

/* ---- which recordings there are ---- */

static int is_of_kind(const char *name, enum golden_kind kind)
{
    json_t *manifest = load_manifest(name);
    int same = kind_of(manifest) == kind;
    json_decref(manifest);
    return same;
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
        if (e->d_name[0] != '.' && n < GOLDEN_CASES && is_of_kind(e->d_name, kind))
            name[n++] = strdup(e->d_name);
    if (d)
        closedir(d);
    qsort(name, (size_t)n, sizeof *name, by_name);
    return n;
}

/* ---- comparing ---- */

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

/* Written so that NaN is a difference. */
static int close_number(struct golden_report *r, const char *what, int64_t i, double got,
                        double want, double tolerance)
{
    double apart = fabs(got - want);
    if (!(apart <= tolerance))
        return golden_refuse(r, "%s: number %lld is %.17g, recorded %.17g (%g apart)", what,
                             (long long)i, got, want, apart);
    r->apart = apart > r->apart ? apart : r->apart;
    r->compared++;
    return 0;
}

int golden_close(struct golden_report *r, const char *what, const float *got, const float *want,
                 int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; i++)
        if (close_number(r, what, i, (double)got[i], (double)want[i], tolerance))
            return -1;
    return 0;
}

int golden_close_f64(struct golden_report *r, const char *what, const double *got,
                     const double *want, int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; i++)
        if (close_number(r, what, i, got[i], want[i], tolerance))
            return -1;
    return 0;
}

int golden_close_to(struct golden_report *r, const char *what, const float *got,
                    const struct golden_array *want, double tolerance)
{
    for (int64_t i = 0; i < want->n; i++)
        if (close_number(r, what, i, (double)got[i], want->d ? want->d[i] : (double)want->f[i],
                         tolerance))
            return -1;
    return 0;
}

int golden_refuse(struct golden_report *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->text, sizeof r->text, format, ap);
    va_end(ap);
    return -1;
}
