/* shard_index.c - where the images of a tar file are: found once, then kept in a small file.
 *
 * A header, the records, the keys with their zeros, and an XXH3 of all that; every number is an
 * int64 in little-endian order. */
#include "data/shard_index.h"
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/vec.h"
#include "io/file.h"
#include "io/load.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ending[] = ".cokeidx";

enum { VERSION = 4 };
#define MAGIC INT64_C(0x31786469656b6f63) /* "cokeidx1" */

struct head {
    int64_t magic, version;
    int64_t size, seconds, nanoseconds; /* of the tar file */
    int64_t n, text;                    /* records, bytes of keys */
    struct ck_sample_counts counts;
    int64_t sample; /* of the bytes of the tar file */
};

/* Bytes in the file: 12 numbers, and 4 per record. */
enum { NUMBER = 8, HEAD = 12 * NUMBER, RECORD = 4 * NUMBER };

/* What tells a tar file from another one of the same name. */
struct identity {
    struct stat st;
    uint64_t sample;
};

static int identify(const char *path, struct identity *out)
{
    int fd = -1, rc = COKE_OK;
    int64_t size = 0;
    CK_TRY(ck_load_open(path, &fd, &size));
    if (fstat(fd, &out->st))
        CK_FAIL(COKE_EIO, "%s: %s", path, strerror(errno));
    CK_TRY(ck_load_sample(fd, path, (int64_t)out->st.st_size, &out->sample));
done:
    if (fd >= 0)
        close(fd);
    return rc;
}

/* ---- paths ---- */

enum { BESIDE, CACHE, PLACES };

/* Where an index may be stored; "" = nowhere. */
struct places {
    char path[PLACES][PATH_MAX];
};

static void place_beside(const char *tar, char out[PATH_MAX])
{
    if (snprintf(out, PATH_MAX, "%s%s", tar, ending) >= PATH_MAX)
        out[0] = 0;
}

/* Distinguishes tar files of the same name in different folders by a hash of the whole path. */
static void place_in(const char *folder, const char *below, const char *tar, char out[PATH_MAX])
{
    char *whole = realpath(tar, NULL);
    uint64_t hash = ck_hash_text(whole ? whole : tar);
    int n = snprintf(out, PATH_MAX, "%s%s/%s-%016llx%s", folder, below, ck_base_name(tar),
                     (unsigned long long)hash, ending);
    if (n >= PATH_MAX)
        out[0] = 0;
    free(whole);
}

static void find_places(struct places *p, const char *tar, const char *cache_dir)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    memset(p, 0, sizeof *p);
    if (cache_dir) {
        place_in(cache_dir, "", tar, p->path[CACHE]);
        return;
    }
    place_beside(tar, p->path[BESIDE]);
    if (xdg && *xdg == '/')
        place_in(xdg, "/coke", tar, p->path[CACHE]);
    else if (home && *home == '/')
        place_in(home, "/.cache/coke", tar, p->path[CACHE]);
}

/* Creates all parent folders; a failure shows when the file is written. */
static void make_folders(const char *path)
{
    char part[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(part, 0777);
    }
}

/* ---- in a file ---- */

static struct head make_head(const struct ck_shard_index *x, const struct identity *tar)
{
    const struct stat *st = &tar->st;
    return (struct head){.magic = MAGIC,
                         .version = VERSION,
                         .size = (int64_t)st->st_size,
                         .seconds = (int64_t)st->st_mtim.tv_sec,
                         .nanoseconds = (int64_t)st->st_mtim.tv_nsec,
                         .n = x->n,
                         .text = (int64_t)x->keys.used,
                         .counts = x->counts,
                         .sample = (int64_t)tar->sample};
}

static void put(unsigned char **at, int64_t value)
{
    for (int i = 0; i < NUMBER; i++)
        *(*at)++ = (unsigned char)((uint64_t)value >> 8 * i);
}

static int64_t get(const unsigned char **at)
{
    uint64_t value = 0;
    for (int i = 0; i < NUMBER; i++)
        value |= (uint64_t) * (*at)++ << 8 * i;
    return (int64_t)value;
}

