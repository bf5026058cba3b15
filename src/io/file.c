/* file.c - memory-mapped input files, and output files that appear complete or not at all. */
#include "io/file.h"
#include "io/load.h"
#include "io/sums.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes: a writer's buffer, the largest single write(), and names. FD_MAX: finished files without
 * a name stay open below this descriptor; select() and the usual limit end at 1024. */
enum { BUFFER = 256 << 10, WRITE_MAX = 8 << 20, TEMP_NAME = 32, FD_PATH = 32, FD_MAX = 512 };

/* Fault injection for tests; 0 in normal use. Atomic, because writers may run in several
 * threads. */
static _Atomic int fail_countdown;

void ck_file_fail_write_at(int n)
{
    atomic_store(&fail_countdown, n);
}

/* Fails with the system's reason; only a lack of memory is not an I/O error. */
static int fail_errno(const char *path)
{
    int status = errno == ENOMEM ? COKE_ENOMEM : COKE_EIO;
    return ck_fail(status, "%s: %s", path, strerror(errno));
}

/* ---- reading ---- */

static int load_file(struct ck_map *m, int fd, const char *name)
{
    void *p = ck_alloc_array(m->size, 1);
    int rc = p ? ck_load_at(fd, name, 0, p, m->size) : COKE_ENOMEM;
    if (rc) {
        ck_free(p);
        *m = (struct ck_map){0};
        return rc;
    }
    m->data = p;
    m->loaded = 1;
    return COKE_OK;
}

static int map_file(struct ck_map *m, int fd, const char *name)
{
    void *p = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        *m = (struct ck_map){0};
        return fail_errno(name);
    }
    m->data = p;
    return COKE_OK;
}

/* Files of at most `load` bytes are read. */
static int get_file(struct ck_map *m, int fd, const char *name, size_t load)
{
    struct stat st;
    *m = (struct ck_map){0};
    if (fstat(fd, &st))
        return fail_errno(name);
    if (S_ISDIR(st.st_mode))
        return ck_fail(COKE_EIO, "%s: %s", name, strerror(EISDIR));
    if (!S_ISREG(st.st_mode))
        return ck_fail(COKE_EIO, "%s: not a regular file", name);
    if (st.st_size == 0)
        return COKE_OK;
    m->size = (size_t)st.st_size;
    return m->size <= load ? load_file(m, fd, name) : map_file(m, fd, name);
}

