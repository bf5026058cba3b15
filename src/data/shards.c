/* shards.c - tar files in the WebDataset convention, with random access and without unpacking.
 *
 * Images are read with pread from descriptors that stay open, up to a limit; files beyond it
 * are opened for each image, which costs microseconds. Neither needs a lock. */
#include "data/shards.h"
#include "data/braces.h"
#include "data/shard_index.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "io/load.h"
#include "io/tar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_MAX = 256 };

struct shard {
    const char *path;
    int fd;        /* -1 = opened for each image */
    int64_t first; /* number of its first image */
    struct ck_shard_index index;
};

struct shards {
    struct ck_dataset base;
    struct ck_names paths;
    struct shard *shard; /* [paths.n] */
};

/* ---- reading ---- */

static const struct shard *find_shard(const struct shards *s, int64_t i)
{
    int64_t low = 0, high = s->paths.n - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (s->shard[middle].first <= i)
            low = middle;
        else
            high = middle - 1;
    }
    return &s->shard[low];
}

/* Compares the size with that of the file when its index was made or validated. */
static int check_size(const struct shard *s, int64_t size)
{
    if (size == s->index.size)
        return COKE_OK;
    return ck_fail(COKE_EIO, "%s: has %lld bytes, had %lld before: the file was changed",
                   s->path, (long long)size, (long long)s->index.size);
}

static int read_image(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    const struct shard *s = find_shard((const struct shards *)d, i);
    const struct ck_shard_record *r = &s->index.record[i - s->first];
    int fd = s->fd, rc = COKE_OK;
    int64_t size = s->index.size;
    if (r->size > CK_ITEM_MAX)
        CK_FAIL(COKE_EFORMAT, "%s: image of %lld bytes; the limit is %d", s->path,
                (long long)r->size, CK_ITEM_MAX);
    if (fd < 0)
        CK_TRY(ck_load_open(s->path, &fd, &size));
    CK_TRY(check_size(s, size));
    CK_TRY(ck_item_load_part(item, fd, s->path, r->offset, r->size));
    CK_TRY(ck_tar_check(s->path, ck_names_get(&s->index.keys, i - s->first), r->sum,
                        item->bytes, item->size));
done:
    if (fd >= 0 && fd != s->fd)
        close(fd);
    return rc;
}

static void name_image(const struct ck_dataset *d, int64_t i, char *text, size_t size)
{
    const struct shard *s = find_shard((const struct shards *)d, i);
    snprintf(text, size, "%s/%s", ck_base_name(s->path),
             ck_names_get(&s->index.keys, i - s->first));
}

static void free_shards(struct ck_dataset *d)
{
    struct shards *s = (struct shards *)d;
    for (int64_t i = 0; s->shard && i < s->paths.n; i++) {
        ck_shard_index_release(&s->shard[i].index);
        if (s->shard[i].fd >= 0)
            close(s->shard[i].fd);
    }
    ck_free(s->shard);
    ck_names_release(&s->paths);
}

static const struct ck_dataset_type shards_type = {
    .kind = "tar", .read = read_image, .name = name_image, .free = free_shards};

/* ---- opening ---- */

/* Number of descriptors to keep open: at most a quarter of what the process may have. */
static int64_t max_open(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 4 > OPEN_MAX)
        return OPEN_MAX;
    return (int64_t)(limit.rlim_cur / 4);
}

static int open_shards(struct shards *s, const char *cache_dir)
{
    int64_t max = max_open(), unkept = 0;
    s->shard = ck_calloc_array((size_t)s->paths.n, sizeof *s->shard);
    if (!s->shard)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < s->paths.n; i++)
        s->shard[i].fd = -1;
    for (int64_t i = 0; i < s->paths.n; i++) {
        struct shard *x = &s->shard[i];
        int64_t size;
        x->path = ck_names_get(&s->paths, i);
        x->first = s->base.n;
        CK_RETURN_IF(ck_shard_index_open(&x->index, x->path, cache_dir));
        size = x->index.size;
        if (i < max)
            CK_RETURN_IF(ck_load_open(x->path, &x->fd, &size));
        CK_RETURN_IF(check_size(x, size));
        s->base.n += x->index.n;
        unkept += !x->index.kept;
    }
    if (unkept)
        CK_RETURN_IF(ck_dataset_add_note(
            &s->base, "The index could not be written beside the tar file or to "
                      "the cache and will be made again the next time."));
    return COKE_OK;
}

