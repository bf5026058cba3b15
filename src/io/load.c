/* load.c - reads whole files or parts of them with read() instead of mapping them. */
#include "io/load.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_errno(const char *path)
{
    return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
}

/* O_NONBLOCK: opening a FIFO must not hang before it is refused. */
int ck_load_open(const char *path, int *fd, int64_t *size)
{
    struct stat st;
    int rc = COKE_OK;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return fail_errno(path);
    if (fstat(*fd, &st))
        rc = fail_errno(path);
    else if (!S_ISREG(st.st_mode))
        rc = ck_fail(COKE_EIO, "%s: %s", path,
                     S_ISDIR(st.st_mode) ? strerror(EISDIR) : "not a regular file");
    if (rc) {
        close(*fd);
        *fd = -1;
        return rc;
    }
    *size = (int64_t)st.st_size;
    return COKE_OK;
}

/* pread does not move the file offset, so threads can share fd. */
int ck_load_at(int fd, const char *name, int64_t offset, void *out, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t r = pread(fd, (char *)out + got, n - got, (off_t)offset + (off_t)got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return fail_errno(name);
        if (r == 0)
            return ck_fail(COKE_EIO,
                           "%s: truncated at byte %lld: the file changed while "
                           "it was being read",
                           name, (long long)offset + (long long)got);
        got += (size_t)r;
    }
    return COKE_OK;
}

int ck_load_sample(int fd, const char *name, int64_t size, uint64_t *hash)
{
    enum { BLOCK = 1 << 14, BLOCKS = 16 };
    int64_t all = (size + BLOCK - 1) / BLOCK, n = all < BLOCKS ? all : BLOCKS;
    int rc = COKE_OK;
    unsigned char *block = ck_alloc_array(BLOCK, 1);
    if (!block)
        return COKE_ENOMEM;
    *hash = ck_hash(&size, sizeof size, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = ck_sample_at(all, n, i) * BLOCK;
        size_t length = (size_t)(size - at < BLOCK ? size - at : BLOCK);
        CK_TRY(ck_load_at(fd, name, at, block, length));
        *hash = ck_hash(block, length, *hash);
    }
done:
    ck_free(block);
    return rc;
}

/* Does not keep the contents. */
int ck_load_reserve(unsigned char **buffer, size_t *capacity, size_t n)
{
    if (n < *capacity)
        return COKE_OK;
    size_t room = n + n / 4 + 4096; /* cannot overflow: n is the size of a file */
    ck_free(*buffer);
    *capacity = 0;
    *buffer = ck_alloc_array(room, 1);
    if (!*buffer)
        return COKE_ENOMEM;
    *capacity = room;
    return COKE_OK;
}

int ck_load_file(const char *path, int64_t max, unsigned char **buffer, size_t *capacity,
                 size_t *size)
{
    int fd = -1;
    int64_t length = 0;
    int rc = ck_load_open(path, &fd, &length);
    if (rc)
        return rc;
    if (length > max)
        CK_FAIL(COKE_EFORMAT, "%s: %lld bytes; the limit is %lld", path, (long long)length,
                (long long)max);
    CK_TRY(ck_load_reserve(buffer, capacity, (size_t)length));
    CK_TRY(ck_load_at(fd, path, 0, *buffer, (size_t)length));
    *size = (size_t)length;
done:
    close(fd);
    return rc;
}
