/* spool.c - temporary files for rows that cannot be read where they are. */
#include "io/spool.h"
#include "io/npy.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

/* Creates a file without a name. Falls back to a name that is removed at once where O_TMPFILE
 * is not supported. */
static int open_unnamed(const char *dir, int *fd)
{
    *fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0)
        return COKE_OK;
    size_t n = strlen(dir) + 32;
    char *path = ck_alloc_array(n, 1);
    if (!path)
        return COKE_ENOMEM;
    snprintf(path, n, "%s/.coke-spool-XXXXXX", dir);
    *fd = mkostemp(path, O_CLOEXEC);
    int rc = *fd < 0 ? ck_fail(COKE_EIO, "%s: %s", dir, strerror(errno)) : COKE_OK;
    if (*fd >= 0)
        unlink(path);
    ck_free(path);
    return rc;
}

int ck_spool_open(struct ck_spool *s, const char *dir)
{
    const char *env = getenv("TMPDIR");
    if (!dir || !dir[0])
        dir = env && env[0] ? env : "/tmp";
    *s = (struct ck_spool){.dir = dir, .fd = -1};
    CK_RETURN_IF(open_unnamed(dir, &s->fd));
    s->is_open = 1;
    return COKE_OK;
}

int ck_spool_room(const struct ck_spool *s, const char *name, int64_t bytes)
{
    struct statvfs disk;
    if (fstatvfs(s->fd, &disk) != 0)
        return COKE_OK; /* then writing decides */
    double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    if ((double)bytes <= free_bytes)
        return COKE_OK;
    return ck_fail(COKE_EIO,
                   "%s: %.1f GB would have to be spooled to %s, which has %.1f GB left; set "
                   "spool or TMPDIR to a larger disk, or convert it to .npy",
                   name, (double)bytes / 1e9, s->dir, free_bytes / 1e9);
}

int ck_spool_write(struct ck_spool *s, const void *data, size_t n)
{
    return ck_fd_write(s->fd, s->dir, data, n);
}

int ck_spool_map(struct ck_spool *s, struct ck_map *out, struct ck_spooled *all,
                 const char *name, const char *reason)
{
    CK_RETURN_IF(ck_map_fd(out, s->fd, name));
    all->files++;
    all->bytes += (int64_t)out->size;
    if (all->files == 1)
        ck_format(all->note, sizeof all->note,
                  "%.200s: %.1f MB spooled to a temporary file in %.200s, because %s", name,
                  (double)all->bytes / 1e6, s->dir, reason);
    else
        ck_format(all->note, sizeof all->note,
                  "%d times %.1f MB in total spooled to temporary files in %.200s, the last "
                  "time for %.200s, because %s",
                  all->files, (double)all->bytes / 1e6, s->dir, name, reason);
    return COKE_OK;
}

void ck_spool_close(struct ck_spool *s)
{
    if (s->is_open)
        close(s->fd);
    *s = (struct ck_spool){0};
}

int ck_spool_expect_end(int fd, const char *name, long long promised)
{
    char one;
    size_t got;
    int rc = ck_fd_read(fd, name, &one, 1, &got);
    if (rc == COKE_OK && got)
        rc = ck_fail(COKE_EFORMAT, "%s: more data after the %lld bytes that the header says",
                     name, promised);
    return rc;
}

/* Copies up to `most` bytes, in chunks; *got is how many there were. */
static int copy(int from, const char *name, struct ck_spool *to, int64_t most, int64_t *got)
{
    int rc = COKE_OK;
    size_t n = CHUNK;
    *got = 0;
    unsigned char *chunk = ck_alloc_array(CHUNK, 1);
    if (!chunk)
        return COKE_ENOMEM;
    while (n == CHUNK && *got < most) {
        size_t want = most - *got < CHUNK ? (size_t)(most - *got) : CHUNK;
        CK_TRY(ck_fd_read(from, name, chunk, want, &n));
        *got += (int64_t)n;
        CK_TRY(ck_spool_write(to, chunk, n));
    }
done:
    ck_free(chunk);
    return rc;
}

static const char pipe_reason[] = "it must be read more than once";

int ck_spool_npy(struct ck_map *out, int fd, const char *name, struct ck_spooled *all)
{
    struct ck_npy a;
    struct ck_spool spool = {0};
    unsigned char *head = NULL;
    int64_t got;
    int rc = COKE_OK;
    *out = (struct ck_map){0};
    CK_TRY(ck_npy_read_header(&a, name, fd, &head));
    CK_TRY(ck_spool_open(&spool, all->dir));
    CK_TRY(ck_spool_write(&spool, head, a.offset));
    CK_TRY(copy(fd, name, &spool, a.bytes, &got));
    if (got < a.bytes)
        CK_TRY(ck_npy_fail_size(&a, name, got));
    CK_TRY(ck_spool_expect_end(fd, name, (long long)a.bytes));
    CK_TRY(ck_spool_map(&spool, out, all, name, pipe_reason));
done:
    ck_spool_close(&spool);
    ck_free(head);
    return rc;
}

int ck_spool_rest(struct ck_map *out, int fd, const char *name, struct ck_spooled *all)
{
    struct ck_spool spool = {0};
    int64_t got;
    int rc = COKE_OK;
    *out = (struct ck_map){0};
    CK_TRY(ck_spool_open(&spool, all->dir));
    CK_TRY(copy(fd, name, &spool, INT64_MAX, &got));
    CK_TRY(ck_spool_map(&spool, out, all, name, pipe_reason));
done:
    ck_spool_close(&spool);
    return rc;
}
