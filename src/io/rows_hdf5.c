/* rows_hdf5.c - rows in a data set of an HDF5 file, through a plug-in that is loaded only for
 * them.
 *
 * Contiguous data sets are used in the mapped file; others are read by libhdf5, once. */
#include "io/hdf5_plugin.h"
#include "io/rows_part.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/mem.h"
#include "core/plugin.h"
#include "core/thread.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Deflate reaches 1032; a file that claims more than EXPANSION_MAX times its size is crafted. */
enum { WORDS = 300, LIST = 400, EXPANSION_MAX = 2000 };

/* libhdf5 allows one call at a time. The plug-in stays loaded until the process ends. */
static struct ck_once once = CK_ONCE;
static struct ck_lock lock;
static int lock_status;
static struct ck_hdf5 plugin;
static int loaded;

static void init_lock(void)
{
    lock_status = ck_lock_init(&lock);
}

static int fail_missing(const char *name, const char *reason)
{
    return ck_fail(
        COKE_EFAIL,
        "%s: HDF5 needs the plug-in libcoke-hdf5.so (COKE_HDF5 names another place): "
        "%s; build coke where libhdf5 is (Debian: libhdf5-dev), or convert the file: "
        "python3 -c \"import numpy as n,h5py;n.save('x.npy',h5py.File('FILE')"
        "['NAME'][:])\"",
        name, reason);
}

