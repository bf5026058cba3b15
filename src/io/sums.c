/* sums.c - checksums beside the files that have no room for one. */
#include "io/sums.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/hash.h"
#include "core/mem.h"
#include "io/load.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line is HEAD, the name, MIDDLE and the digits: what all versions of xxhsum read. */
#define HEAD "XXH3 ("
#define MIDDLE ") = "
enum { LIST_MAX = 1 << 20, HEAD_BYTES = sizeof HEAD - 1, MIDDLE_BYTES = sizeof MIDDLE - 1 };

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A line is one file, so a name with a line break has none; nor do names that xxhsum escapes. */
static int can_be_listed(const char *name)
{
    return *name && !strpbrk(name, "\n\r\\");
}

/* ---- reading ---- */

/* The value of a line [n] if it is that of the file; 0 = of another, or damaged. */
static int parse_line(const char *line, size_t n, const char *name, uint64_t *out)
{
    size_t length = strlen(name), digits = HEAD_BYTES + length + MIDDLE_BYTES;
    if (n != digits + CK_HASH_DIGITS || memcmp(line, HEAD, HEAD_BYTES) != 0 ||
        memcmp(line + HEAD_BYTES, name, length) != 0 ||
        memcmp(line + HEAD_BYTES + length, MIDDLE, MIDDLE_BYTES) != 0)
        return 0;
    return ck_hash_parse(line + digits, out);
}

/* *found: the list has a line for the file. A missing list has none. */
static int find_line(const char *list, const char *name, int *found, uint64_t *out)
{
    unsigned char *text = NULL;
    size_t room = 0, size = 0;
    *found = 0;
    if (access(list, F_OK) != 0)
        return COKE_OK;
    int rc = ck_load_file(list, LIST_MAX, &text, &room, &size);
    const char *at = (const char *)text, *end = at + size;
    while (!rc && !*found && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        *found = parse_line(at, (size_t)(stop - at), name, out);
        at = stop + 1;
    }
    ck_free(text);
    return rc;
}

/* FILE.xxh3, or the list of its folder; "" = the name is too long for one. */
static void name_list(const char *path, int single, char out[PATH_MAX])
{
    int folder = (int)(base_of(path) - path);
    int n = single ? snprintf(out, PATH_MAX, "%s" CK_SUMS_END, path)
                   : snprintf(out, PATH_MAX, "%.*s" CK_SUMS_LIST, folder, path);
    if (n >= PATH_MAX)
        out[0] = 0;
}

struct content {
    const void *data;
    size_t n;
    uint64_t hash;
};

/* Called by ck_guard_call: the file may be mapped. */
static int hash_content(void *arg)
{
    struct content *c = arg;
    c->hash = ck_hash(c->data, c->n, 0);
    return COKE_OK;
}

int ck_sums_check(const char *path, const void *data, size_t n)
{
    char list[PATH_MAX];
    struct content c = {data, n, 0};
    uint64_t expected = 0;
    int found = 0, rc = COKE_OK;
    for (int single = 1; single >= 0 && !found; single--) {
        name_list(path, single, list);
        if (list[0] && can_be_listed(base_of(path)))
            CK_RETURN_IF(find_line(list, base_of(path), &found, &expected));
    }
    if (!found)
        return COKE_OK;
    rc = ck_guard_call(hash_content, &c);
    if (rc)
        return ck_fail_prefix(rc, "%s: ", path);
    if (c.hash == expected)
        return COKE_OK;
    return ck_fail(COKE_EFORMAT,
                   "%s: damaged, or changed since it was written: its checksum in %s differs; "
                   "if the change is meant, delete %s",
                   path, list, list);
}

/* ---- writing ---- */

int ck_sums_add(struct ck_writer *w, const char *name, uint64_t hash)
{
    char digits[CK_HASH_DIGITS + 1];
    if (!can_be_listed(name))
        return COKE_OK;
    ck_hash_print(hash, digits);
    CK_RETURN_IF(ck_writer_write(w, HEAD, HEAD_BYTES));
    CK_RETURN_IF(ck_writer_write(w, name, strlen(name)));
    CK_RETURN_IF(ck_writer_write(w, MIDDLE, MIDDLE_BYTES));
    CK_RETURN_IF(ck_writer_write(w, digits, CK_HASH_DIGITS));
    return ck_writer_write(w, "\n", 1);
}

int ck_sums_add_writer(struct ck_writer *w, const struct ck_writer *file)
{
    return ck_sums_add(w, base_of(file->path), ck_hash_stream_value(file->hash));
}

int ck_sums_add_file(struct ck_writer *w, const char *folder, const char *name)
{
    char path[PATH_MAX];
    unsigned char *data = NULL;
    size_t room = 0, size = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, F_OK) != 0)
        return COKE_OK;
    int rc = ck_load_file(path, INT64_MAX / 2, &data, &room, &size);
    if (!rc)
        rc = ck_sums_add(w, name, ck_hash(data, size, 0));
    ck_free(data);
    return rc;
}

/* Opens FILE.xxh3. One of an earlier FILE may be overwritten, a file of others only with force. */
static int open_single(struct ck_writer *w, const char *path, const char *list, int force)
{
    uint64_t hash;
    int ours = 0;
    CK_RETURN_IF(find_line(list, base_of(path), &ours, &hash));
    return ck_writer_open(w, list, ck_force_inside(ours || force));
}

int ck_sums_commit(struct ck_writer *w)
{
    char list[PATH_MAX];
    struct ck_writer sum = {0};
    int rc = COKE_OK;
    name_list(w->path, 1, list);
    if (!w->target || !list[0] || !can_be_listed(base_of(w->path)))
        return ck_writer_commit(w);
    CK_TRY(open_single(&sum, w->path, list, w->force));
    CK_TRY(ck_sums_add_writer(&sum, w));
    CK_TRY(ck_writer_finish(&sum));
    unlink(list);
    CK_TRY(ck_writer_commit(w));
    CK_TRY(ck_writer_commit(&sum));
done:
    ck_writer_abort(&sum);
    return rc;
}