static void put_head(unsigned char *at, const struct head *h)
{
    const struct ck_sample_counts *c = &h->counts;
    const int64_t v[] = {h->magic,       h->version, h->size,    h->seconds,
                         h->nanoseconds, h->n,       h->text,    c->without,
                         c->further,     c->odd,     c->unended, h->sample};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        put(&at, v[i]);
}

static void get_head(const unsigned char *at, struct head *h)
{
    struct ck_sample_counts *c = &h->counts;
    int64_t *v[] = {&h->magic,       &h->version, &h->size,    &h->seconds,
                    &h->nanoseconds, &h->n,       &h->text,    &c->without,
                    &c->further,     &c->odd,     &c->unended, &h->sample};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        *v[i] = get(&at);
}

/* Of a file with n records and `text` bytes of keys, without the checksum at its end. */
static uint64_t hash_file(const unsigned char *data, size_t n, size_t text)
{
    uint64_t sum = ck_hash(data, HEAD, 0);
    sum = ck_hash(data + HEAD, n * RECORD, sum);
    return ck_hash(data + HEAD + n * RECORD, text, sum);
}

static int write_index(const struct ck_shard_index *x, const struct identity *tar,
                       const char *path)
{
    struct head h = make_head(x, tar);
    struct ck_writer w = {0};
    size_t n = (size_t)x->n, size = HEAD + n * RECORD + x->keys.used + NUMBER;
    unsigned char *data = ck_alloc_array(size, 1), *at;
    int rc = COKE_OK;
    if (!data)
        return COKE_ENOMEM;
    put_head(data, &h);
    at = data + HEAD;
    for (int64_t i = 0; i < x->n; i++) {
        put(&at, x->record[i].offset);
        put(&at, x->record[i].size);
        put(&at, x->record[i].label);
        put(&at, (int64_t)x->record[i].sum);
    }
    if (x->keys.used)
        memcpy(at, x->keys.text, x->keys.used);
    at += x->keys.used;
    put(&at, (int64_t)hash_file(data, n, x->keys.used));
    CK_TRY(ck_writer_open(&w, path, CK_FORCE_INSIDE));
    CK_TRY(ck_writer_write(&w, data, size));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    ck_free(data);
    return rc;
}

/* True if the file [size] is consistent and belongs to this tar file. */
static int fits(const unsigned char *data, size_t size, const struct identity *tar,
                struct head *h)
{
    struct ck_shard_index none = {0};
    if (size < HEAD + NUMBER)
        return 0;
    get_head(data, h);
    struct head now = make_head(&none, tar);
    int64_t left = (int64_t)(size - HEAD - NUMBER);
    if (h->magic != now.magic || h->version != now.version || h->size != now.size ||
        h->seconds != now.seconds || h->nanoseconds != now.nanoseconds ||
        h->sample != now.sample || h->n < 0 || h->n > left / RECORD ||
        h->text != left - h->n * RECORD)
        return 0;
    const unsigned char *end = data + size - NUMBER;
    return (uint64_t)get(&end) == hash_file(data, (size_t)h->n, (size_t)h->text);
}

/* The checksum does not protect against a forged index: whatever it says, reads must stay
 * within the tar file. */
static int are_valid(const struct ck_shard_record *record, int64_t n, int64_t size)
{
    for (int64_t i = 0; i < n; i++)
        if (record[i].offset < 0 || record[i].size < 0 || record[i].offset > size ||
            record[i].size > size - record[i].offset || record[i].label < -1 ||
            record[i].label > CK_LABEL_MAX)
            return 0;
    return 1;
}

static int take_keys(struct ck_shard_index *x, const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t n = strnlen(text + at, size - at);
        int rc = at + n < size ? ck_names_add(&x->keys, text + at, n) : COKE_EFORMAT;
        if (rc)
            return rc;
        at += n + 1;
    }
    return x->keys.n == x->n ? COKE_OK : COKE_EFORMAT;
}