int ck_shards_note(struct ck_dataset *d, const struct ck_sample_counts *counts)
{
    if (counts->without)
        CK_RETURN_IF(ck_dataset_add_note(d, "%lld samples without an image are left out.",
                                         (long long)counts->without));
    if (counts->further)
        CK_RETURN_IF(
            ck_dataset_add_note(d,
                                "%lld images are left out, because a sample has only one "
                                "(members whose names agree up to the first dot).",
                                (long long)counts->further));
    if (counts->odd)
        CK_RETURN_IF(ck_dataset_add_note(d,
                                         "%lld members that are not files (links, devices) are "
                                         "left out.",
                                         (long long)counts->odd));
    if (counts->unended)
        CK_RETURN_IF(
            ck_dataset_add_note(d, "%lld tar files have no end mark: they may be truncated.",
                                (long long)counts->unended));
    return COKE_OK;
}

static int add_notes(struct shards *s)
{
    struct ck_sample_counts sum = {0};
    for (int64_t i = 0; i < s->paths.n; i++) {
        sum.without += s->shard[i].index.counts.without;
        sum.further += s->shard[i].index.counts.further;
        sum.odd += s->shard[i].index.counts.odd;
        sum.unended += s->shard[i].index.counts.unended;
    }
    return ck_shards_note(&s->base, &sum);
}

/* "x-000000.tar" -> "x-classes.txt", as 'coke data pack' writes it: one name per line. */
static int load_class_names(const char *tar, struct ck_names *out)
{
    static const char ending[] = "-classes.txt";
    size_t n = strlen(tar) - (ck_ends_with(tar, ".tar") ? strlen(".tar") : 0), stem = n;
    while (stem && tar[stem - 1] >= '0' && tar[stem - 1] <= '9')
        stem--;
    if (stem && stem < n && tar[stem - 1] == '-')
        n = stem - 1;
    char *path = ck_alloc_array(n + sizeof ending, 1);
    if (!path)
        return COKE_ENOMEM;
    memcpy(path, tar, n);
    memcpy(path + n, ending, sizeof ending);
    int rc = ck_names_load(out, path);
    ck_free(path);
    return rc;
}

static int name_classes(struct shards *s, int32_t min)
{
    struct ck_names names = {0};
    int rc = COKE_OK;
    CK_TRY(load_class_names(s->shard[0].path, &names));
    if (names.n && names.n < min)
        CK_TRY(ck_dataset_add_note(&s->base,
                                   "The file of class names has %lld lines for %d classes, and "
                                   "is ignored.",
                                   (long long)names.n, min));
    CK_TRY(names.n >= min ? ck_dataset_name_classes(&s->base, &names)
                          : ck_dataset_number_classes(&s->base, min));
done:
    ck_names_release(&names);
    return rc;
}

static int take_labels(struct shards *s)
{
    struct ck_dataset *d = &s->base;
    int32_t max = -1;
    int64_t unknown = 0, at = 0;
    d->label = ck_alloc_array((size_t)d->n, sizeof *d->label);
    if (!d->label)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < s->paths.n; i++)
        for (int64_t j = 0; j < s->shard[i].index.n; j++) {
            int32_t label = (int32_t)s->shard[i].index.record[j].label;
            d->label[at++] = label;
            unknown += label < 0;
            max = label > max ? label : max;
        }
    if (max < 0) {
        ck_free(d->label);
        d->label = NULL;
        return COKE_OK;
    }
    int rc = COKE_OK;
    if (unknown)
        rc = ck_dataset_add_note(d, "%lld of %lld images have no label (.cls).",
                                 (long long)unknown, (long long)d->n);
    return rc ? rc : name_classes(s, max + 1);
}

/* Ids are hashes of the key, so that images may move to other shards; of shard and key for a
 * key that occurred before. Appending shards changes no id. */
