/* fault.c - makes the n-th system call or allocation of libcoke fail, for the campaign, which
 * checks that none of them is imported under a name that is missing here.
 *
 * Loaded with LD_PRELOAD. COKE_FAULT=write:17 makes the 17th write of the process fail; `count`
 * makes none fail. COKE_FAULT_COUNTS names a file that holds the counts, one 64-bit integer per
 * kind in the order below. Only calls from libcoke and the program count: the C library, OpenMP and
 * oneDNN are not under test. A program that loads libcoke later calls coke_fault_again. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { READ, WRITE, FSYNC, RENAME, MMAP, ALLOC, OPEN, STAT, FOLDER, THREAD, KINDS };
static const char *const names[KINDS] = {"read",  "write", "fsync", "rename", "mmap",
                                         "alloc", "open",  "stat",  "folder", "thread"};
static const int errors[KINDS] = {EIO,    ENOSPC, EIO, EIO, ENOMEM,
                                  ENOMEM, EMFILE, EIO, EIO, EAGAIN};

static atomic_long own_calls[KINDS];
static atomic_long *calls = own_calls; /* or in the file of counts */
static enum kind failing = KINDS;
static long failing_call;

/* Addresses of libcoke and of the program itself. */
static struct {
    uintptr_t from, to;
} own[64];
static int nown;

static int add_object(struct dl_phdr_info *info, size_t size, void *without_program)
{
    const char *base = strrchr(info->dlpi_name, '/');
    (void)size;
    if (!info->dlpi_name[0] && without_program)
        return 0;
    if (info->dlpi_name[0] && strncmp(base ? base + 1 : info->dlpi_name, "libcoke", 7) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum && nown < 64; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        own[nown].from = (uintptr_t)(info->dlpi_addr + p->p_vaddr);
        own[nown++].to = (uintptr_t)(info->dlpi_addr + p->p_vaddr + p->p_memsz);
    }
    return 0;
}

/* A mapped file needs no orderly end of the process. */
static void map_counts(const char *path)
{
    int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd < 0 || ftruncate(fd, sizeof own_calls))
        return;
    void *p = mmap(NULL, sizeof own_calls, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED)
        calls = p;
    close(fd);
}

void coke_fault_again(const char *what, long before[]);

static void choose(const char *what)
{
    failing = KINDS;
    for (int k = 0; what && k < KINDS; k++) {
        size_t n = strlen(names[k]);
        if (strncmp(what, names[k], n) == 0 && what[n] == ':') {
            failing = (enum kind)k;
            failing_call = atol(what + n + 1);
        }
    }
}

__attribute__((constructor)) static void begin(void)
{
    choose(getenv("COKE_FAULT"));
    map_counts(getenv("COKE_FAULT_COUNTS"));
    dl_iterate_phdr(add_object, NULL);
}

/* Begins anew with the calls of libcoke alone, and lets one fail as `what` says. Stores the numbers
 * of the calls until now, one per kind. */
void coke_fault_again(const char *what, long before[])
{
    for (int k = 0; k < KINDS; k++)
        before[k] = atomic_exchange(&calls[k], 0);
    nown = 0;
    dl_iterate_phdr(add_object, &nown);
    choose(what);
}

static int fails(enum kind k, void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    for (int i = 0; i < nown; i++)
        if (at >= own[i].from && at < own[i].to) {
            if (atomic_fetch_add(&calls[k], 1) + 1 != failing_call || k != failing)
                return 0;
            errno = errors[k];
            return 1;
        }
    return 0;
}

#define CALLER __builtin_return_address(0)
/* Declares next_, the definition that this one hides. */
#define NEXT(name)                                                                             \
    static __typeof__(&name) next_;                                                            \
    if (!next_)                                                                                \
    *(void **)&next_ = dlsym(RTLD_NEXT, #name)

ssize_t read(int fd, void *to, size_t n)
{
    NEXT(read);
    return fails(READ, CALLER) ? -1 : next_(fd, to, n);
}

ssize_t write(int fd, const void *from, size_t n)
{
    NEXT(write);
    return fd > 2 && fails(WRITE, CALLER) ? -1 : next_(fd, from, n);
}

int fsync(int fd)
{
    NEXT(fsync);
    return fails(FSYNC, CALLER) ? -1 : next_(fd);
}

int rename(const char *from, const char *to)
{
    NEXT(rename);
    return fails(RENAME, CALLER) ? -1 : next_(from, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    NEXT(renameat2);
    return fails(RENAME, CALLER) ? -1 : next_(a, from, b, to, flags);
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
    NEXT(linkat);
    return fails(RENAME, CALLER) ? -1 : next_(a, from, b, to, flags);
}

int link(const char *from, const char *to)
{
    NEXT(link);
    return fails(RENAME, CALLER) ? -1 : next_(from, to);
}

int symlink(const char *from, const char *to)
{
    NEXT(symlink);
    return fails(RENAME, CALLER) ? -1 : next_(from, to);
}

int access(const char *path, int how)
{
    NEXT(access);
    return fails(STAT, CALLER) ? -1 : next_(path, how);
}

int mkdir(const char *path, mode_t mode)
{
    NEXT(mkdir);
    return fails(FOLDER, CALLER) ? -1 : next_(path, mode);
}

DIR *opendir(const char *path)
{
    NEXT(opendir);
    return fails(FOLDER, CALLER) ? NULL : next_(path);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*fn)(void *), void *arg)
{
    NEXT(pthread_create);
    return fails(THREAD, CALLER) ? errors[THREAD] : next_(thread, how, fn, arg);
}

/* The third argument of open(), if there is one. */
#define MODE(flags, mode)                                                                      \
    int mode = 0;                                                                              \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                     \
        va_list args;                                                                          \
        va_start(args, flags);                                                                 \
        mode = va_arg(args, int);                                                              \
        va_end(args);                                                                          \
    }

