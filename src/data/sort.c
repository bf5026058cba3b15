/* sort.c - copies or links the images of a data set into one folder per cluster.
 *
 * Files are named by the last component of the image's name, so that no name can leave the
 * folder. */
#include "data/sort.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "data/dataset_kinds.h"
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a name that are kept, of the 255 that file systems allow: the rest is for a number
 * and an extension. */
enum { NAME_KEPT = 200, TRIES = 1000, EVERY = 100 };

struct sort {
    const struct ck_sort_job *job;
    struct coke_sort_summary *out;
    uint8_t *made; /* [clusters] whether the folder exists */
    struct ck_item item;
};

static int fail_errno(const char *path)
{
    return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
}

/* ---- before ---- */

static int is_empty(const char *dir, int *empty)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    if (!d)
        return fail_errno(dir);
    *empty = 1;
    while ((e = readdir(d)))
        *empty = *empty && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
    closedir(d);
    return COKE_OK;
}

/* Fails if a folder cannot be created at dir. */
static int check_parent(const char *dir)
{
    char parent[PATH_MAX];
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    while (n > 0 && dir[n - 1] != '/')
        n--;
    snprintf(parent, sizeof parent, "%.*s", n ? (int)n : 1, n ? dir : ".");
    return access(parent, W_OK | X_OK) ? fail_errno(dir) : COKE_OK;
}

int ck_sort_check(const struct coke_dataset *d, const char *dir, enum coke_sort how)
{
    struct stat st;
    int empty = 1, rc = COKE_OK;
    if (d->set->n < 0)
        CK_FAIL(COKE_EUSAGE, "%s can only be read once, in order: its images cannot be sorted",
                d->set->source);
    if (how == COKE_SORT_LINK && !d->set->type->path)
        CK_FAIL(COKE_EUSAGE,
                "%s: images in %s data are not files and cannot be linked; copy them",
                d->set->source, d->set->type->kind);
    if (how != COKE_SORT_COPY && how != COKE_SORT_LINK)
        CK_FAIL(COKE_EUSAGE, "images are copied or linked, not sorted in way %d", (int)how);
    if (strlen(dir) > PATH_MAX - 2 * NAME_MAX)
        CK_FAIL(COKE_EUSAGE, "%.60s...: the name is too long", dir);
    if (stat(dir, &st) != 0)
        return errno == ENOENT ? check_parent(dir) : fail_errno(dir);
    if (!S_ISDIR(st.st_mode))
        CK_FAIL(COKE_EUSAGE, "%s exists and is not a folder", dir);
    CK_TRY(is_empty(dir, &empty));
    if (!empty)
        CK_FAIL(COKE_EUSAGE, "%s is not empty; remove it or use a new folder", dir);
    if (access(dir, W_OK | X_OK))
        CK_FAIL(COKE_EIO, "%s: %s", dir, strerror(errno));
done:
    return rc;
}

/* ---- names ---- */

/* The last dot and what follows, if it looks like an extension; else the end of name. */
static const char *extension(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name && strlen(dot) <= 8 ? dot : name + strlen(name);
}

/* The extension for an image whose name has none, by its format; pixels are written as PNG. */
static const char *natural_extension(const struct ck_item *item, const char *name)
{
    struct ck_image_info info;
    if (!item->bytes)
        return ".png";
    if (ck_codec_probe(item->bytes, item->size, name, &info))
        return "";
    return ck_codec_extension(info.kind);
}

/* Stem [NAME_KEPT + 1] and ending of the file name of image i. */
static void name_file(const struct sort *s, int64_t i, char *stem, char *ending, size_t size)
{
    char name[PATH_MAX];
    ck_dataset_name(s->job->data->set, i, name, sizeof name);
    const char *base = ck_base_name(name);
    const char *end = ck_codec_reads_name(base) ? extension(base) : base + strlen(base);
    size_t length = (size_t)(end - base);
    snprintf(ending, size, "%s", *end ? end : natural_extension(&s->item, name));
    snprintf(stem, NAME_KEPT + 1, "%.*s", (int)(length < NAME_KEPT ? length : NAME_KEPT), base);
    if (!*stem || strcmp(stem, ".") == 0 || strcmp(stem, "..") == 0)
        snprintf(stem, NAME_KEPT + 1, "image-%lld", (long long)i);
}

static void folder_of(const struct sort *s, int32_t cluster, char *path, size_t size)
{
    char last[16];
    int digits = snprintf(last, sizeof last, "%d", s->job->clusters - 1);
    snprintf(path, size, "%s/cluster-%0*d", s->job->dir, digits, cluster);
}

/* ---- one image ---- */

