/* dataset.c - detects the kind of a source, and implements what all kinds share. */
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "io/load.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names ---- */

/* Ignores case. */
int ck_ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && ck_text_same(name + n - m, ending);
}

const char *ck_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- items ---- */

void ck_item_release(struct ck_item *item)
{
    ck_image_release(&item->pixels);
    ck_free(item->buffer);
    memset(item, 0, sizeof *item);
}

int ck_item_load(struct ck_item *item, const char *path)
{
    int rc = ck_load_file(path, CK_ITEM_MAX, &item->buffer, &item->capacity, &item->size);
    item->bytes = rc ? NULL : item->buffer;
    return rc;
}

int ck_item_load_part(struct ck_item *item, int fd, const char *name, int64_t offset,
                      int64_t size)
{
    int rc = ck_load_reserve(&item->buffer, &item->capacity, (size_t)size);
    if (!rc)
        rc = ck_load_at(fd, name, offset, item->buffer, (size_t)size);
    item->bytes = rc ? NULL : item->buffer;
    item->size = rc ? 0 : (size_t)size;
    return rc;
}

/* ---- parts of a data set ---- */

/* size: of the struct of the kind, which begins with struct ck_dataset. */
void *ck_dataset_new(const struct ck_dataset_type *type, size_t size, const char *source)
{
    struct ck_dataset *d = ck_calloc_array(1, size);
    if (!d)
        return NULL;
    d->type = type;
    d->source = source ? ck_strdup(source) : NULL;
    if (source && !d->source) {
        ck_dataset_free(d);
        return NULL;
    }
    return d;
}

/* The kind frees its own members first; the shared ones follow. */
void ck_dataset_free(struct ck_dataset *d)
{
    if (!d)
        return;
    if (d->type->free)
        d->type->free(d);
    for (int32_t c = 0; c < d->classes && d->class_name; c++)
        ck_free(d->class_name[c]);
    ck_free(d->class_name);
    ck_free(d->source);
    ck_free(d->label);
    ck_free(d->id);
    ck_free(d->note);
    ck_free(d);
}

