/* zip_write.c - writes zip archives whose entries are stored, each at a multiple of 64
 * bytes. */
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "io/zip.h"

#include <string.h>
#include <zlib.h>

enum { ALIGN = 64, LOCAL_SIZE = 30, CENTRAL_SIZE = 46, END_SIZE = 22, EXTRA_HEAD = 4 };
/* Version 2.0; UTF-8 names; the earliest date of the format; torch's id of padding, "FB". */
enum { VERSION = 20, UTF8 = 0x800, DAY_ONE = 0x21, PADDING_ID = 0x4246 };

/* An entry that was written, for the directory; name is owned. */
struct ck_zip_made {
    char *name;
    uint64_t offset, size;
    uint32_t crc;
};

static unsigned char *put(unsigned char *p, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *p++ = (unsigned char)(x >> 8 * i);
    return p;
}

static int write_bytes(struct ck_zip_out *z, const void *data, size_t n)
{
    z->at += n;
    return ck_writer_write(z->file, data, n);
}

/* Fields that local header and directory share, from the version on. */
static unsigned char *put_common(unsigned char *p, const struct ck_zip_made *m, size_t extra)
{
    p = put(p, VERSION, 2);
    p = put(p, UTF8, 2);
    p = put(p, 0, 2); /* stored */
    p = put(p, 0, 2); /* time: none, so that equal contents give equal bytes */
    p = put(p, DAY_ONE, 2);
    p = put(p, m->crc, 4);
    p = put(p, m->size, 4);
    p = put(p, m->size, 4);
    p = put(p, strlen(m->name), 2);
    return put(p, extra, 2);
}

static int remember(struct ck_zip_out *z, const struct ck_zip_made *m)
{
    CK_RETURN_IF(CK_VEC_RESERVE(z->made, z->room, z->n + 1));
    char *name = ck_strdup(m->name);
    if (!name)
        return COKE_ENOMEM;
    z->made[z->n] = *m;
    z->made[z->n++].name = name;
    return COKE_OK;
}

int ck_zip_add(struct ck_zip_out *z, const char *name, const void *data, size_t size)
{
    unsigned char head[LOCAL_SIZE + EXTRA_HEAD + ALIGN], *p = head;
    size_t length = strlen(name);
    if (z->at + size > UINT32_MAX - (1 << 20) || z->n == UINT16_MAX)
        return ck_fail(COKE_EUSAGE,
                       "%s: archives are limited to 4 GB; safetensors files may be larger",
                       z->file->path);
    size_t extra =
        EXTRA_HEAD + (ALIGN - (z->at + LOCAL_SIZE + length + EXTRA_HEAD) % ALIGN) % ALIGN;
    struct ck_zip_made m = {(char *)(uintptr_t)name, z->at, size,
                            (uint32_t)crc32_z(0, size ? data : (const void *)"", size)};
    CK_RETURN_IF(remember(z, &m));
    p = put(p, 0x04034b50, 4);
    p = put_common(p, &m, extra);
    CK_RETURN_IF(write_bytes(z, head, LOCAL_SIZE));
    CK_RETURN_IF(write_bytes(z, name, length));
    p = put(put(head, PADDING_ID, 2), extra - EXTRA_HEAD, 2);
    memset(p, 'Z', extra - EXTRA_HEAD);
    CK_RETURN_IF(write_bytes(z, head, extra));
    return write_bytes(z, data, size);
}

static int write_entry(struct ck_zip_out *z, const struct ck_zip_made *m)
{
    unsigned char head[CENTRAL_SIZE], *p = put(head, 0x02014b50, 4);
    p = put(p, VERSION, 2);
    p = put_common(p, m, 0);
    p = put(p, 0, 2 + 2 + 2); /* comment, disk, text or not */
    p = put(p, 0, 4);         /* attributes */
    put(p, m->offset, 4);
    int rc = write_bytes(z, head, CENTRAL_SIZE);
    return rc ? rc : write_bytes(z, m->name, strlen(m->name));
}

int ck_zip_end(struct ck_zip_out *z)
{
    uint64_t first = z->at;
    unsigned char end[END_SIZE], *p = put(end, 0x06054b50, 4);
    for (int i = 0; i < z->n; i++)
        CK_RETURN_IF(write_entry(z, &z->made[i]));
    p = put(p, 0, 2 + 2); /* disks */
    p = put(p, (uint64_t)z->n, 2);
    p = put(p, (uint64_t)z->n, 2);
    p = put(p, z->at - first, 4);
    p = put(p, first, 4);
    put(p, 0, 2); /* comment */
    return write_bytes(z, end, END_SIZE);
}

void ck_zip_out_release(struct ck_zip_out *z)
{
    for (int i = 0; i < z->n; i++)
        ck_free(z->made[i].name);
    ck_free(z->made);
    *z = (struct ck_zip_out){0};
}