static int write_pixels(const struct sort *s, const char *path)
{
    unsigned char *bytes = NULL;
    size_t size;
    int rc = COKE_OK;
    CK_TRY(ck_png_encode(&s->item.pixels, &bytes, &size));
    CK_TRY(ck_file_put_new(path, bytes, size));
done:
    ck_free(bytes);
    return rc;
}

static int make_link(const struct sort *s, int64_t i, const char *path)
{
    char from[PATH_MAX];
    const struct ck_dataset *set = s->job->data->set;
    int rc = set->type->path(set, i, from, sizeof from);
    char *whole = rc ? NULL : realpath(from, NULL);
    if (!rc && !whole)
        rc = fail_errno(from);
    if (!rc && symlink(whole, path))
        rc = errno == EEXIST ? COKE_EUSAGE : fail_errno(path);
    free(whole);
    return rc;
}

/* COKE_EUSAGE: the name is taken; put then tries another one. */
static int put_at(const struct sort *s, int64_t i, const char *path)
{
    if (s->job->how == COKE_SORT_LINK)
        return make_link(s, i, path);
    return s->item.bytes ? ck_file_put_new(path, s->item.bytes, s->item.size)
                         : write_pixels(s, path);
}

static int put(struct sort *s, int64_t i, const char *folder)
{
    char stem[NAME_KEPT + 1], ending[16], path[PATH_MAX + NAME_MAX];
    name_file(s, i, stem, ending, sizeof ending);
    snprintf(path, sizeof path, "%s/%s%s", folder, stem, ending);
    int rc = put_at(s, i, path);
    for (int t = 1; t < TRIES && rc == COKE_EUSAGE; t++) {
        s->out->renamed += t == 1;
        if (t == 1)
            snprintf(path, sizeof path, "%s/%s-%lld%s", folder, stem, (long long)i, ending);
        else
            snprintf(path, sizeof path, "%s/%s-%lld-%d%s", folder, stem, (long long)i, t,
                     ending);
        rc = put_at(s, i, path);
    }
    return rc == COKE_EUSAGE ? ck_fail(COKE_EIO, "%s: no free file name", path) : rc;
}

static int make_folder(struct sort *s, int32_t cluster, const char *path)
{
    if (s->made[cluster])
        return COKE_OK;
    if (mkdir(path, 0777))
        return fail_errno(path);
    s->made[cluster] = 1;
    s->out->folders++;
    return COKE_OK;
}

static int sort_one(struct sort *s, int64_t i)
{
    char folder[PATH_MAX];
    int32_t cluster = s->job->cluster[i];
    if (cluster < 0) {
        s->out->left_out++;
        return COKE_OK;
    }
    folder_of(s, cluster, folder, sizeof folder);
    if (s->job->how == COKE_SORT_COPY)
        CK_RETURN_IF(ck_dataset_read(s->job->data->set, i, &s->item));
    CK_RETURN_IF(make_folder(s, cluster, folder));
    CK_RETURN_IF(put(s, i, folder));
    s->out->images++;
    return COKE_OK;
}

static int check_clusters(const struct ck_sort_job *job)
{
    if (job->clusters < 1)
        return ck_fail(COKE_EUSAGE, "images cannot be sorted into %d clusters", job->clusters);
    for (int64_t i = 0; i < job->data->set->n; i++)
        if (job->cluster[i] < -1 || job->cluster[i] >= job->clusters)
            return ck_fail(COKE_EUSAGE, "image %lld has cluster %d: not within -1 (none)..%d",
                           (long long)i, job->cluster[i], job->clusters - 1);
    return COKE_OK;
}

static int report(const struct ck_sort_job *job, int64_t done)
{
    int64_t n = job->data->set->n;
    if (done % EVERY && done < n)
        return COKE_OK;
    int rc = ck_progress_count(job->callbacks, "sort", done, n, "images");
    if (!rc)
        return COKE_OK;
    return ck_fail(rc, "stopped; %lld images are in %s", (long long)done, job->dir);
}

int ck_sort_run(const struct ck_sort_job *job, struct coke_sort_summary *out)
{
    struct sort s = {.job = job, .out = out};
    int rc = COKE_OK;
    memset(out, 0, sizeof *out);
    CK_TRY(check_clusters(job));
    CK_TRY(ck_sort_check(job->data, job->dir, job->how));
    s.made = ck_calloc_array((size_t)job->clusters + 1, 1);
    if (!s.made)
        CK_LEAVE(COKE_ENOMEM);
    if (mkdir(job->dir, 0777) && errno != EEXIST)
        CK_FAIL(COKE_EIO, "%s: %s", job->dir, strerror(errno));
    for (int64_t i = 0; i < job->data->set->n; i++) {
        CK_TRY(sort_one(&s, i));
        CK_TRY(report(job, i + 1));
    }
done:
    ck_free(s.made);
    ck_item_release(&s.item);
    return rc;
}
