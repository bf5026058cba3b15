/* folder.c - a folder of images: one class per subfolder, or flat and without labels.
 *
 * Everything below a first-level subfolder belongs to its class. An image directly in the
 * folder makes it flat. Links are followed, except those that lead back to a parent folder,
 * which the note mentions. */
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/vec.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct folder {
    struct ck_dataset base;
    struct ck_names names; /* [n], relative to the source */
};

/* The current path; grows and shrinks with the recursion. */
struct path {
    char *text;
    size_t length;
    int64_t room;
};

/* The chain of parent folders, to detect loops of links. */
struct level {
    const struct level *up;
    dev_t device;
    ino_t inode;
};

/* Extensions of images that are counted and named, but not read: some need a library that may
 * be missing, the others are not supported. */
static const char *const unread[] = {".tif", ".tiff", ".avif", ".jp2", ".j2k", ".jpx",
                                     ".jxl", ".heic", ".heif", ".svg", ".ico", ".tga",
                                     ".psd", ".exr",  ".dng",  ".cr2", ".nef"};
enum { UNREAD = sizeof unread / sizeof unread[0], LIBRARIES = 3 };

/* State of the recursive scan; lives during ck_dataset_open_folder only. */
struct scan {
    struct folder *f;
    struct path path;
    size_t root;             /* length of the source with its '/' */
    struct ck_names classes; /* subfolders of the first level */
    int64_t labels;          /* room in base.label */
    int64_t direct;          /* images at the first level */
    int64_t loops, broken;   /* links that lead to a parent folder, or nowhere */
    char first_link[256];    /* one of them, for the note */
    int64_t unread[UNREAD];  /* images of each of these formats */
    char first_unread[256];
};

/* ---- paths ---- */

/* Appends a name of n bytes, and '/' for a folder; pass *before to drop_name. */
static int push_name(struct path *p, const char *name, size_t n, int slash, size_t *before)
{
    *before = p->length;
    CK_RETURN_IF(CK_VEC_RESERVE(p->text, p->room, p->length + n + 2));
    memcpy(p->text + p->length, name, n);
    p->length += n;
    if (slash && p->text[p->length - 1] != '/')
        p->text[p->length++] = '/';
    p->text[p->length] = 0;
    return COKE_OK;
}

static void drop_name(struct path *p, size_t before)
{
    p->length = before;
    p->text[before] = 0;
}

/* ---- one folder's entries ---- */

enum { IS_FILE = 'f', IS_FOLDER = 'd', IS_NOTHING = 0 };

static void remember_link(struct scan *s, const char *name)
{
    if (!s->first_link[0])
        snprintf(s->first_link, sizeof s->first_link, "%s%s", s->path.text + s->root, name);
}

static void count_unread(struct scan *s, const char *name)
{
    for (int i = 0; i < UNREAD; i++) {
        if (!ck_ends_with(name, unread[i]))
            continue;
        s->unread[i]++;
        if (!s->first_unread[0])
            snprintf(s->first_unread, sizeof s->first_unread, "%s%s", s->path.text + s->root,
                     name);
    }
}

/* Determines the kind of an entry; calls stat only if readdir does not tell it. */
static char kind_of(struct scan *s, DIR *dir, const struct dirent *e)
{
    struct stat st;
    int image = ck_codec_reads_name(e->d_name);
    if (!image && e->d_type != DT_DIR)
        count_unread(s, e->d_name);
    if (e->d_type == DT_REG)
        return image ? IS_FILE : IS_NOTHING;
    if (e->d_type == DT_DIR)
        return IS_FOLDER;
    if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN)
        return IS_NOTHING;
    if (fstatat(dirfd(dir), e->d_name, &st, 0)) {
        s->broken++;
        remember_link(s, e->d_name);
        return IS_NOTHING;
    }
    if (S_ISDIR(st.st_mode))
        return IS_FOLDER;
    return S_ISREG(st.st_mode) && image ? IS_FILE : IS_NOTHING;
}

/* Marks a folder among the names. It sorts below every character of a name, so files and
 * folders together stay in order. */
static const char mark[] = "\x01";

static int list_folder(struct scan *s, DIR *dir, struct ck_names *out)
{
    char name[1024]; /* some file systems allow names beyond NAME_MAX */
    const struct dirent *e;
    for (errno = 0; (e = readdir(dir)) != NULL; errno = 0) {
        char kind = e->d_name[0] == '.' ? IS_NOTHING : kind_of(s, dir, e);
        if (kind == IS_NOTHING)
            continue;
        int n = snprintf(name, sizeof name, "%s%s", e->d_name, kind == IS_FOLDER ? mark : "");
        if (n >= (int)sizeof name)
            return ck_fail(COKE_EIO, "%s%s: %s", s->path.text, e->d_name,
                           strerror(ENAMETOOLONG));
        CK_RETURN_IF(ck_names_add(out, name, (size_t)n));
    }
    if (errno)
        return ck_fail(COKE_EIO, "%s: %s", s->path.text, strerror(errno));
    return ck_names_sort(out);
}

