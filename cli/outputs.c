/* outputs.c - checks before the work whether files can be written afterwards. */
#include "outputs.h"
#include "talk.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_errno(const char *path)
{
    return talk_fail(COKE_EIO, "%s: %s", path, strerror(errno));
}

/* Can an entry be created in the folder of path? Needs write and search permission. */
static int check_parent(const char *path)
{
    char dir[PATH_MAX];
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len >= sizeof dir)
        return talk_fail(COKE_EUSAGE, "%.60s...: the name is too long", path);
    snprintf(dir, sizeof dir, "%.*s", (int)len, len ? path : "");
    const char *shown = len ? dir : ".";
    return access(shown, W_OK | X_OK) ? fail_errno(shown) : COKE_OK;
}

/* Can dir be created, with the folders above it? Asks the nearest one that exists. */
static int check_above(const char *dir)
{
    char part[PATH_MAX];
    struct stat st;
    size_t n = strlen(dir);
    if (n >= sizeof part)
        return talk_fail(COKE_EUSAGE, "%.60s...: the name is too long", dir);
    memcpy(part, dir, n + 1);
    for (;;) {
        while (n > 0 && part[n - 1] == '/')
            n--;
        size_t name = n;
        while (n > 0 && part[n - 1] != '/')
            n--;
        part[n] = 0;
        if (n == 0 || name == 0 || stat(part, &st) == 0 || errno != ENOENT)
            break;
    }
    const char *shown = n ? part : ".";
    return access(shown, W_OK | X_OK) ? fail_errno(shown) : COKE_OK;
}

/* lstat first: a dangling link exists and needs force, but stat would not find it. */
int outputs_check_file(const char *path, int force)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return talk_fail(COKE_EUSAGE, "'-' is standard input; /dev/stdout is standard output");
    if (lstat(path, &st))
        return errno == ENOENT ? check_parent(path) : fail_errno(path);
    if (stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)))
        return COKE_OK;
    if (S_ISDIR(st.st_mode))
        return talk_fail(COKE_EIO, "%s: %s", path, strerror(EISDIR));
    if (!force)
        return talk_fail(COKE_EUSAGE, "%s exists; --force overwrites it", path);
    return check_parent(path);
}

/* Failures above are found again at the last folder, whose sentence names the whole path. */
int outputs_make_dir(const char *dir)
{
    char part[PATH_MAX];
    size_t n = strlen(dir);
    if (n >= sizeof part)
        return talk_fail(COKE_EUSAGE, "%.60s...: the name is too long", dir);
    for (size_t i = 1; i < n; i++)
        if (dir[i] == '/') {
            snprintf(part, sizeof part, "%.*s", (int)i, dir);
            mkdir(part, 0777);
        }
    return mkdir(dir, 0777) && errno != EEXIST ? fail_errno(dir) : COKE_OK;
}

FILE *outputs_words(const char *path)
{
    return strcmp(path, "/dev/stdout") == 0 ? stderr : stdout;
}

/* The library refuses links with these names, too, but only after the work. */
static int check_inside(const char *dir, const char *name, int force)
{
    char path[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path)
        return talk_fail(COKE_EUSAGE, "%.60s...: the name is too long", dir);
    if (force && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return talk_fail(COKE_EUSAGE, "%s is a symbolic link, which is not written through",
                         path);
    return outputs_check_file(path, force);
}

/* The names must match those of store/result_files.c. */
static int check_head(const char *dir, const int32_t *k, int heads, int h, int force)
{
    static const char *const file[][2] = {
        {"labels", ".npy"}, {"centers", ".npy"}, {"model", ".safetensors"}};
    char name[64];
    int rc = COKE_OK;
    for (int i = 0; i < 3 && !rc; i++) {
        if (heads > 1)
            snprintf(name, sizeof name, "%s-h%d-k%d%s", file[i][0], h, k[h], file[i][1]);
        else
            snprintf(name, sizeof name, "%s%s", file[i][0], file[i][1]);
        rc = check_inside(dir, name, force);
    }
    return rc;
}

/* A missing folder is created by the writer; an existing one may hold other files. */
int outputs_check_dir(const char *dir, const int32_t *k, int heads, int force)
{
    struct stat st;
    if (stat(dir, &st))
        return errno == ENOENT ? check_above(dir) : fail_errno(dir);
    if (!S_ISDIR(st.st_mode))
        return talk_fail(COKE_EIO, "%s: %s", dir, strerror(ENOTDIR));
    int rc = COKE_OK;
    for (int h = 0; h < heads && !rc; h++)
        rc = check_head(dir, k, heads, h, force);
    return rc ? rc : check_inside(dir, "summary.json", force);
}