/* Called with the lock held. */
static int load_plugin(const char *name)
{
    char path[4096], words[WORDS] = "";
    ck_hdf5_entry_function *entry;
    if (loaded)
        return COKE_OK;
    ck_plugin_find("COKE_HDF5", "libcoke-hdf5.so", path, sizeof path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail_missing(name, dlerror());
    *(void **)&entry = dlsym(library, CK_HDF5_ENTRY);
    if (!entry) {
        dlclose(library);
        return ck_fail(COKE_EFAIL, "%s: %s is not the HDF5 plug-in of coke", name, path);
    }
    if (entry(CK_HDF5_VERSION, &plugin, words, sizeof words)) {
        dlclose(library);
        return ck_fail(COKE_EFAIL, "%s: %s: %s", name, path, words);
    }
    loaded = 1;
    return COKE_OK;
}

/* Takes the lock and makes sure that the plug-in is there; on failure the lock is free. */
static int enter(const char *name)
{
    ck_once(&once, init_lock);
    if (lock_status)
        return ck_fail(COKE_ENOMEM, "%s: out of memory for a lock", name);
    ck_lock_acquire(&lock);
    int rc = load_plugin(name);
    if (rc)
        ck_lock_unlock(&lock);
    return rc;
}

/* ---- an open data set ---- */

struct set {
    void *id; /* the plug-in's */
    struct ck_hdf5_array array;
    size_t row;   /* bytes */
    int64_t next; /* row to pull */
};

static int read_rows(struct set *s, const char *name, int64_t first, int64_t n, void *out)
{
    char words[WORDS] = "";
    CK_RETURN_IF(enter(name));
    int failed = plugin.read(s->id, first, n, out, words, sizeof words);
    ck_lock_unlock(&lock);
    return failed ? ck_fail(COKE_EFORMAT, "%s: %s", name, words) : COKE_OK;
}

static int pull(void *from, const char *name, void *out, size_t bytes)
{
    struct set *s = from;
    int64_t n = (int64_t)(bytes / s->row);
    CK_RETURN_IF(read_rows(s, name, s->next, n, out));
    s->next += n;
    return COKE_OK;
}

static void close_set(void *from)
{
    struct set *s = from;
    if (s->id && enter("") == COKE_OK) {
        plugin.close(s->id);
        ck_lock_unlock(&lock);
    }
    ck_free(s);
}

static int open_set(struct set *s, const struct ck_part *p, const char *array)
{
    char words[WORDS] = "";
    CK_RETURN_IF(enter(p->name));
    int failed = plugin.open(&s->id, p->path, array, &s->array, words, sizeof words);
    ck_lock_unlock(&lock);
    return failed ? ck_fail(COKE_EFORMAT, "%s: %s", p->name, words) : COKE_OK;
}

/* ---- contiguous data sets ---- */

struct compare {
    const unsigned char *a, *b;
    size_t n;
    int same;
};

/* Called by ck_guard_call: holds nothing. */
static int compare(void *arg)
{
    struct compare *c = arg;
    c->same = memcmp(c->a, c->b, c->n) == 0;
    return COKE_OK;
}

/* Whether the rows are in the mapped file where libhdf5 says: compares the first and the last one
 * with what it reads. */
static int is_mapped(struct set *s, const struct ck_part *p, int *yes)
{
    const struct ck_hdf5_array *a = &s->array;
    int rc = COKE_OK;
    uint64_t bytes = (uint64_t)a->shape[0] * s->row;
    *yes = a->offset >= 0 && (uint64_t)a->offset < p->map.size &&
           bytes <= p->map.size - (uint64_t)a->offset;
    unsigned char *row = *yes ? ck_alloc_array(s->row, 1) : NULL;
    if (!*yes || !row)
        return *yes ? COKE_ENOMEM : COKE_OK;
    for (int i = 0; i < 2 && *yes; i++) {
        int64_t at = i ? a->shape[0] - 1 : 0;
        struct compare c = {row, p->map.data + a->offset + (size_t)at * s->row, s->row, 0};
        CK_TRY(read_rows(s, p->name, at, 1, row));
        rc = ck_guard_call(compare, &c);
        if (rc)
            ck_fail_prefix(rc, "%s: ", p->name);
        CK_TRY(rc);
        *yes = c.same;
    }
done:
    ck_free(row);
    return rc;
}

/* ---- which data set ---- */

/* Numeric data sets of two dimensions. */
struct choice {
    int found;
    char only[256], names[LIST];
};

static void look(void *arg, const char *name, const struct ck_hdf5_array *a)
{
    struct choice *c = arg;
    size_t used = strlen(c->names);
    if (a->dtype == CK_DTYPES || a->ndim != 2)
        return;
    if (!c->found++)
        snprintf(c->only, sizeof c->only, "%s", name);
    if (used + 80 < LIST)
        snprintf(c->names + used, LIST - used, "%s/%.60s", used ? ", " : "", name);
}

static int visit(const struct ck_part *p,
                 void (*fn)(void *arg, const char *name, const struct ck_hdf5_array *a),
                 void *arg)
{
    char words[WORDS] = "";
    CK_RETURN_IF(enter(p->name));
    int failed = plugin.visit(p->path, fn, arg, words, sizeof words);
    ck_lock_unlock(&lock);
    return failed ? ck_fail(COKE_EFORMAT, "%s: %s", p->name, words) : COKE_OK;
}

/* Without a name, the only data set that can be rows. */
static int choose(const struct ck_part *p, struct choice *c)
{
    *c = (struct choice){0};
    CK_RETURN_IF(visit(p, look, c));
    if (c->found == 0)
        return ck_fail(COKE_EFORMAT, "%s: no data set of numbers with two dimensions in it",
                       p->name);
    if (c->found > 1)
        return ck_fail(COKE_EFORMAT, "%s: %d data sets: %s; name one: %s:/NAME", p->name,
                       c->found, c->names, p->name);
    return COKE_OK;
}

/* A few bytes may claim any number of rows: elements that were never written read as zeros, and
 * crafted filters expand without end. */
static int check_claim(const struct ck_hdf5_array *a, const struct ck_part *p, int64_t bytes)
{
    if (a->stored >= 0 && a->stored < bytes / 2)
        return ck_fail(COKE_EFORMAT,
                       "%s: %lld x %lld elements need %lld bytes, but only %lld were ever "
                       "written; shrink the data set to the rows that it has",
                       p->name, (long long)a->shape[0], (long long)a->shape[1],
                       (long long)bytes, (long long)a->stored);
    if (a->stored >= 0 && (uint64_t)bytes / EXPANSION_MAX > p->map.size)
        return ck_fail(
            COKE_EFORMAT,
            "%s: %lld bytes of elements in a file of %zu, more than %d times as many; "
            "store them with less compression",
            p->name, (long long)bytes, p->map.size, EXPANSION_MAX);
    return COKE_OK;
}

static int check_set(struct set *s, const struct ck_part *p)
{
    const struct ck_hdf5_array *a = &s->array;
    const char *name = p->name;
    int64_t bytes;
    if (a->dtype == CK_DTYPES)
        return ck_fail(COKE_EFORMAT,
                       "%s: the data set is not of floats or integers of 8 to 64 bits", name);
    CK_RETURN_IF(ck_rows_check_shape(name, a->ndim, a->shape));
    s->row = (size_t)a->shape[1] * ck_dtype_size(a->dtype);
    if (__builtin_mul_overflow(a->shape[0], (int64_t)s->row, &bytes))
        return ck_fail(COKE_EFORMAT, "%s: the size of the data set overflows 63 bits", name);
    return check_claim(a, p, bytes);
}

static int take_set(struct ck_part *p, struct set **set)
{
    struct set *s = *set;
    const struct ck_hdf5_array *a = &s->array;
    struct choice c;
    int mapped;
    if (!p->array)
        CK_RETURN_IF(choose(p, &c));
    CK_RETURN_IF(open_set(s, p, p->array ? p->array : c.only));
    CK_RETURN_IF(check_set(s, p));
    CK_RETURN_IF(is_mapped(s, p, &mapped));
    ck_part_take(p, a->dtype, a->shape, 0, mapped ? p->map.data + a->offset : NULL);
    if (mapped)
        return COKE_OK;
    p->source.from = s;
    p->source.unit =
        a->unit > 0 && a->unit < a->shape[0] ? a->unit * (int64_t)s->row : (int64_t)s->row;
    p->source.pull = pull;
    p->source.free = close_set;
    *set = NULL;
    return COKE_OK;
}

int ck_part_parse_hdf5(struct ck_part *p)
{
    struct set *s = ck_calloc_array(1, sizeof *s);
    if (!s)
        return COKE_ENOMEM;
    int rc = take_set(p, &s);
    if (s)
        close_set(s);
    return rc;
}

/* ---- what is in a file ---- */

struct passing {
    ck_array_visit *visit;
    void *arg;
};

static void pass(void *arg, const char *name, const struct ck_hdf5_array *a)
{
    const struct passing *v = arg;
    v->visit(v->arg, name, a->dtype == CK_DTYPES ? "other" : ck_npy_dtype(a->dtype),
             a->ndim < CK_MAX_DIMS ? a->ndim : CK_MAX_DIMS, a->shape);
}

int ck_hdf5_visit(struct ck_part *p, ck_array_visit *fn, void *arg)
{
    return visit(p, pass, &(struct passing){fn, arg});
}