/* Reads and closes the folder s->path before the recursion, so that depth costs no
 * descriptors. */
static int read_folder(struct scan *s, const struct level *up, struct level *here,
                       struct ck_names *out, int *loop)
{
    struct stat st;
    int rc = COKE_OK;
    DIR *dir = opendir(s->path.text);
    if (!dir)
        return ck_fail(errno == ENOMEM ? COKE_ENOMEM : COKE_EIO, "%s: %s", s->path.text,
                       strerror(errno));
    if (fstat(dirfd(dir), &st))
        CK_FAIL(COKE_EIO, "%s: %s", s->path.text, strerror(errno));
    *here = (struct level){.up = up, .device = st.st_dev, .inode = st.st_ino};
    *loop = 0;
    for (; up && !*loop; up = up->up)
        *loop = up->device == st.st_dev && up->inode == st.st_ino;
    if (!*loop)
        CK_TRY(list_folder(s, dir, out));
done:
    closedir(dir);
    return rc;
}

/* ---- the tree ---- */

/* Appends an image; its label is the class entered last. */
static int add_image(struct scan *s, const char *name)
{
    struct folder *f = s->f;
    size_t before;
    CK_RETURN_IF(push_name(&s->path, name, strlen(name), 0, &before));
    CK_RETURN_IF(ck_names_add(&f->names, s->path.text + s->root, s->path.length - s->root));
    drop_name(&s->path, before);
    CK_RETURN_IF(CK_VEC_RESERVE(f->base.label, s->labels, f->base.n + 1));
    f->base.label[f->base.n++] = (int32_t)s->classes.n - 1;
    return COKE_OK;
}

static int scan_folder(struct scan *s, const struct level *up);

static int enter_folder(struct scan *s, const char *name, const struct level *here)
{
    size_t before, length = strlen(name) - 1; /* without the mark */
    if (!here->up)
        CK_RETURN_IF(ck_names_add(&s->classes, name, length));
    CK_RETURN_IF(push_name(&s->path, name, length, 1, &before));
    CK_RETURN_IF(scan_folder(s, here));
    drop_name(&s->path, before);
    return COKE_OK;
}

static int scan_folder(struct scan *s, const struct level *up)
{
    struct ck_names entries = {0};
    struct level here;
    int rc = COKE_OK, loop = 0;
    CK_TRY(read_folder(s, up, &here, &entries, &loop));
    if (loop) {
        s->loops++;
        remember_link(s, "");
    }
    for (int64_t i = 0; i < entries.n; i++) {
        const char *name = ck_names_get(&entries, i);
        if (ck_ends_with(name, mark)) {
            CK_TRY(enter_folder(s, name, &here));
        } else {
            CK_TRY(add_image(s, name));
            s->direct += !up;
        }
    }
done:
    ck_names_release(&entries);
    return rc;
}

/* ---- what was found ---- */

static int is_split_name(const char *name)
{
    static const char *const names[] = {"train", "training", "val",  "valid", "validation",
                                        "test",  "testing",  "eval", "dev"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ck_text_same(name, names[i]))
            return 1;
    return 0;
}

/* Subfolders called "train" and "val" are splits of a data set, not classes. */
static int refuse_splits(const struct scan *s, const char *path)
{
    for (int64_t c = 0; c < s->classes.n; c++)
        if (!is_split_name(ck_names_get(&s->classes, c)))
            return COKE_OK;
    return ck_fail(COKE_EUSAGE,
                   "%s: its subfolders (%s%s) are splits of a data set, not classes; use one "
                   "of them: %.*s%s",
                   path, ck_names_get(&s->classes, 0), s->classes.n > 1 ? ", ..." : "",
                   (int)s->root, s->path.text, ck_names_get(&s->classes, 0));
}

/* "3 images of formats that are not read (2 .jp2, 1 .heic), for example x.jp2"; "" = none. */
static void describe_unread(const struct scan *s, char *text, size_t size)
{
    char list[256] = "";
    int64_t all = 0;
    int built = 0;
    for (int i = 0; i < UNREAD; i++) {
        size_t used = strlen(list);
        all += s->unread[i];
        built |= i < LIBRARIES && s->unread[i];
        if (s->unread[i])
            snprintf(list + used, sizeof list - used, "%s%lld %s", used ? ", " : "",
                     (long long)s->unread[i], unread[i]);
    }
    text[0] = 0;
    if (all)
        snprintf(text, size, "%lld images of formats that are not read (%s), for example %s%s",
                 (long long)all, list, s->first_unread,
                 built ? "; TIFF and AVIF need a coke built with libtiff and libavif" : "");
}

