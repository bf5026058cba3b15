/* pack.c - writes a data set as resized WebDataset shards.
 *
 * Worker threads decode, resize and encode (make); the calling thread writes the results in
 * order (take), so the shards do not depend on the number of threads. */
#include "data/pack.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/option.h"
#include "core/vec.h"
#include "core/workers.h"
#include "data/sweep.h"
#include "image/resize.h"
#include "io/sums.h"
#include "io/tar_write.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 1024, PATH = 4096 };

/* An encoded image waiting to be written; bytes are owned. */
struct parcel {
    unsigned char *bytes;
    size_t size;
    char key[NAME];
};

/* Working memory of one thread. */
struct table {
    struct ck_resizer resizer;
    struct ck_planes planes;
    struct ck_image small;
};

struct pack {
    struct coke_dataset *data;
    const struct ck_pack_options *o;
    const char *prefix;
    int force;
    const struct coke_callbacks *callbacks;
    struct coke_pack_summary *result;
    struct ck_writer
        *shard; /* [shards], the last one may be open; all are committed together */
    int64_t room;
    int open;
    int64_t used;  /* bytes in the open shard */
    uint64_t *key; /* [keys_room] hash set of all keys so far, 0 = free */
    int64_t keys, keys_room;
    struct parcel parcel[CK_SWEEP_BLOCK];
    struct table *table; /* [threads] */
    int threads;
};

static const struct {
    const char *extension;
    enum ck_codec_kind kind;
} formats[] = {
    [CK_PACK_JPEG] = {"jpg", CK_CODEC_JPEG},
    [CK_PACK_PNG] = {"png", CK_CODEC_PNG},
    [CK_PACK_PPM] = {"ppm", CK_CODEC_PNM},
};

/* ---- making ---- */

/* Makes a key that WebDataset's convention keeps whole (a key ends at the first dot of the last
 * path component) and that cannot leave the folder when a shard is unpacked. A changed name
 * gets the id of its image appended, so that keys stay different. */
static void make_key(struct pack *p, int64_t i, const char *name, char *key)
{
    const char *from = name;
    if (strncmp(p->data->set->type->kind, "tar", 3) == 0 && strchr(name, '/'))
        from = name = strchr(name, '/') + 1; /* keys without the name of their old shard */
    while (*from == '/')
        from++;
    const char *base = strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
    const char *dot = strrchr(base, '.');
    const char *end = dot && dot > base ? dot : base + strlen(base);
    size_t n = 0;
    int changed = from != name;
    changed |= end - from > NAME - 64;
    for (const char *c = from; c < end && n < NAME - 64; c++) {
        int up = c[0] == '.' && (c == from || c[-1] == '/') && c[1] == '.';
        int odd = up || (c >= base && *c == '.') || (unsigned char)*c < ' ';
        key[n++] = odd ? '_' : *c;
        changed |= odd;
    }
    /* Records have their number after the name of their file: "test_batch.bin#7". */
    if (dot && strchr(dot, '#')) {
        n += (size_t)snprintf(key + n, NAME - n, "-%s", strchr(dot, '#') + 1);
        changed = 0;
    }
    key[n] = 0;
    if (changed)
        snprintf(key + n, NAME - n, "-%016llx",
                 (unsigned long long)(p->data->set->id ? p->data->set->id[i] : (uint64_t)i));
}

/* Resizes the short side to o->size. */
static int shrink(const struct pack *p, struct table *t, const struct ck_image *im)
{
    int64_t shorter = im->width < im->height ? im->width : im->height, size = p->o->size;
    struct ck_box all = {0, 0, im->width, im->height};
    int32_t width = (int32_t)(im->width * size / shorter);
    int32_t height = (int32_t)(im->height * size / shorter);
    CK_RETURN_IF(ck_resize(&t->resizer, im, all, CK_BICUBIC, width, height, &t->planes));
    return ck_image_from_planes(&t->small, &t->planes);
}

static int encode(const struct pack *p, struct parcel *b, const struct ck_image *im)
{
    if (im->channels != 1 && im->channels != 3)
        return ck_fail(COKE_EFORMAT, "images with %d channels cannot be packed", im->channels);
    if (p->o->format == CK_PACK_JPEG)
        return ck_jpeg_encode(im, (int)p->o->quality, &b->bytes, &b->size);
    if (p->o->format == CK_PACK_PNG)
        return ck_png_encode(im, &b->bytes, &b->size);
    return ck_pnm_encode(im, &b->bytes, &b->size);
}

