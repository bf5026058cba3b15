/* spool.c - copies a .npy from a pipe to a temporary file, so that it can be read more than
 * once. */
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
#include <unistd.h>

enum { CHUNK = 1 << 20 };

static const char *spool_dir(const char *dir)
{
    if (dir && dir[0])
        return dir;
    dir = getenv("TMPDIR");
    return dir && dir[0] ? dir : "/tmp";
}

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

static int copy(int from, const char *name, int to, const char *dir, const struct ck_npy *a)
{
    int rc = COKE_OK;
    int64_t done_bytes = 0;
    unsigned char *chunk = ck_alloc_array(CHUNK, 1);
    if (!chunk)
        return COKE_ENOMEM;
    while (done_bytes < a->bytes) {
        int64_t left = a->bytes - done_bytes;
        size_t got, want = left < CHUNK ? (size_t)left : CHUNK;
        CK_TRY(ck_fd_read(from, name, chunk, want, &got));
        done_bytes += (int64_t)got;
        if (got < want)
            CK_TRY(ck_npy_fail_size(a, name, done_bytes));
        CK_TRY(ck_fd_write(to, dir, chunk, got));
    }
done:
    ck_free(chunk);
    return rc;
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

int ck_spool_npy(struct ck_map *out, int fd, const char *name, const char *dir, char *note,
                 size_t size)
{
    struct ck_npy a;
    unsigned char *head = NULL;
    int rc = COKE_OK, temp = -1;
    dir = spool_dir(dir);
    *out = (struct ck_map){0};
    CK_TRY(ck_npy_read_header(&a, name, fd, &head));
    CK_TRY(open_unnamed(dir, &temp));
    CK_TRY(ck_fd_write(temp, dir, head, a.offset));
    CK_TRY(copy(fd, name, temp, dir, &a));
    CK_TRY(ck_spool_expect_end(fd, name, (long long)a.bytes));
    CK_TRY(ck_map_fd(out, temp, name));
    ck_format(note, size,
              "%s: %.1f MB spooled to a temporary file in %s, because it must be read more "
              "than once",
              name, (double)out->size / 1e6, dir);
done:
    if (temp >= 0)
        close(temp);
    ck_free(head);
    return rc;
}