/* Calls with an offset or a file size have a second name, which programs built with
 * _FILE_OFFSET_BITS=64 use. */
#define WITH_OFFSETS(end)                                                                      \
    ssize_t pread##end(int fd, void *to, size_t n, off##end##_t at)                            \
    {                                                                                          \
        NEXT(pread##end);                                                                      \
        return fails(READ, CALLER) ? -1 : next_(fd, to, n, at);                                \
    }                                                                                          \
    ssize_t pwrite##end(int fd, const void *from, size_t n, off##end##_t at)                   \
    {                                                                                          \
        NEXT(pwrite##end);                                                                     \
        return fails(WRITE, CALLER) ? -1 : next_(fd, from, n, at);                             \
    }                                                                                          \
    int ftruncate##end(int fd, off##end##_t n)                                                 \
    {                                                                                          \
        NEXT(ftruncate##end);                                                                  \
        return fails(WRITE, CALLER) ? -1 : next_(fd, n);                                       \
    }                                                                                          \
    void *mmap##end(void *at, size_t n, int protection, int flags, int fd, off##end##_t from)  \
    {                                                                                          \
        NEXT(mmap##end);                                                                       \
        return fails(MMAP, CALLER) ? MAP_FAILED : next_(at, n, protection, flags, fd, from);   \
    }                                                                                          \
    int open##end(const char *path, int flags, ...)                                            \
    {                                                                                          \
        NEXT(open##end);                                                                       \
        MODE(flags, mode)                                                                      \
        return fails(OPEN, CALLER) ? -1 : next_(path, flags, mode);                            \
    }                                                                                          \
    int openat##end(int dir, const char *path, int flags, ...)                                 \
    {                                                                                          \
        NEXT(openat##end);                                                                     \
        MODE(flags, mode)                                                                      \
        return fails(OPEN, CALLER) ? -1 : next_(dir, path, flags, mode);                       \
    }                                                                                          \
    FILE *fopen##end(const char *path, const char *mode)                                       \
    {                                                                                          \
        NEXT(fopen##end);                                                                      \
        return fails(OPEN, CALLER) ? NULL : next_(path, mode);                                 \
    }                                                                                          \
    int mkostemp##end(char *path, int flags)                                                   \
    {                                                                                          \
        NEXT(mkostemp##end);                                                                   \
        return fails(OPEN, CALLER) ? -1 : next_(path, flags);                                  \
    }                                                                                          \
    int stat##end(const char *path, struct stat##end *st)                                      \
    {                                                                                          \
        NEXT(stat##end);                                                                       \
        return fails(STAT, CALLER) ? -1 : next_(path, st);                                     \
    }                                                                                          \
    int lstat##end(const char *path, struct stat##end *st)                                     \
    {                                                                                          \
        NEXT(lstat##end);                                                                      \
        return fails(STAT, CALLER) ? -1 : next_(path, st);                                     \
    }                                                                                          \
    int fstat##end(int fd, struct stat##end *st)                                               \
    {                                                                                          \
        NEXT(fstat##end);                                                                      \
        return fails(STAT, CALLER) ? -1 : next_(fd, st);                                       \
    }                                                                                          \
    int fstatat##end(int dir, const char *path, struct stat##end *st, int flags)               \
    {                                                                                          \
        NEXT(fstatat##end);                                                                    \
        return fails(STAT, CALLER) ? -1 : next_(dir, path, st, flags);                         \
    }                                                                                          \
    struct dirent##end *readdir##end(DIR *dir)                                                 \
    {                                                                                          \
        NEXT(readdir##end);                                                                    \
        return fails(FOLDER, CALLER) ? NULL : next_(dir);                                      \
    }                                                                                          \
    int scandir##end(const char *path, struct dirent##end ***out,                              \
                     int (*filter)(const struct dirent##end *),                                \
                     int (*compare)(const struct dirent##end **, const struct dirent##end **)) \
    {                                                                                          \
        NEXT(scandir##end);                                                                    \
        return fails(FOLDER, CALLER) ? -1 : next_(path, out, filter, compare);                 \
    }                                                                                          \
    int glob##end(const char *pattern, int flags, int (*on_error)(const char *, int),          \
                  glob##end##_t *out)                                                          \
    {                                                                                          \
        NEXT(glob##end);                                                                       \
        return fails(FOLDER, CALLER) ? GLOB_NOSPACE : next_(pattern, flags, on_error, out);    \
    }
WITH_OFFSETS()
WITH_OFFSETS(64)

/* glibc's own entry points: dlsym allocates, so the next definition must be known beforehand. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);

void *malloc(size_t n)
{
    return fails(ALLOC, CALLER) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails(ALLOC, CALLER) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails(ALLOC, CALLER) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return fails(ALLOC, CALLER) ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    *out = fails(ALLOC, CALLER) ? NULL : __libc_memalign(alignment, n);
    return *out ? 0 : ENOMEM;
}

char *strdup(const char *s)
{
    NEXT(strdup);
    return fails(ALLOC, CALLER) ? NULL : next_(s);
}

char *realpath(const char *path, char *out)
{
    NEXT(realpath);
    return fails(STAT, CALLER) ? NULL : next_(path, out);
}

FILE *open_memstream(char **out, size_t *n)
{
    NEXT(open_memstream);
    return fails(ALLOC, CALLER) ? NULL : next_(out, n);
}
