/* tar_write.c - writes tar members; the bytes are the same on every machine. */
#include "io/tar_write.h"
#include "core/error.h"
#include "core/hash.h"
#include "io/tar.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, NAME = 100, PREFIX = 155, PAX_MAX = 8192 };

/* POSIX ustar: fields at fixed offsets, numbers as octal text. */
struct header {
    char name[NAME], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
    char link[100], magic[8], owner[32], group[32], major[8], minor[8], prefix[PREFIX],
        rest[12];
};

/* Where a long name can be split: a '/' with at most PREFIX bytes before and NAME after it. */
static const char *find_cut(const char *name, size_t length)
{
    const char *at = length > NAME + 1 ? name + length - NAME - 1 : name;
    for (at = strchr(at, '/'); at; at = strchr(at + 1, '/'))
        if (at > name && at - name <= PREFIX && at[1])
            return at;
    return NULL;
}

/* Sets the checksum, after all other fields. */
static void finish(struct header *h)
{
    unsigned sum = 0;
    memset(h->checksum, ' ', sizeof h->checksum);
    for (size_t i = 0; i < sizeof *h; i++)
        sum += ((const unsigned char *)h)[i];
    snprintf(h->checksum, sizeof h->checksum, "%06o", sum);
}

/* Owner 0, mode 0644 and time 0: the archive depends on names and data only. */
static void fill(struct header *h, size_t size, char type)
{
    memset(h, 0, sizeof *h);
    snprintf(h->mode, sizeof h->mode, "%07o", 0644);
    snprintf(h->uid, sizeof h->uid, "%07o", 0);
    snprintf(h->gid, sizeof h->gid, "%07o", 0);
    snprintf(h->size, sizeof h->size, "%011llo", (unsigned long long)size);
    snprintf(h->mtime, sizeof h->mtime, "%011o", 0);
    memcpy(h->magic,
           "ustar\0"
           "00",
           8);
    h->type = type;
}

static int write_padded(struct ck_writer *w, const void *data, size_t size, int64_t *bytes)
{
    static const char zero[BLOCK];
    size_t pad = (BLOCK - size % BLOCK) % BLOCK;
    int rc = ck_writer_write(w, data, size);
    if (!rc && pad)
        rc = ck_writer_write(w, zero, pad);
    if (bytes)
        *bytes += (int64_t)(size + pad);
    return rc;
}

/* A pax record is "LENGTH path=NAME\n", where LENGTH includes its own digits. */
static int write_pax(struct ck_writer *w, const char *name, int64_t *bytes)
{
    struct header h;
    char record[PAX_MAX];
    size_t body = strlen(name) + sizeof " path=\n" - 1, length = body + 1;
    for (int i = 0; i < 3; i++) {
        char digits[24];
        length = body + (size_t)snprintf(digits, sizeof digits, "%zu", length);
    }
    if (length >= sizeof record)
        return ck_fail(COKE_EUSAGE, "a name of %zu bytes is too long for a tar file",
                       strlen(name));
    snprintf(record, sizeof record, "%zu path=%s\n", length, name);
    fill(&h, length, 'x');
    memcpy(h.name, "pax", 4);
    finish(&h);
    int rc = write_padded(w, &h, sizeof h, bytes);
    return rc ? rc : write_padded(w, record, length, bytes);
}

int ck_tar_add(struct ck_writer *w, const char *name, const void *data, size_t size,
               int64_t *bytes)
{
    struct header h;
    size_t length = strlen(name);
    const char *cut = length > NAME ? find_cut(name, length) : NULL;
    if (size > 0777777777777ull - BLOCK)
        return ck_fail(COKE_EUSAGE, "%s: %zu bytes are too many for a tar file", name, size);
    fill(&h, size, '0');
    memcpy(h.group, CK_TAR_SUM, strlen(CK_TAR_SUM));
    ck_hash_print(ck_hash(data, size, 0), h.group + strlen(CK_TAR_SUM));
    if (length <= NAME) {
        memcpy(h.name, name, length);
    } else if (cut) {
        memcpy(h.prefix, name, (size_t)(cut - name));
        memcpy(h.name, cut + 1, length - (size_t)(cut - name) - 1);
    } else {
        CK_RETURN_IF(write_pax(w, name, bytes));
        memcpy(h.name, name, NAME);
    }
    finish(&h);
    CK_RETURN_IF(write_padded(w, &h, sizeof h, bytes));
    return write_padded(w, data, size, bytes);
}

int ck_tar_end(struct ck_writer *w)
{
    static const char zero[2 * BLOCK];
    return ck_writer_write(w, zero, sizeof zero);
}