/* A file that already has the right format and size is copied without encoding it again. */
static int is_as_wanted(const struct pack *p, const struct ck_fetcher *f, int shrinks)
{
    int32_t wanted = (int32_t)p->data->o.channels;
    const struct ck_numbers *b = &p->data->o.background;
    int named = b->n || b->word == CK_BACKGROUND_WHITE || b->word == CK_BACKGROUND_BLACK;
    return f->item.bytes && !shrinks && (!wanted || wanted == f->info.channels) &&
           f->info.kind == formats[p->o->format].kind &&
           !(p->data->o.exif && f->info.orientation != 1) && !(f->info.alpha && named);
}

/* On any thread; writes only to its place and its worker's table. */
static int make(void *arg, struct ck_fetcher *f, int64_t i, int place, int worker)
{
    struct pack *p = arg;
    struct parcel *b = &p->parcel[place];
    struct table *t = &p->table[worker];
    struct ck_box part;
    int scale, rc = COKE_OK;
    int32_t shorter = f->width < f->height ? f->width : f->height;
    int shrinks = p->o->size > 0 && shorter > p->o->size;
    make_key(p, i, f->name, b->key);
    CK_TRY(ck_fetch_decode(f, p->data, NULL, 1, &part, &scale)); /* also validates it */
    if (is_as_wanted(p, f, shrinks)) {
        b->bytes = ck_alloc_array(f->item.size, 1);
        if (!b->bytes)
            return COKE_ENOMEM;
        memcpy(b->bytes, f->item.bytes, f->item.size);
        b->size = f->item.size;
        goto done;
    }
    if (shrinks)
        CK_TRY(shrink(p, t, &f->image));
    rc = encode(p, b, shrinks ? &t->small : &f->image);
    if (rc)
        ck_fail_prefix(rc, "%s: ", f->name);
done:
    return rc;
}

/* ---- keys ---- */

static int grow_keys(struct pack *p)
{
    int64_t room = p->keys_room ? 2 * p->keys_room : 1024;
    uint64_t *more = ck_calloc_array((size_t)room, sizeof *more);
    if (!more)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < p->keys_room; i++) {
        int64_t at = (int64_t)(p->key[i] % (uint64_t)room);
        while (p->key[i] && more[at])
            at = (at + 1) % room;
        if (p->key[i])
            more[at] = p->key[i];
    }
    ck_free(p->key);
    p->key = more;
    p->keys_room = room;
    return COKE_OK;
}

/* Adds a key to the hash set; *is_new = 0: it was there already. */
static int add_key(struct pack *p, const char *key, int *is_new)
{
    uint64_t h = ck_hash_text(key) | 1;
    int rc = 2 * p->keys >= p->keys_room ? grow_keys(p) : COKE_OK;
    if (rc)
        return rc;
    int64_t at = (int64_t)(h % (uint64_t)p->keys_room);
    while (p->key[at] && p->key[at] != h)
        at = (at + 1) % p->keys_room;
    *is_new = p->key[at] == 0;
    p->keys += *is_new;
    p->key[at] = h;
    return COKE_OK;
}

/* Appends the image's number to a key that occurred before, such as that of "x.jpg" and
 * "x.png". */
static int make_unique(struct pack *p, int64_t i, char *key)
{
    int is_new, rc = add_key(p, key, &is_new);
    if (rc || is_new)
        return rc;
    size_t n = strlen(key);
    snprintf(key + n, NAME - n, "-n%lld", (long long)i);
    return add_key(p, key, &is_new);
}

/* ---- writing ---- */

static void shard_name(const struct pack *p, int64_t shard, char *path, size_t size)
{
    snprintf(path, size, "%s-%06lld.tar", p->prefix, (long long)shard);
}

static void classes_name(const struct pack *p, char *path, size_t size)
{
    snprintf(path, size, "%s-classes.txt", p->prefix);
}

/* The writer of the current shard. */
static struct ck_writer *open_writer(const struct pack *p)
{
    return &p->shard[p->result->shards];
}

/* Finishes the file but does not rename it: publish does that for all shards. */
static int close_shard(struct pack *p)
{
    CK_RETURN_IF(ck_tar_end(open_writer(p)));
    CK_RETURN_IF(ck_writer_finish(open_writer(p)));
    p->open = 0;
    p->result->shards++;
    return COKE_OK;
}

static int open_shard(struct pack *p)
{
    char path[PATH];
    int64_t before = p->room;
    CK_RETURN_IF(CK_VEC_RESERVE(p->shard, p->room, p->result->shards + 1));
    memset(p->shard + before, 0, (size_t)(p->room - before) * sizeof *p->shard);
    shard_name(p, p->result->shards, path, sizeof path);
    int rc = ck_writer_open(open_writer(p), path, ck_force_inside(p->force));
    p->open = !rc;
    p->used = 0;
    return rc;
}