/* Notes are sentences, joined by a space. */
int ck_dataset_add_note(struct ck_dataset *d, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    ck_format_list(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t used = d->note ? strlen(d->note) : 0, more = strlen(text);
    char *note = ck_alloc_array(used + more + 2, 1);
    if (!note)
        return COKE_ENOMEM;
    if (used)
        memcpy(note, d->note, used);
    if (used)
        note[used++] = ' ';
    memcpy(note + used, text, more + 1);
    ck_free(d->note);
    d->note = note;
    return COKE_OK;
}

/* names NULL: class c is called "c". */
static int set_classes(struct ck_dataset *d, int32_t n, const struct ck_names *names)
{
    char number[16];
    d->class_name = ck_calloc_array((size_t)n, sizeof *d->class_name);
    if (!d->class_name)
        return COKE_ENOMEM;
    d->classes = n;
    for (int32_t c = 0; c < n; c++) {
        snprintf(number, sizeof number, "%d", c);
        d->class_name[c] = ck_strdup(names ? ck_names_get(names, c) : number);
        if (!d->class_name[c])
            return COKE_ENOMEM;
    }
    return COKE_OK;
}

int ck_dataset_number_classes(struct ck_dataset *d, int32_t n)
{
    return set_classes(d, n, NULL);
}

int ck_dataset_name_classes(struct ck_dataset *d, const struct ck_names *names)
{
    return set_classes(d, (int32_t)names->n, names);
}

/* ---- opening ---- */

/* On success *out belongs to the caller; on failure it stays NULL. */
typedef int open_fn(struct ck_dataset **out, const char *path,
                    const struct ck_dataset_options *o);

/* A folder without the files of CIFAR or IDX is a folder of image files. */
static int open_directory(struct ck_dataset **out, const char *path,
                          const struct ck_dataset_options *o)
{
    if (ck_is_cifar_folder(path))
        return ck_dataset_open_cifar(out, path, o);
    if (ck_is_idx_folder(path))
        return ck_dataset_open_idx(out, path, o);
    return ck_dataset_open_folder(out, path, o);
}

static int fail_kind(const char *path)
{
    if (ck_codec_reads_name(path))
        return ck_fail(
            COKE_EUSAGE,
            "%s: a single image is not a data set; use its folder, or a list of images "
            "in a .txt file",
            path);
    return ck_fail(COKE_EUSAGE,
                   "%s: unknown kind of data set; supported: a folder, a list (.txt .tsv "
                   ".csv .list), .tar, CIFAR .bin, IDX (...-ubyte[.gz]), .npy or synthetic:",
                   path);
}

/* Selects the kind by the name of an existing file; NULL = unknown. */
static open_fn *opener_by_name(const char *path)
{
    static const struct {
        const char *ending;
        open_fn *open;
    } kinds[] = {
        {".tar", ck_dataset_open_tar},    {".tgz", ck_dataset_open_tar},
        {".tar.gz", ck_dataset_open_tar}, {".tar.zst", ck_dataset_open_tar},
        {".tar.xz", ck_dataset_open_tar}, {".tar.bz2", ck_dataset_open_tar},
        {".bin", ck_dataset_open_cifar},  {".npy", ck_dataset_open_npy},
        {".txt", ck_dataset_open_list},   {".tsv", ck_dataset_open_list},
        {".csv", ck_dataset_open_list},   {".list", ck_dataset_open_list},
        {"-ubyte", ck_dataset_open_idx},  {"-ubyte.gz", ck_dataset_open_idx},
        {".idx", ck_dataset_open_idx},    {".idx.gz", ck_dataset_open_idx},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ck_ends_with(path, kinds[i].ending))
            return kinds[i].open;
    return NULL;
}

/* Order matters: an existing file with braces in its name is not a pattern of shards, and pipes
 * are read as tar. */
static int open_source(struct ck_dataset **out, const char *source,
                       const struct ck_dataset_options *o)
{
    static const char synthetic[] = "synthetic";
    size_t word = strlen(synthetic);
    struct stat st;
    if (strncmp(source, synthetic, word) == 0 && (source[word] == ':' || !source[word]))
        return ck_dataset_open_synthetic(out, source + word + (source[word] == ':'), o);
    if (strcmp(source, "-") == 0 || (strchr(source, '{') && access(source, F_OK)))
        return ck_dataset_open_tar(out, source, o);
    if (stat(source, &st))
        return ck_fail(COKE_EIO, "%s: %s", source, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return open_directory(out, source, o);
    if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode))
        return ck_dataset_open_tar(out, source, o);
    open_fn *open = opener_by_name(source);
    return open ? open(out, source, o) : fail_kind(source);
}

/* Rejects options that would have no effect. */
static int check_parts(const struct ck_dataset_type *t, const char *source,
                       const struct ck_dataset_options *o)
{
    if (o->split != CK_SPLIT_TRAIN && !t->splits)
        return ck_fail(
            COKE_EUSAGE,
            "split: %s (%s) has no splits; use the folder or file of the other split", source,
            t->kind);
    if (o->coarse && !t->coarse)
        return ck_fail(COKE_EUSAGE, "coarse: only CIFAR-100 has super-classes, %s is %s",
                       source, t->kind);
    return COKE_OK;
}

/* Fills in what the kind left out: source and note are never NULL afterwards. */
int ck_dataset_open(struct ck_dataset **out, const char *source,
                    const struct ck_dataset_options *options)
{
    struct ck_dataset_options none = {0};
    int rc = COKE_OK;
    *out = NULL;
    CK_TRY(open_source(out, source, options ? options : &none));
    if (!(*out)->source)
        (*out)->source = ck_strdup(source);
    if (!(*out)->note)
        (*out)->note = ck_strdup("");
    if (!(*out)->source || !(*out)->note)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(check_parts((*out)->type, source, options ? options : &none));
done:
    if (rc) {
        ck_dataset_free(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- reading ---- */

/* Resets the item but keeps its buffers, so that a loop does not allocate. */
int ck_dataset_read(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    item->bytes = NULL;
    item->size = 0;
    item->pixels.width = item->pixels.height = 0;
    return d->type->read(d, i, item);
}

/* type->label: of a stream, the label of the image that was read last. */
int32_t ck_dataset_label(const struct ck_dataset *d, int64_t i)
{
    if (d->type->label)
        return d->type->label(d);
    return d->label ? d->label[i] : -1;
}

void ck_dataset_name(const struct ck_dataset *d, int64_t i, char *text, size_t size)
{
    d->type->name(d, i, text, size);
}
