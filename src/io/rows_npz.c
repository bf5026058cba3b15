/* rows_npz.c - rows in a .npz: a zip archive of .npy files, stored or deflated. */
#include "io/rows_part.h"
#include "io/unzip.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/mem.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MAX_ = 256, LIST = 400, ENDING = 4 };

/* An archive being read. */
struct npz {
    struct ck_part *part;
    struct ck_zip zip;
    const struct ck_zip_entry *entry; /* the chosen one */
    int at;                           /* the next entry of a visit */
    char name[NAME_MAX_];             /* of the array at `at`, without .npy */
};

static int is_array(const struct ck_zip_entry *e)
{
    return e->name_size > ENDING && memcmp(e->name + e->name_size - ENDING, ".npy", 4) == 0;
}

static int is_named(const struct ck_zip_entry *e, const char *name)
{
    size_t n = strlen(name);
    return (n == e->name_size || n + ENDING == e->name_size) && memcmp(e->name, name, n) == 0;
}

/* The names of the arrays, as many as fit. */
static void list_names(const struct npz *z, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < z->zip.n && used + 80 < size; i++) {
        const struct ck_zip_entry *e = &z->zip.entry[i];
        int n = e->name_size < 64 ? (int)e->name_size : 64;
        if (is_array(e))
            used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? ", " : "",
                                     n - ENDING, e->name);
    }
}

static int fail_choice(const struct npz *z, int arrays)
{
    char names[LIST];
    const struct ck_part *p = z->part;
    list_names(z, names, sizeof names);
    if (p->array)
        return ck_fail(COKE_EFORMAT, "%s: no such array in it; it has %s", p->name,
                       arrays ? names : "none");
    if (arrays)
        return ck_fail(COKE_EFORMAT, "%s: %d arrays: %s; name one: %s:NAME", p->name, arrays,
                       names, p->name);
    return ck_part_fail_foreign(p);
}

/* Called by ck_guard_call: what it holds belongs to *z. */
static int find(void *arg)
{
    struct npz *z = arg;
    struct ck_part *p = z->part;
    int arrays = 0;
    CK_RETURN_IF(ck_zip_init(&z->zip, p->path, p->map.data, p->map.size));
    for (int i = 0; i < z->zip.n; i++) {
        const struct ck_zip_entry *e = &z->zip.entry[i];
        arrays += is_array(e);
        if (is_array(e) && (!p->array || is_named(e, p->array)))
            z->entry = e;
    }
    return z->entry && (p->array || arrays == 1) ? COKE_OK : fail_choice(z, arrays);
}

/* Reads the header of the array at the beginning of an entry. */
static int read_header(struct ck_unzip *u, const char *name, struct ck_npy *a)
{
    unsigned char first[CK_NPY_MAGIC], *head = NULL;
    size_t end = 0, n = u->entry.full < sizeof first ? (size_t)u->entry.full : sizeof first;
    int rc = COKE_OK;
    CK_TRY(ck_unzip_read(u, name, first, n));
    CK_TRY(ck_npy_header_size(name, first, n, &end));
    if (end < n || end > u->entry.full)
        CK_FAIL(COKE_EFORMAT, "%s: the .npy header ends at byte %zu, the data at %llu", name,
                end, (unsigned long long)u->entry.full);
    head = ck_alloc_array(end, 1);
    if (!head)
        CK_LEAVE(COKE_ENOMEM);
    memcpy(head, first, n);
    CK_TRY(ck_unzip_read(u, name, head + n, end - n));
    CK_TRY(ck_npy_parse_header(a, name, head, end));
    int64_t got = (int64_t)(u->entry.full - a->offset);
    if (got != a->bytes)
        CK_TRY(ck_npy_fail_size(a, name, got));
done:
    ck_free(head);
    return rc;
}

/* ---- a deflated array is a source ---- */

static int pull(void *from, const char *name, void *out, size_t bytes)
{
    return ck_unzip_read(from, name, out, bytes);
}

static int end(void *from, const char *name)
{
    return ck_unzip_end(from, name);
}

static void close_source(void *from)
{
    ck_unzip_close(from);
    ck_free(from);
}

struct check {
    const struct ck_zip *zip;
    const struct ck_zip_entry *entry;
};

/* Called by ck_guard_call: holds nothing. */
static int check_stored(void *arg)
{
    const struct check *c = arg;
    return ck_zip_check(c->zip, c->entry);
}

/* Stored arrays are used in the archive, after one read to verify the checksum. */
static int take_array(struct npz *z, struct ck_unzip **u)
{
    struct ck_part *p = z->part;
    struct ck_npy a;
    CK_RETURN_IF(ck_unzip_open(*u, p->name, z->entry));
    CK_RETURN_IF(read_header(*u, p->name, &a));
    CK_RETURN_IF(ck_rows_check_shape(p->name, a.ndim, a.shape));
    if (z->entry->stored) {
        int rc = ck_guard_call(check_stored, &(struct check){&z->zip, z->entry});
        if (rc)
            return rc == COKE_EIO ? ck_fail_prefix(rc, "%s: ", p->name) : rc;
        ck_part_take(p, a.dtype, a.shape, a.fortran, z->entry->data + a.offset);
        return COKE_OK;
    }
    ck_part_take(p, a.dtype, a.shape, a.fortran, NULL);
    p->source.from = *u;
    p->source.unit = 1;
    p->source.pull = pull;
    p->source.end = end;
    p->source.free = close_source;
    *u = NULL;
    return COKE_OK;
}

int ck_part_parse_npz(struct ck_part *p)
{
    struct npz z = {.part = p};
    struct ck_unzip *u = NULL;
    int rc = ck_guard_call(find, &z);
    if (rc == COKE_EIO)
        ck_fail_prefix(rc, "%s: ", p->name);
    CK_TRY(rc);
    u = ck_calloc_array(1, sizeof *u);
    if (!u)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(take_array(&z, &u));
done:
    if (u)
        close_source(u);
    ck_zip_release(&z.zip);
    return rc;
}

/* ---- what is in an archive ---- */

/* Called by ck_guard_call: what it holds belongs to *z. */
static int next_array(void *arg)
{
    struct npz *z = arg;
    if (!z->zip.entry)
        CK_RETURN_IF(ck_zip_init(&z->zip, z->part->path, z->part->map.data, z->part->map.size));
    while (z->at < z->zip.n && !is_array(&z->zip.entry[z->at]))
        z->at++;
    z->entry = z->at < z->zip.n ? &z->zip.entry[z->at++] : NULL;
    if (z->entry) {
        size_t n = z->entry->name_size - ENDING;
        snprintf(z->name, sizeof z->name, "%.*s", n < NAME_MAX_ ? (int)n : NAME_MAX_ - 1,
                 z->entry->name);
    }
    return COKE_OK;
}

int ck_npz_visit(struct ck_part *p, ck_array_visit *visit, void *arg)
{
    struct npz z = {.part = p};
    struct ck_unzip u = {0};
    struct ck_npy a;
    int rc = ck_guard_call(next_array, &z);
    for (; !rc && z.entry; rc = ck_guard_call(next_array, &z)) {
        CK_TRY(ck_unzip_open(&u, p->name, z.entry));
        CK_TRY(read_header(&u, p->name, &a));
        visit(arg, z.name, ck_npy_dtype(a.dtype), a.ndim, a.shape);
        ck_unzip_close(&u);
    }
    if (rc == COKE_EIO)
        ck_fail_prefix(rc, "%s: ", p->name);
done:
    ck_unzip_close(&u);
    ck_zip_release(&z.zip);
    return rc;
}
