/* rows_paths.c - which files are meant: patterns and folders, and arrays within files. */
#include "io/rows_paths.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/vec.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const endings[] = {".npy",    ".npz",   ".fvecs",       ".bvecs", ".fbin",
                                      ".f16bin", ".u8bin", ".i8bin",       ".h5",    ".hdf5",
                                      ".hdf",    ".he5",   ".safetensors", NULL};

int ck_paths_is_rows(const char *path)
{
    size_t n = strlen(path);
    for (int i = 0; endings[i]; i++) {
        size_t m = strlen(endings[i]);
        if (n >= m && ck_text_same(path + n - m, endings[i]))
            return 1;
    }
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_from(struct ck_paths *p, int64_t first)
{
    if (p->n - first > 1)
        qsort(p->path + first, (size_t)(p->n - first), sizeof *p->path, by_bytes);
}

/* Appends A + B + C. */
static int append(struct ck_paths *p, const char *a, const char *b, const char *c)
{
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    CK_RETURN_IF(CK_VEC_RESERVE(p->path, p->room, p->n + 1));
    char *path = ck_alloc_array(n, 1);
    if (!path)
        return COKE_ENOMEM;
    snprintf(path, n, "%s%s%s", a, b, c);
    p->path[p->n++] = path;
    return COKE_OK;
}

/* ---- folders ---- */

/* Takes an entry of the folder if it is a file of rows. */
static int take_entry(struct ck_paths *p, const char *folder, const char *name, int any)
{
    struct stat st;
    size_t n = strlen(folder);
    CK_RETURN_IF(append(p, folder, n && folder[n - 1] == '/' ? "" : "/", name));
    char *path = p->path[p->n - 1];
    int is_file = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (is_file && (any || ck_paths_is_rows(name)))
        return COKE_OK;
    p->left_out += is_file;
    ck_free(path);
    p->n--;
    return COKE_OK;
}

static int expand_folder(struct ck_paths *p, const char *folder, int any)
{
    int64_t first = p->n;
    int rc = COKE_OK;
    DIR *d = opendir(folder);
    if (!d)
        return ck_fail(COKE_EIO, "%s: %s", folder, strerror(errno));
    for (struct dirent *e; (errno = 0, e = readdir(d));)
        if (e->d_name[0] != '.')
            CK_TRY(take_entry(p, folder, e->d_name, any));
    if (errno)
        CK_FAIL(COKE_EIO, "%s: %s", folder, strerror(errno));
    if (p->n == first)
        CK_FAIL(COKE_EFORMAT,
                "%s: no rows in this folder; files of rows end in .npy, .npz, .fvecs, .bvecs, "
                ".fbin, .f16bin, .u8bin, .i8bin, .safetensors or .h5",
                folder);
    sort_from(p, first);
done:
    closedir(d);
    return rc;
}

/* ---- patterns ---- */

/* Appends what matches, each with `array` after it; nothing if nothing matches. */
static int append_matches(struct ck_paths *p, const char *pattern, const char *array)
{
    glob_t found = {0};
    int64_t first = p->n;
    int rc = COKE_OK, failed = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (failed == GLOB_NOSPACE)
        CK_FAIL(COKE_ENOMEM, "%s: out of memory for the files that match", pattern);
    for (size_t i = 0; !failed && i < found.gl_pathc; i++)
        CK_TRY(append(p, found.gl_pathv[i], array, ""));
    sort_from(p, first);
done:
    globfree(&found);
    return rc;
}

/* Also "shards/part-*.h5:/train", whose pattern ends before a colon. A name with nothing but
 * brackets may be meant literally: opening it says that it does not exist. */
static int expand_pattern(struct ck_paths *p, const char *pattern)
{
    int64_t first = p->n;
    int rc = COKE_OK;
    char *copy = ck_strdup(pattern);
    if (!copy)
        return COKE_ENOMEM;
    CK_TRY(append_matches(p, pattern, ""));
    for (char *c = strchr(copy, ':'); c && p->n == first; c = strchr(c + 1, ':')) {
        *c = 0;
        CK_TRY(append_matches(p, copy, pattern + (c - copy)));
        *c = ':';
    }
    if (p->n == first && strpbrk(pattern, "*?"))
        CK_FAIL(COKE_EIO, "%s: no file matches", pattern);
    if (p->n == first)
        CK_TRY(append(p, pattern, "", ""));
done:
    ck_free(copy);
    return rc;
}

int ck_paths_expand(struct ck_paths *out, const char *const *paths, int npaths, int any)
{
    int rc = COKE_OK;
    struct stat st;
    *out = (struct ck_paths){0};
    for (int i = 0; i < npaths; i++) {
        int exists = stat(paths[i], &st) == 0;
        if (exists && S_ISDIR(st.st_mode))
            CK_TRY(expand_folder(out, paths[i], any));
        else if (!exists && strpbrk(paths[i], "*?["))
            CK_TRY(expand_pattern(out, paths[i]));
        else
            CK_TRY(append(out, paths[i], "", ""));
    }
done:
    if (rc)
        ck_paths_release(out);
    return rc;
}

void ck_paths_release(struct ck_paths *p)
{
    for (int64_t i = 0; i < p->n; i++)
        ck_free(p->path[i]);
    ck_free(p->path);
    *p = (struct ck_paths){0};
}

/* ---- arrays within files ---- */

const char *ck_paths_array(const char *path, int *length)
{
    struct stat st;
    char file[4096];
    *length = (int)strlen(path);
    if (stat(path, &st) == 0)
        return NULL;
    for (const char *c = strchr(path, ':'); c; c = strchr(c + 1, ':')) {
        int n = snprintf(file, sizeof file, "%.*s", (int)(c - path), path);
        if (n < (int)sizeof file && stat(file, &st) == 0 && S_ISREG(st.st_mode)) {
            *length = n;
            return c + 1;
        }
    }
    return NULL;
}