static int add(struct pack *p, struct parcel *b, int32_t label)
{
    char name[NAME + 16], text[16];
    int64_t before;
    if (!p->open)
        CK_RETURN_IF(open_shard(p));
    before = p->used;
    snprintf(name, sizeof name, "%s.%s", b->key, formats[p->o->format].extension);
    CK_RETURN_IF(ck_tar_add(open_writer(p), name, b->bytes, b->size, &p->used));
    if (label >= 0) {
        snprintf(name, sizeof name, "%s.cls", b->key);
        int n = snprintf(text, sizeof text, "%d", label);
        CK_RETURN_IF(ck_tar_add(open_writer(p), name, text, (size_t)n, &p->used));
    }
    p->result->images++;
    p->result->bytes += p->used - before;
    if (p->used >= p->o->shard_size)
        CK_RETURN_IF(close_shard(p));
    return COKE_OK;
}

/* On the calling thread, in order. Skips damaged images; other failures are fatal. */
static int take(void *arg, int64_t i, int place, int status, const char *sentence)
{
    struct pack *p = arg;
    struct parcel *b = &p->parcel[place];
    int rc = COKE_OK;
    if (status == COKE_EFORMAT) {
        p->result->bad++;
        ck_bad_image(p->callbacks, i, sentence);
    } else if (status) {
        CK_FAIL(status, "%s", sentence);
    } else {
        CK_TRY(make_unique(p, i, b->key));
        CK_TRY(add(p, b, ck_dataset_label(p->data->set, i)));
    }
done:
    ck_free(b->bytes);
    b->bytes = NULL;
    return rc;
}

/* Writes one line: line breaks become "_", and the number of the class keeps such names
 * different. */
static int write_class(struct ck_writer *w, const char *name, int32_t number)
{
    char mark[16];
    int changed = 0;
    for (const char *c = name; *c; c++) {
        int odd = *c == '\n' || *c == '\r';
        CK_RETURN_IF(ck_writer_write(w, odd ? "_" : c, 1));
        changed |= odd;
    }
    int n = snprintf(mark, sizeof mark, "-%d", number);
    if (changed)
        CK_RETURN_IF(ck_writer_write(w, mark, (size_t)n));
    return ck_writer_write(w, "\n", 1);
}

/* Writes the class names, where readers of shards look for them. */
static int write_classes(const struct pack *p, struct ck_writer *w)
{
    char path[PATH];
    if (p->data->set->classes == 0)
        return COKE_OK;
    classes_name(p, path, sizeof path);
    CK_RETURN_IF(ck_writer_open(w, path, ck_force_inside(p->force)));
    for (int32_t c = 0; c < p->data->set->classes; c++)
        CK_RETURN_IF(write_class(w, p->data->set->class_name[c], c));
    return ck_writer_finish(w);
}

/* ---- existing files ---- */

/* The number in "NAME-000012.tar" if it is a shard of this prefix, else -1. */
static int64_t number_of(const char *base, const char *name)
{
    size_t n = strlen(base);
    char *end;
    if (strncmp(name, base, n) != 0 || name[n] != '-' || strspn(name + n + 1, "0123456789") < 6)
        return -1;
    long long number = strtoll(name + n + 1, &end, 10);
    return strcmp(end, ".tar") == 0 ? number : -1;
}

/* Calls visit for every existing shard of this prefix with a number >= first. */
static int visit_shards(const struct pack *p, int64_t first,
                        int (*visit)(const struct pack *p, const char *path))
{
    char folder[PATH], path[PATH];
    const char *slash = strrchr(p->prefix, '/'), *base = slash ? slash + 1 : p->prefix;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - p->prefix) + 1 : 1,
             slash ? p->prefix : ".");
    DIR *d = opendir(folder);
    if (!d)
        return ck_fail(COKE_EIO, "%s: %s", folder, strerror(errno));
    int rc = COKE_OK;
    for (struct dirent *e = readdir(d); e && !rc; e = readdir(d)) {
        int64_t number = number_of(base, e->d_name);
        if (number < first)
            continue;
        snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - p->prefix) + 1 : 0,
                 p->prefix, e->d_name);
        rc = visit(p, path);
    }
    closedir(d);
    return rc;
}

/* Makes the folders of the prefix that are missing; *first is the length of the path of the
 * first one that was made, 0 = none. */
