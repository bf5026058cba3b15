/* zip.c - reads the directories of zip archives.
 *
 * The directory at the end of the file is authoritative; the local header before each entry
 * must agree with it. All offsets are validated against the file before use. Layout: PKWARE's
 * APPNOTE.TXT. */
#include "io/zip.h"
#include "core/error.h"
#include "core/mem.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END = 0x06054b50,
    END64 = 0x06064b50,
    LOCATOR64 = 0x07064b50,
};
enum {
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR64_SIZE = 20,
    COMMENT_MAX = 65535,
    EXTRA64 = 1, /* the extra field with sizes beyond 32 bits */
    ENCRYPTED = 1,
    DEFLATED = 8,
};

struct bytes {
    const unsigned char *at;
    uint64_t n;
};

/* Position and size of the directory, in bytes. */
struct directory {
    uint64_t entries, size, offset;
};

/* Little-endian; the caller checks the bounds. */
static uint64_t get(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

/* ---- the directory's place ---- */

/* The last END record whose comment extends to the end of the file, or NULL. */
static const unsigned char *find_end(struct bytes b)
{
    if (b.n < END_SIZE)
        return NULL;
    const unsigned char *p = b.at + b.n - END_SIZE;
    for (uint64_t comment = 0; comment <= COMMENT_MAX; comment++, p--) {
        if (get(p, 4) == END && get(p + 20, 2) == comment)
            return p;
        if (p == b.at)
            break;
    }
    return NULL;
}

/* Archives of more than 4 GB store the numbers in a zip64 record; *until: where that record
 * begins. */
static int read_end64(const char *path, struct bytes b, const unsigned char **until,
                      struct directory *d)
{
    uint64_t before = (uint64_t)(*until - b.at);
    if (before < LOCATOR64_SIZE || get(*until - LOCATOR64_SIZE, 4) != LOCATOR64)
        return COKE_OK;
    uint64_t offset = get(*until - LOCATOR64_SIZE + 8, 8);
    before -= LOCATOR64_SIZE;
    if (before < END64_SIZE || offset > before - END64_SIZE || get(b.at + offset, 4) != END64)
        return ck_fail(COKE_EFORMAT, "%s: damaged: no zip64 directory at byte %llu", path,
                       (unsigned long long)offset);
    const unsigned char *p = b.at + offset;
    d->entries = get(p + 32, 8);
    d->size = get(p + 40, 8);
    d->offset = get(p + 48, 8);
    *until = p;
    return COKE_OK;
}

static int find_directory(const char *path, struct bytes b, struct directory *d)
{
    const unsigned char *end = find_end(b);
    if (!end)
        return ck_fail(COKE_EFORMAT,
                       "%s: zip archive without a directory at its end: "
                       "truncated?",
                       path);
    d->entries = get(end + 10, 2);
    d->size = get(end + 12, 4);
    d->offset = get(end + 16, 4);
    int rc = read_end64(path, b, &end, d);
    if (rc)
        return rc;
    uint64_t before = (uint64_t)(end - b.at);
    if (d->offset > before || d->size > before - d->offset ||
        d->entries > d->size / CENTRAL_SIZE)
        return ck_fail(
            COKE_EFORMAT,
            "%s: damaged: a directory of %llu entries and %llu bytes at byte %llu of "
            "%llu",
            path, (unsigned long long)d->entries, (unsigned long long)d->size,
            (unsigned long long)d->offset, (unsigned long long)b.n);
    return COKE_OK;
}

/* ---- entries ---- */

/* An entry's numbers; those that are all ones are in the extra field, in this order. */
struct numbers {
    uint64_t size, packed, offset;
};

static int read_extra64(struct bytes extra, struct numbers *n)
{
    uint64_t *const number[] = {&n->size, &n->packed, &n->offset};
    uint64_t at = 0;
    while (extra.n - at >= 4 && get(extra.at + at, 2) != EXTRA64) {
        uint64_t size = 4 + get(extra.at + at + 2, 2);
        if (size > extra.n - at)
            break;
        at += size;
    }
    int found = extra.n - at >= 4 && get(extra.at + at, 2) == EXTRA64;
    uint64_t room = found ? get(extra.at + at + 2, 2) : 0;
    at += 4;
    if (found && room > extra.n - at)
        return 0;
    for (int i = 0; i < 3; i++) {
        if (*number[i] != UINT32_MAX)
            continue;
        if (room < 8)
            return 0;
        *number[i] = get(extra.at + at, 8);
        at += 8;
        room -= 8;
    }
    return 1;
}

static int fail_entry(const struct ck_zip *z, const struct ck_zip_entry *e, const char *words)
{
    int n = e->name_size < 200 ? (int)e->name_size : 200;
    return ck_fail(COKE_EFORMAT, "%s: entry '%.*s' %s", z->path, n, e->name, words);
}

/* Checks the local header and locates the entry's data, which must end below `limit`. */
static int locate(const struct ck_zip *z, struct ck_zip_entry *e, struct bytes b,
                  const struct numbers *n, uint64_t limit)
{
    if (limit < LOCAL_SIZE || n->offset > limit - LOCAL_SIZE ||
        get(b.at + n->offset, 4) != LOCAL)
        return fail_entry(z, e, "is not where the directory says");
    const unsigned char *p = b.at + n->offset;
    uint64_t name = get(p + 26, 2), before = name + get(p + 28, 2) + LOCAL_SIZE;
    if (before > limit - n->offset || n->packed > limit - n->offset - before)
        return fail_entry(z, e, "reaches beyond the archive");
    if (name != e->name_size || memcmp(p + LOCAL_SIZE, e->name, e->name_size) != 0)
        return fail_entry(z, e, "has a different name in its local header");
    e->data = p + before;
    e->size = n->packed;
    return COKE_OK;
}

/* Reads the directory entry at p; `room` bytes of the directory are left. *used: its length. */
static int read_entry(const struct ck_zip *z, struct ck_zip_entry *e, struct bytes b,
                      const unsigned char *p, uint64_t room, uint64_t limit, uint64_t *used)
{
    if (room < CENTRAL_SIZE || get(p, 4) != CENTRAL)
        return ck_fail(COKE_EFORMAT,
                       "%s: damaged: the directory has fewer entries than it claims", z->path);
    uint64_t name = get(p + 28, 2), extra = get(p + 30, 2);
    *used = CENTRAL_SIZE + name + extra + get(p + 32, 2);
    if (*used > room)
        return ck_fail(COKE_EFORMAT, "%s: damaged: the directory ends within an entry",
                       z->path);
    e->name = (const char *)p + CENTRAL_SIZE;
    e->name_size = name;
    e->crc = (uint32_t)get(p + 16, 4);
    struct numbers n = {get(p + 24, 4), get(p + 20, 4), get(p + 42, 4)};
    if (!read_extra64((struct bytes){p + CENTRAL_SIZE + name, extra}, &n))
        return fail_entry(z, e, "lacks its 64-bit sizes");
    if (get(p + 8, 2) & ENCRYPTED)
        return fail_entry(z, e, "is encrypted");
    e->stored = get(p + 10, 2) == 0 && n.size == n.packed;
    e->deflated = get(p + 10, 2) == DEFLATED;
    e->full = n.size;
    return locate(z, e, b, &n, limit);
}

static int by_place(const void *a, const void *b)
{
    const struct ck_zip_entry *x = a, *y = b;
    return x->data < y->data ? -1 : x->data > y->data;
}

static int by_name(const void *a, const void *b)
{
    const struct ck_zip_entry *x = a, *y = b;
    size_t n = x->name_size < y->name_size ? x->name_size : y->name_size;
    int order = n ? memcmp(x->name, y->name, n) : 0;
    return order ? order : (x->name_size > y->name_size) - (x->name_size < y->name_size);
}

/* No two entries may overlap or have the same name. A local header of LOCAL_SIZE bytes
 * separates entries, so even empty ones differ in position. */
static int check_places(struct ck_zip *z)
{
    qsort(z->entry, (size_t)z->n, sizeof *z->entry, by_place);
    for (int i = 1; i < z->n; i++)
        if ((size_t)(z->entry[i].data - z->entry[i - 1].data) <
            z->entry[i - 1].size + LOCAL_SIZE)
            return fail_entry(z, &z->entry[i], "overlaps another one");
    qsort(z->entry, (size_t)z->n, sizeof *z->entry, by_name);
    for (int i = 1; i < z->n; i++)
        if (by_name(&z->entry[i - 1], &z->entry[i]) == 0)
            return fail_entry(z, &z->entry[i], "occurs twice");
    return COKE_OK;
}

int ck_zip_init(struct ck_zip *z, const char *path, const unsigned char *data, size_t size)
{
    int rc = COKE_OK;
    struct bytes b = {data, size};
    struct directory d = {0};
    *z = (struct ck_zip){.path = path};
    CK_TRY(find_directory(path, b, &d));
    z->entry = ck_calloc_array(d.entries + 1, sizeof *z->entry);
    if (!z->entry)
        return COKE_ENOMEM;
    for (uint64_t i = 0, at = 0, used = 0; i < d.entries; i++, at += used) {
        CK_TRY(
            read_entry(z, &z->entry[i], b, data + d.offset + at, d.size - at, d.offset, &used));
        z->n++;
    }
    CK_TRY(check_places(z));
done:
    if (rc)
        ck_zip_release(z);
    return rc;
}

void ck_zip_release(struct ck_zip *z)
{
    ck_free(z->entry);
    *z = (struct ck_zip){0};
}

const struct ck_zip_entry *ck_zip_find(const struct ck_zip *z, const char *prefix,
                                       size_t prefix_size, const char *name)
{
    size_t n = strlen(name);
    for (int low = 0, high = z->n; low < high;) {
        int middle = low + (high - low) / 2;
        const struct ck_zip_entry *e = &z->entry[middle];
        size_t own = e->name_size < prefix_size ? e->name_size : prefix_size;
        int order = own ? memcmp(e->name, prefix, own) : 0;
        if (!order && own < prefix_size)
            order = -1;
        if (!order) {
            struct ck_zip_entry rest = {.name = e->name + own, .name_size = e->name_size - own};
            struct ck_zip_entry wanted = {.name = name, .name_size = n};
            order = by_name(&rest, &wanted);
        }
        if (!order)
            return e;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int ck_zip_check(const struct ck_zip *z, const struct ck_zip_entry *e)
{
    if (!e->stored)
        return fail_entry(z, e,
                          "is compressed; torch.save stores entries uncompressed, as does "
                          "'zip -0'");
    uint32_t crc = (uint32_t)crc32_z(0, e->data, e->size);
    return crc == e->crc ? COKE_OK
                         : fail_entry(z, e, "is damaged: its checksum does not match");
}
