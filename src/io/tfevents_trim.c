/* tfevents_trim.c - truncates event files to a step, when a run resumes. */
#include "core/error.h"
#include "core/mem.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/load.h"
#include "io/tfevents.h"
#include "io/tfevents_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* VERSION: bytes of the record at the beginning of every event file. */
enum { HEAD = 12, TAIL = 4, VERSION = 40 };

int ck_tfevents_each(const char *dir,
                     int (*visit)(const char *dir, const char *name, void *arg), void *arg)
{
    int rc = COKE_OK;
    DIR *d = opendir(dir);
    if (!d)
        return ck_fail(COKE_EIO, "%s: %s", dir, strerror(errno));
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(d);
        if (!e && errno)
            CK_FAIL(COKE_EIO, "%s: %s", dir, strerror(errno));
        if (!e)
            break;
        if (strncmp(e->d_name, CK_TFEVENTS_PREFIX, strlen(CK_TFEVENTS_PREFIX)) == 0)
            CK_TRY(visit(dir, e->d_name, arg));
    }
done:
    closedir(d);
    return rc;
}

/* ---- reading an event ---- */

/* A cursor over borrowed bytes; the get functions return 0 at the end or if the data are
 * damaged. */
struct bytes {
    const unsigned char *at, *end;
};

static int get_varint(struct bytes *b, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; b->at < b->end && shift < 64; shift += 7) {
        unsigned char c = *b->at++;
        *out |= (uint64_t)(c & 127) << shift;
        if (c < 128)
            return 1;
    }
    return 0;
}

static int skip(struct bytes *b, uint64_t n)
{
    if (n > (uint64_t)(b->end - b->at))
        return 0;
    b->at += n;
    return 1;
}

/* The next field: its number and, if it is an integer, its value. */
static int get_field(struct bytes *b, uint64_t *field, uint64_t *value)
{
    uint64_t key, length;
    if (!get_varint(b, &key))
        return 0;
    *field = key >> 3;
    *value = 0;
    switch (key & 7) {
    case 0:
        return get_varint(b, value);
    case 1:
        return skip(b, 8);
    case 2:
        return get_varint(b, &length) && skip(b, length);
    case 5:
        return skip(b, 4);
    default:
        return 0;
    }
}

struct record {
    const unsigned char *at;
    size_t size; /* including length and CRCs */
    int64_t step;
    int is_version;
};

static void read_event(struct record *r)
{
    struct bytes b = {r->at + HEAD, r->at + r->size - TAIL};
    uint64_t field, value;
    r->step = 0;
    r->is_version = 0;
    while (get_field(&b, &field, &value)) {
        if (field == 2)
            r->step = (int64_t)value;
        if (field == 3)
            r->is_version = 1;
    }
}

static int crc_is_right(const unsigned char *data, size_t n)
{
    uint32_t crc;
    memcpy(&crc, data + n, sizeof crc);
    return crc == ck_crc32c_masked(data, n);
}

/* Takes the next complete record; returns 0 if there is none or its CRC is wrong. */
static int next_record(struct bytes *b, struct record *r)
{
    uint64_t length, left = (uint64_t)(b->end - b->at);
    if (left < HEAD + TAIL)
        return 0;
    memcpy(&length, b->at, sizeof length);
    if (!crc_is_right(b->at, sizeof length) || length > left - HEAD - TAIL ||
        !crc_is_right(b->at + HEAD, (size_t)length))
        return 0;
    r->at = b->at;
    r->size = HEAD + (size_t)length + TAIL;
    b->at += r->size;
    read_event(r);
    return 1;
}

/* ---- trimming ---- */

struct tally {
    int64_t records; /* complete ones */
    int64_t values;  /* of those, kept and not just a version */
    size_t kept;     /* bytes */
};

static struct tally count_records(struct bytes b, int64_t step)
{
    struct tally t = {0};
    struct record r;
    while (next_record(&b, &r)) {
        t.records++;
        if (r.step > step)
            continue;
        t.values += !r.is_version;
        t.kept += r.size;
    }
    return t;
}

static int rewrite(const char *path, struct bytes b, int64_t step)
{
    int rc = COKE_OK;
    struct ck_writer w = {0};
    struct record r;
    CK_TRY(ck_writer_open(&w, path, CK_FORCE_INSIDE));
    while (next_record(&b, &r))
        if (r.step <= step)
            CK_TRY(ck_writer_write(&w, r.at, r.size));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}

static int trim_bytes(const char *path, struct bytes b, int64_t step)
{
    struct tally t = count_records(b, step);
    size_t size = (size_t)(b.end - b.at);
    /* Not an event file, unless it is just the beginning of one whose writer was
     * interrupted. */
    if (!t.records && size >= VERSION)
        return COKE_OK;
    if (!t.values)
        return unlink(path) ? ck_fail(COKE_EIO, "%s: %s", path, strerror(errno)) : COKE_OK;
    return t.kept < size ? rewrite(path, b, step) : COKE_OK;
}

struct trimming {
    int64_t step;
    int (*is_mine)(void *arg, const char *name);
    void *arg;
};

static int trim_file(const char *dir, const char *name, void *arg)
{
    const struct trimming *t = arg;
    int rc = COKE_OK;
    if (t->is_mine && !t->is_mine(t->arg, name))
        return COKE_OK;
    size_t room = strlen(dir) + strlen(name) + 2, capacity = 0, size = 0;
    unsigned char *data = NULL;
    char *path = ck_alloc_array(room, 1);
    if (!path)
        return COKE_ENOMEM;
    snprintf(path, room, "%s/%s", dir, name);
    CK_TRY(ck_load_file(path, INT64_MAX, &data, &capacity, &size));
    CK_TRY(trim_bytes(path, (struct bytes){data, data + size}, t->step));
done:
    ck_free(data);
    ck_free(path);
    return rc;
}

int ck_tfevents_trim(const char *dir, int64_t step, int (*is_mine)(void *arg, const char *name),
                     void *arg)
{
    struct trimming t = {step, is_mine, arg};
    return ck_tfevents_each(dir, trim_file, &t);
}