static int make_folders(const char *prefix, size_t *first)
{
    char path[PATH];
    struct stat st;
    *first = 0;
    for (const char *slash = strchr(prefix, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t n = (size_t)(slash - prefix);
        snprintf(path, sizeof path, "%.*s", (int)n, prefix);
        if (n == 0 || stat(path, &st) == 0)
            continue;
        if (mkdir(path, 0777) && errno != EEXIST)
            return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
        *first = *first ? *first : n;
    }
    return COKE_OK;
}

/* Takes make_folders back; folders that hold something stay. */
static void remove_folders(const char *prefix, size_t first)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s", prefix);
    for (char *slash; first && (slash = strrchr(path, '/')) && slash >= path + first;) {
        *slash = 0;
        rmdir(path);
    }
}

static int refuse(const struct pack *p, const char *path)
{
    return ck_file_check_target(path, p->force);
}

static int remove_shard(const struct pack *p, const char *path)
{
    (void)p;
    return unlink(path) == 0 || errno == ENOENT
               ? COKE_OK
               : ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
}

static int check_prefix(const struct pack *p)
{
    const char *slash = strrchr(p->prefix, '/'), *base = slash ? slash + 1 : p->prefix;
    if (!*base)
        return ck_fail(COKE_EUSAGE,
                       "'%s' names no files; a prefix is, for example, shards/train",
                       p->prefix);
    if (strlen(p->prefix) > PATH - 300)
        return ck_fail(COKE_EUSAGE, "the prefix is too long: %zu bytes", strlen(p->prefix));
    return COKE_OK;
}

static int check_targets(const struct pack *p)
{
    char path[PATH];
    shard_name(p, 0, path, sizeof path);
    CK_RETURN_IF(ck_file_check_target(path, p->force));
    classes_name(p, path, sizeof path);
    CK_RETURN_IF(ck_file_check_target(path, p->force));
    return visit_shards(p, 0, refuse);
}

/* Renames all files; atomic except for a failure during the renames. With force it removes
 * the remaining shards of an earlier, longer run, which would be read together with the new
 * ones. */
static int publish(struct pack *p, struct ck_writer *classes)
{
    for (int64_t i = 0; i < p->result->shards; i++)
        CK_RETURN_IF(ck_writer_commit(&p->shard[i]));
    if (classes->path)
        CK_RETURN_IF(ck_sums_commit(classes));
    if (p->force)
        CK_RETURN_IF(visit_shards(p, p->result->shards, remove_shard));
    return COKE_OK;
}

static void release(struct pack *p)
{
    for (int64_t i = 0; i < p->room; i++)
        ck_writer_abort(&p->shard[i]);
    ck_free(p->shard);
    ck_free(p->key);
    for (int i = 0; i < CK_SWEEP_BLOCK; i++)
        ck_free(p->parcel[i].bytes);
    for (int i = 0; i < p->threads && p->table; i++) {
        ck_resizer_release(&p->table[i].resizer);
        ck_planes_release(&p->table[i].planes);
        ck_image_release(&p->table[i].small);
    }
    ck_free(p->table);
    ck_free(p);
}

int ck_pack(struct coke_dataset *d, const char *prefix, const struct ck_pack_options *o,
            int force, const struct coke_callbacks *callbacks, struct coke_pack_summary *out)
{
    int rc = COKE_OK;
    size_t made = 0; /* folders: see make_folders */
    struct ck_writer classes = {0};
    struct pack *p = ck_calloc_array(1, sizeof *p);
    struct ck_sweep sweep = {.data = d,
                             .callbacks = callbacks,
                             .phase = "pack",
                             .arg = p,
                             .make = make,
                             .take = take};
    if (!p)
        return COKE_ENOMEM;
    memset(out, 0, sizeof *out);
    p->data = d;
    p->o = o;
    p->prefix = prefix;
    p->force = force;
    p->callbacks = callbacks;
    p->result = out;
    p->threads = ck_threads();
    p->table = ck_calloc_array((size_t)p->threads, sizeof *p->table);
    if (!p->table)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(ck_options_check(ck_pack_option_table(), o));
    CK_TRY(check_prefix(p));
    CK_TRY(make_folders(prefix, &made));
    CK_TRY(check_targets(p));
    CK_TRY(ck_sweep_run(&sweep));
    if (p->open)
        CK_TRY(close_shard(p));
    if (out->images == 0)
        CK_FAIL(COKE_EFORMAT, "%s: no image could be packed", d->set->source);
    CK_TRY(write_classes(p, &classes));
    CK_TRY(publish(p, &classes));
done:
    ck_writer_abort(&classes);
    release(p);
    if (rc)
        remove_folders(prefix, made);
    return rc;
}