/* Reads an index file; COKE_EIO or COKE_EFORMAT if there is none that can be used. */
static int read_index(struct ck_shard_index *x, const struct identity *tar, const char *path)
{
    unsigned char *data = NULL;
    const unsigned char *at;
    size_t room = 0, size = 0;
    struct head h;
    int rc = COKE_OK;
    CK_TRY(ck_load_file(path, INT64_MAX / 2, &data, &room, &size));
    if (!fits(data, size, tar, &h))
        CK_FAIL(COKE_EFORMAT, "%s: not the index of this tar file", path);
    x->n = h.n;
    x->counts = h.counts;
    x->record = ck_alloc_array((size_t)h.n, sizeof *x->record);
    if (!x->record)
        CK_LEAVE(COKE_ENOMEM);
    at = data + HEAD;
    for (int64_t i = 0; i < h.n; i++) {
        x->record[i].offset = get(&at);
        x->record[i].size = get(&at);
        x->record[i].label = get(&at);
        x->record[i].sum = (uint64_t)get(&at);
    }
    if (!are_valid(x->record, x->n, h.size))
        CK_FAIL(COKE_EFORMAT, "%s: records exceed the tar file", path);
    CK_TRY(take_keys(x, (const char *)at, (size_t)h.text));
done:
    ck_free(data);
    if (rc)
        ck_shard_index_release(x);
    return rc;
}

/* ---- making it ---- */

static int add_sample(struct ck_shard_index *x, const struct ck_sample *s)
{
    int rc = CK_VEC_RESERVE(x->record, x->room, x->n + 1);
    if (!rc)
        rc = ck_names_add(&x->keys, s->key, strlen(s->key));
    if (!rc)
        x->record[x->n++] = (struct ck_shard_record){
            .offset = s->offset, .size = s->size, .label = s->label, .sum = s->sum};
    return rc;
}

static int scan_tar(struct ck_shard_index *x, const char *path)
{
    struct ck_stream in = {0};
    struct ck_samples samples = {0};
    struct ck_sample s;
    int rc = COKE_OK, more = 1;
    CK_TRY(ck_stream_open(&in, path));
    if (in.gzip)
        CK_FAIL(COKE_EUSAGE, "%s: compressed, unlike the first shard; compress all or none",
                path);
    samples.tar.in = &in;
    for (;;) {
        CK_TRY(ck_samples_next(&samples, NULL, &s, &more));
        if (!more)
            break;
        CK_TRY(add_sample(x, &s));
    }
    x->counts = samples.counts;
done:
    ck_samples_release(&samples);
    ck_stream_close(&in);
    if (rc)
        ck_shard_index_release(x);
    return rc;
}

/* Stores the index at the first path that can be written. */
static int keep_index(struct ck_shard_index *x, const struct identity *tar,
                      const struct places *p)
{
    for (int i = 0; i < PLACES && !x->kept; i++) {
        if (!p->path[i][0])
            continue;
        if (i == CACHE)
            make_folders(p->path[i]);
        int rc = write_index(x, tar, p->path[i]);
        if (rc == COKE_ENOMEM)
            return rc;
        x->kept = !rc;
    }
    return COKE_OK;
}

int ck_shard_index_open(struct ck_shard_index *x, const char *path, const char *cache_dir)
{
    struct places p;
    struct identity tar;
    int rc = COKE_OK;
    *x = (struct ck_shard_index){0};
    CK_RETURN_IF(identify(path, &tar));
    find_places(&p, path, cache_dir);
    for (int i = 0; i < PLACES && !x->kept; i++) {
        rc = p.path[i][0] ? read_index(x, &tar, p.path[i]) : COKE_EIO;
        if (rc == COKE_ENOMEM)
            return rc;
        x->kept = !rc;
    }
    if (!x->kept)
        CK_TRY(scan_tar(x, path));
    if (!x->kept)
        CK_TRY(keep_index(x, &tar, &p));
    x->size = (int64_t)tar.st.st_size;
done:
    if (rc)
        ck_shard_index_release(x);
    return rc;
}

void ck_shard_index_release(struct ck_shard_index *x)
{
    ck_free(x->record);
    ck_names_release(&x->keys);
    *x = (struct ck_shard_index){0};
}