static int open_file(struct ck_map *m, const char *path, size_t load)
{
    *m = (struct ck_map){0};
    /* O_NONBLOCK: opening a pipe must not block until it has a writer, only to be refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_errno(path);
    int rc = get_file(m, fd, path, load);
    close(fd);
    if (!rc)
        rc = ck_sums_check(path, m->data, m->size);
    if (rc)
        ck_map_release(m);
    return rc;
}

int ck_map_fd(struct ck_map *m, int fd, const char *name)
{
    return get_file(m, fd, name, CK_LOAD_MOST);
}

int ck_map_open(struct ck_map *m, const char *path)
{
    return open_file(m, path, CK_LOAD_MOST);
}

int ck_map_load(struct ck_map *m, const char *path)
{
    return open_file(m, path, CK_LOAD_MODEL);
}

/* Reads to the end; *size is how much. The caller frees *data, also on failure. */
static int read_pipe(int fd, const char *path, unsigned char **data, size_t *size)
{
    size_t room = 0, got = 0;
    do {
        room = room ? 2 * room : BUFFER;
        if (room > CK_LOAD_MODEL)
            return ck_fail(COKE_EFORMAT, "%s: more than %d bytes; write them to a file", path,
                           CK_LOAD_MODEL);
        unsigned char *more = ck_realloc_array(*data, room, 1);
        if (!more)
            return COKE_ENOMEM;
        *data = more;
        CK_RETURN_IF(ck_fd_read(fd, path, *data + *size, room - *size, &got));
        *size += got;
    } while (*size == room);
    return COKE_OK;
}

int ck_map_load_any(struct ck_map *m, const char *path)
{
    struct stat st;
    unsigned char *data = NULL;
    size_t size = 0;
    if (stat(path, &st) || !S_ISFIFO(st.st_mode))
        return ck_map_load(m, path);
    *m = (struct ck_map){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? fail_errno(path) : read_pipe(fd, path, &data, &size);
    if (fd >= 0)
        close(fd);
    if (rc || size == 0)
        ck_free(data);
    else
        *m = (struct ck_map){.data = data, .size = size, .loaded = 1};
    return rc;
}

void ck_map_release(struct ck_map *m)
{
    void *p = (void *)(uintptr_t)m->data;
    if (m->loaded)
        ck_free(p);
    else if (p)
        munmap(p, m->size);
    *m = (struct ck_map){0};
}

int ck_fd_read(int fd, const char *name, void *out, size_t n, size_t *got)
{
    *got = 0;
    while (*got < n) {
        ssize_t r = read(fd, (char *)out + *got, n - *got);
        if (r == 0)
            break;
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return fail_errno(name);
        *got += (size_t)r;
    }
    return COKE_OK;
}

/* ---- writing ---- */

/* One write() of at most WRITE_MAX bytes; the single place where tests inject a full disk. */
static ssize_t write_some(int fd, const void *data, size_t n)
{
    if (atomic_load(&fail_countdown) > 0 && atomic_fetch_sub(&fail_countdown, 1) == 1) {
        errno = ENOSPC;
        return -1;
    }
    return write(fd, data, n < WRITE_MAX ? n : WRITE_MAX);
}

int ck_fd_write(int fd, const char *name, const void *data, size_t n)
{
    const char *p = data;
    while (n) {
        ssize_t r = write_some(fd, p, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return fail_errno(name);
        p += r;
        n -= (size_t)r;
    }
    return COKE_OK;
}

static int fail_link(const char *path)
{
    return ck_fail(COKE_EUSAGE,
                   "%s is a symbolic link, which is not written through; put a file in its "
                   "place or choose another folder",
                   path);
}

int ck_file_open_inside(const char *path, int more, int *fd)
{
    struct stat st;
    /* O_NONBLOCK: opening a pipe must not wait for its reader, only to be refused. */
    *fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | more, 0666);
    if (*fd < 0)
        return errno == ELOOP ? fail_link(path) : fail_errno(path);
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return COKE_OK;
    close(*fd);
    *fd = -1;
    return ck_fail(COKE_EIO, "%s: not a regular file", path);
}

static int fail_exists(const char *path)
{
    return ck_fail(COKE_EUSAGE, "%s exists; set force to overwrite it", path);
}

/* /dev/stdout means the descriptor we have: opening it again would start at the beginning of a
 * file that others append to. */
static int is_stdout(const char *path)
{
    return strcmp(path, "/dev/stdout") == 0;
}

/* *direct: a device or pipe, which is written in place because it cannot be replaced by a
 * rename. */
static int check_target(const char *path, int force, int *direct)
{
    struct stat st;
    *direct = is_stdout(path);
    if (*direct)
        return COKE_OK;
    if (force == CK_FORCE_INSIDE && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return fail_link(path);
    if (stat(path, &st)) {
        if (errno != ENOENT)
            return fail_errno(path);
        /* A dangling link exists, too. */
        return !force && lstat(path, &st) == 0 ? fail_exists(path) : COKE_OK;
    }
    *direct = S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode);
    if (*direct)
        return COKE_OK;
    if (S_ISDIR(st.st_mode))
        return ck_fail(COKE_EIO, "%s: %s", path, strerror(EISDIR));
    if (!S_ISREG(st.st_mode))
        return ck_fail(COKE_EIO, "%s: neither a regular file nor a pipe", path);
    return force ? COKE_OK : fail_exists(path);
}

int ck_file_check_target(const char *path, int force)
{
    int direct;
    return check_target(path, force, &direct);
}

static int open_direct(struct ck_writer *w)
{
    w->fd = is_stdout(w->path) ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                               : open(w->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return w->fd < 0 ? fail_errno(w->path) : COKE_OK;
}

/* Returns the directory part of path with room for a name of `extra` bytes, owned by the
 * caller; *dir_len includes the slash. */
static char *beside(const char *path, size_t extra, size_t *dir_len)
{
    const char *slash = strrchr(path, '/');
    *dir_len = slash ? (size_t)(slash - path) + 1 : 0;
    char *p = ck_alloc_array(*dir_len + extra, 1);
    if (p)
        memcpy(p, path, *dir_len);
    return p;
}

/* linkat() gives a name to a descriptor only under this path. */
static void fd_path(int fd, char out[FD_PATH])
{
    snprintf(out, FD_PATH, "/proc/self/fd/%d", fd);
}

/* Calls make with random names beside the target until one is free; w->temp is the name. Beside
 * it, so that the rename stays within a file system; random, to keep parallel writers apart: 100
 * collisions in a row do not happen. */
static int make_temp(struct ck_writer *w, int (*make)(struct ck_writer *w, const char *temp))
{
    size_t dir;
    char *temp = beside(w->target, TEMP_NAME, &dir);
    if (!temp)
        return COKE_ENOMEM;
    for (int tries = 0; tries < 100; tries++) {
        uint64_t word;
        if (getrandom(&word, sizeof word, 0) != (ssize_t)sizeof word)
            break;
        snprintf(temp + dir, TEMP_NAME, ".coke-%016llx.tmp", (unsigned long long)word);
        if (make(w, temp) == 0) {
            w->temp = temp;
            return COKE_OK;
        }
        if (errno != EEXIST)
            break;
    }
    int rc = fail_errno(w->path);
    ck_free(temp);
    return rc;
}

static int create(struct ck_writer *w, const char *temp)
{
    w->fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return w->fd < 0 ? -1 : 0;
}

/* Names the unnamed file; fails if the name is taken. */
static int give_name(struct ck_writer *w, const char *name)
{
    char from[FD_PATH];
    fd_path(w->fd, from);
    return linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int open_temp(struct ck_writer *w)
{
    char path[FD_PATH];
    w->fd = open(w->directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (w->fd < 0)
        return make_temp(w, create);
    fd_path(w->fd, path);
    w->unnamed = 1;
    if (access(path, F_OK) == 0)
        return COKE_OK;
    close(w->fd); /* no /proc here */
    w->unnamed = 0;
    return make_temp(w, create);
}

/* Overwrites the file that a link points to, not the link; the new file keeps the permissions. */
static int open_replacement(struct ck_writer *w)
{
    char resolved[PATH_MAX];
    struct stat st;
    int exists = stat(w->path, &st) == 0;
    int follows = exists && w->force != CK_FORCE_INSIDE;
    w->target = ck_strdup(follows && realpath(w->path, resolved) ? resolved : w->path);
    if (!w->target)
        return COKE_ENOMEM;
    /* allocated now, so that nothing can fail for lack of memory after the rename */
    size_t len;
    w->directory = beside(w->target, 2, &len);
    if (!w->directory)
        return COKE_ENOMEM;
    memcpy(w->directory + len, ".", 2);
    int rc = open_temp(w);
    if (rc == COKE_OK && exists && fchmod(w->fd, st.st_mode & 0777))
        rc = fail_errno(w->path);
    return rc;
}

int ck_writer_open(struct ck_writer *w, const char *path, int force)
{
    int rc = COKE_OK, direct;
    *w = (struct ck_writer){.fd = -1, .force = force};
    CK_TRY(check_target(path, force, &direct));
    w->path = ck_strdup(path);
    w->buffer = w->path ? ck_alloc_array(BUFFER, 1) : NULL;
    w->hash = w->buffer ? ck_hash_stream_new() : NULL;
    if (!w->hash)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(direct ? open_direct(w) : open_replacement(w));
done:
    if (rc)
        ck_writer_abort(w);
    return rc;
}

static int flush(struct ck_writer *w)
{
    size_t n = w->used;
    w->used = 0;
    return ck_fd_write(w->fd, w->path, w->buffer, n);
}

int ck_writer_write(struct ck_writer *w, const void *data, size_t n)
{
    ck_hash_stream_add(w->hash, data, n);
    if (w->used + n > BUFFER) {
        int rc = flush(w);
        if (rc)
            return rc;
    }
    if (n > BUFFER)
        return ck_fd_write(w->fd, w->path, data, n);
    if (n)
        memcpy(w->buffer + w->used, data, n);
    w->used += n;
    return COKE_OK;
}

int ck_writer_sync(struct ck_writer *w)
{
    int rc = flush(w);
    if (rc)
        return rc;
    /* Terminals and pipes have no disk behind them: EINVAL. */
    if (fsync(w->fd) && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
        return fail_errno(w->path);
    return COKE_OK;
}

/* Renames without overwriting. Falls back to a hard link, then to a check before the rename,
 * because not every file system supports RENAME_NOREPLACE or links; only the last is racy. */
static int rename_noreplace(const char *from, const char *to)
{
    struct stat st;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
        return -1;
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno == EEXIST)
        return -1;
    if (lstat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

/* The new name survives a power failure only once the directory is on disk. */
static int sync_directory(const struct ck_writer *w)
{
    int rc = COKE_OK, fd = open(w->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fsync(fd) && errno != EINVAL && errno != ENOTSUP)
        rc = fail_errno(w->path);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int name_unnamed(struct ck_writer *w)
{
    CK_RETURN_IF(make_temp(w, give_name));
    w->unnamed = 0;
    return COKE_OK;
}

/* Gives the file its final name. Without force, a file that appeared at the target since
 * ck_writer_open is an error and stays untouched. rename() replaces a file, linkat() does not:
 * to overwrite, the file gets a name in between. */
static int take_name(struct ck_writer *w)
{
    int failed;
    if (w->unnamed && w->force)
        CK_RETURN_IF(name_unnamed(w));
    if (w->unnamed)
        failed = give_name(w, w->target);
    else
        failed = w->force ? rename(w->temp, w->target) : rename_noreplace(w->temp, w->target);
    if (failed)
        return errno == EEXIST ? fail_exists(w->path) : fail_errno(w->path);
    ck_free(w->temp);
    w->temp = NULL;
    return COKE_OK;
}

static int publish(struct ck_writer *w)
{
    CK_RETURN_IF(take_name(w));
    return sync_directory(w);
}

static int close_file(struct ck_writer *w)
{
    int fd = w->fd;
    w->fd = -1;
    /* NFS reports a full disk at close. */
    if (close(fd))
        return ck_fail(COKE_EIO, "%s: %s", w->path, strerror(errno));
    return COKE_OK;
}

int ck_writer_finish(struct ck_writer *w)
{
    CK_RETURN_IF(ck_writer_sync(w));
    ck_free(w->buffer);
    w->buffer = NULL;
    if (w->unnamed && w->fd < FD_MAX)
        return COKE_OK;
    if (w->unnamed)
        CK_RETURN_IF(name_unnamed(w));
    return close_file(w);
}

int ck_writer_commit(struct ck_writer *w)
{
    int rc = COKE_OK;
    if (w->buffer)
        CK_TRY(ck_writer_finish(w));
    if (w->target)
        CK_TRY(publish(w));
done:
    if (rc == COKE_OK)
        ck_writer_abort(w);
    return rc;
}

int ck_file_put_new(const char *path, const void *bytes, size_t size)
{
    int rc = COKE_OK;
    struct ck_writer w;
    CK_TRY(ck_writer_open(&w, path, 0));
    CK_TRY(ck_fd_write(w.fd, path, bytes, size));
    if (!w.unnamed)
        CK_TRY(close_file(&w));
    if (w.target)
        CK_TRY(take_name(&w));
done:
    ck_writer_abort(&w);
    return rc;
}

void ck_writer_abort(struct ck_writer *w)
{
    if (!w->path)
        return;
    if (w->fd >= 0)
        close(w->fd);
    if (w->temp)
        unlink(w->temp);
    ck_free(w->path);
    ck_free(w->target);
    ck_free(w->directory);
    ck_free(w->temp);
    ck_free(w->buffer);
    ck_hash_stream_free(w->hash);
    *w = (struct ck_writer){0};
}

int ck_file_write(const char *path, const void *bytes, size_t size, int force)
{
    struct ck_writer w = {0};
    int rc = COKE_OK;
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_writer_write(&w, bytes, size));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}