static int fail_empty(const struct scan *s, const char *path)
{
    char links[64] = "", others[640], extensions[128];
    if (s->broken)
        snprintf(links, sizeof links, "; %lld links are broken", (long long)s->broken);
    describe_unread(s, others, sizeof others);
    ck_codec_list_extensions(extensions, sizeof extensions);
    return ck_fail(COKE_EFORMAT, "%s: no images in this folder or below (%s)%s%s%s", path,
                   extensions, links, others[0] ? "; " : "", others);
}

static int note_unread(struct scan *s)
{
    char others[640];
    describe_unread(s, others, sizeof others);
    return others[0] ? ck_dataset_add_note(&s->f->base, "Skipped: %s.", others) : COKE_OK;
}

static int note_empty_classes(struct scan *s)
{
    struct ck_dataset *d = &s->f->base;
    const char *first = NULL;
    int64_t empty = 0, i = 0;
    for (int64_t c = 0; c < s->classes.n; c++) { /* images are ordered by class */
        int64_t from = i;
        while (i < d->n && d->label[i] == c)
            i++;
        if (i == from && !empty++)
            first = ck_names_get(&s->classes, c);
    }
    if (!empty)
        return COKE_OK;
    return ck_dataset_add_note(d,
                               "%lld of %lld class folders contain no image, the first is %s.",
                               (long long)empty, (long long)s->classes.n, first);
}

static int note_links(struct scan *s)
{
    if (!s->loops && !s->broken)
        return COKE_OK;
    return ck_dataset_add_note(&s->f->base,
                               "Not followed: %lld links that lead to a parent folder "
                               "and %lld broken links; the first is %s.",
                               (long long)s->loops, (long long)s->broken, s->first_link);
}

/* With an image directly in the folder, subfolders are not classes. */
static int make_flat(struct scan *s)
{
    struct ck_dataset *d = &s->f->base;
    ck_free(d->label);
    d->label = NULL;
    if (s->direct == d->n)
        return COKE_OK;
    return ck_dataset_add_note(d,
                               "%lld images are directly in %s and %lld in subfolders: all "
                               "are used, without labels.",
                               (long long)s->direct, d->source, (long long)(d->n - s->direct));
}

static int make_classes(struct scan *s)
{
    CK_RETURN_IF(refuse_splits(s, s->f->base.source));
    CK_RETURN_IF(ck_dataset_name_classes(&s->f->base, &s->classes));
    return note_empty_classes(s);
}

/* ---- the data set ---- */

static int path_image(const struct ck_dataset *d, int64_t i, char *path, size_t size)
{
    const char *name = ck_names_get(&((const struct folder *)d)->names, i);
    if ((size_t)snprintf(path, size, "%s/%s", d->source, name) >= size)
        return ck_fail(COKE_EIO, "%s/%s: %s", d->source, name, strerror(ENAMETOOLONG));
    return COKE_OK;
}

static int read_image(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    char path[PATH_MAX];
    int rc = path_image(d, i, path, sizeof path);
    return rc ? rc : ck_item_load(item, path);
}

static void name_image(const struct ck_dataset *d, int64_t i, char *text, size_t size)
{
    snprintf(text, size, "%s", ck_names_get(&((const struct folder *)d)->names, i));
}

static void free_folder(struct ck_dataset *d)
{
    ck_names_release(&((struct folder *)d)->names);
}

static const struct ck_dataset_type folder_type = {.kind = "folder",
                                                   .read = read_image,
                                                   .name = name_image,
                                                   .path = path_image,
                                                   .free = free_folder};

int ck_dataset_open_folder(struct ck_dataset **out, const char *path,
                           const struct ck_dataset_options *o)
{
    struct scan s = {0};
    size_t before;
    int rc = COKE_OK;
    (void)o;
    s.f = ck_dataset_new(&folder_type, sizeof *s.f, path);
    if (!s.f)
        return COKE_ENOMEM;
    CK_TRY(push_name(&s.path, path, strlen(path), 1, &before));
    s.root = s.path.length;
    CK_TRY(scan_folder(&s, NULL));
    if (s.f->base.n == 0)
        CK_TRY(fail_empty(&s, path));
    CK_TRY(s.direct ? make_flat(&s) : make_classes(&s));
    CK_TRY(note_links(&s));
    CK_TRY(note_unread(&s));
    CK_TRY(ck_dataset_make_ids(&s.f->base, &s.f->names));
    *out = &s.f->base;
    s.f = NULL;
done:
    ck_names_release(&s.classes);
    ck_free(s.path.text);
    ck_dataset_free((struct ck_dataset *)s.f);
    return rc;
}