static int make_ids(struct shards *s)
{
    struct ck_dataset *d = &s->base;
    uint64_t *second = ck_alloc_array((size_t)d->n, sizeof *second);
    int rc = COKE_OK;
    int64_t at = 0;
    d->id = ck_alloc_array((size_t)d->n, sizeof *d->id);
    if (!second || !d->id)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t i = 0; i < s->paths.n; i++) {
        uint64_t seed = ck_hash_text(ck_base_name(s->shard[i].path));
        for (int64_t j = 0; j < s->shard[i].index.n; j++) {
            const char *key = ck_names_get(&s->shard[i].index.keys, j);
            d->id[at] = ck_hash_text(key);
            second[at++] = ck_hash(key, strlen(key), seed);
        }
    }
    CK_TRY(ck_ids_distinct(d->id, d->n, second));
done:
    ck_free(second);
    return rc;
}

static int open_indexed(struct ck_dataset **out, const char *source, struct ck_names *paths,
                        const char *cache_dir)
{
    int rc = COKE_OK;
    struct shards *s = ck_dataset_new(&shards_type, sizeof *s, source);
    if (!s)
        return COKE_ENOMEM;
    s->paths = *paths;
    *paths = (struct ck_names){0};
    CK_TRY(open_shards(s, cache_dir));
    if (!s->base.n)
        CK_FAIL(COKE_EFORMAT, "%s: no images in it", source);
    CK_TRY(add_notes(s));
    CK_TRY(take_labels(s));
    CK_TRY(make_ids(s));
    *out = &s->base;
    s = NULL;
done:
    ck_dataset_free((struct ck_dataset *)s);
    return rc;
}

/* ---- which way ---- */

/* All files must exist; *pipes: some are not regular files. */
static int check_paths(const struct ck_names *paths, int *pipes)
{
    struct stat st;
    int64_t missing = 0, first = 0;
    int error = 0;
    *pipes = 0;
    for (int64_t i = 0; i < paths->n; i++) {
        const char *path = ck_names_get(paths, i);
        if (strcmp(path, "-") == 0) {
            *pipes = 1;
        } else if (stat(path, &st) == 0) {
            *pipes |= !S_ISREG(st.st_mode);
        } else if (!missing++) {
            error = errno;
            first = i;
        }
    }
    if (!missing)
        return COKE_OK;
    if (missing == 1)
        return ck_fail(COKE_EIO, "%s: %s", ck_names_get(paths, first), strerror(error));
    return ck_fail(COKE_EIO, "%s: %s; %lld of %lld shards are missing",
                   ck_names_get(paths, first), strerror(error), (long long)missing,
                   (long long)paths->n);
}

static int is_compressed(const char *path, int *out)
{
    struct ck_stream s;
    int rc = ck_stream_open(&s, path);
    if (rc)
        return rc;
    *out = s.gzip;
    ck_stream_close(&s);
    return COKE_OK;
}

static int fail_one_pass(const char *source, int pipes)
{
    return ck_fail(COKE_EUSAGE,
                   "%s: %s, so it can be read only once, from beginning to end, but random "
                   "access is needed; %s, or pack it into shards",
                   source, pipes ? "a pipe" : "compressed",
                   pipes ? "save it to a file" : "gunzip it");
}

int ck_dataset_open_tar(struct ck_dataset **out, const char *path,
                        const struct ck_dataset_options *o)
{
    struct ck_names paths = {0};
    int rc = COKE_OK, pipes = 0, compressed = 0;
    if (access(path, F_OK) == 0)
        CK_TRY(ck_names_add(&paths, path, strlen(path)));
    else
        CK_TRY(ck_braces_expand(path, &paths));
    CK_TRY(check_paths(&paths, &pipes));
    if (!pipes)
        CK_TRY(is_compressed(ck_names_get(&paths, 0), &compressed));
    if (!pipes && !compressed)
        CK_TRY(open_indexed(out, path, &paths, o->cache_dir));
    else if (o->one_pass)
        CK_TRY(ck_shards_open_stream(out, path, &paths));
    else
        CK_TRY(fail_one_pass(path, pipes));
done:
    ck_names_release(&paths);
    return rc;
}
