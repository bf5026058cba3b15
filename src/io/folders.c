/* folders.c - makes a folder with the folders above it, and takes them back after a failure. */
#include "io/folders.h"
#include "core/error.h"
#include "core/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The length of path without its last name and the slashes before that; 0 = nothing is above. */
static size_t parent_length(const char *path, size_t n)
{
    while (n > 0 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

/* part [n + 1]: the path as far as it is to exist, cut and restored while the folders above are
 * made. */
static int make(char *part, size_t n, int *made)
{
    if (mkdir(part, 0777) == 0) {
        ++*made;
        return COKE_OK;
    }
    size_t above = parent_length(part, n);
    if (errno == EEXIST)
        return COKE_OK;
    if (errno != ENOENT || above == 0)
        return ck_fail(COKE_EIO, "%s: %s", part, strerror(errno));
    char cut = part[above];
    part[above] = 0;
    int rc = make(part, above, made);
    part[above] = cut;
    if (rc)
        return rc;
    int fresh = mkdir(part, 0777) == 0, why = errno;
    *made += fresh;
    if (fresh || why == EEXIST) /* "a/." is there as soon as "a" is */
        return COKE_OK;
    part[above] = 0;
    ck_folders_remove(part, *made);
    part[above] = cut;
    *made = 0;
    return ck_fail(COKE_EIO, "%s: %s", part, strerror(why));
}

int ck_folders_make(const char *path, int *made)
{
    *made = 0;
    char *part = ck_strdup(path);
    if (!part)
        return COKE_ENOMEM;
    int rc = make(part, strlen(part), made);
    ck_free(part);
    return rc;
}

void ck_folders_remove(const char *path, int made)
{
    char *part = made ? ck_strdup(path) : NULL;
    for (size_t n = part ? strlen(part) : 0; part && made > 0 && n > 0; made--) {
        rmdir(part);
        n = parent_length(part, n);
        part[n] = 0;
    }
    ck_free(part);
}
