/* io_test.h - what the tests of src/io share: a folder of their own, files, failures. */
#ifndef CK_IO_TEST_H
#define CK_IO_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>
#include <unistd.h>

#include "coke.h"
#include "core/mem.h"

static char io_dir[64];

/* Every test program runs in an empty folder. jansson keeps its own allocator: version 2.14
 * writes out of bounds when one of its string buffers cannot be had, which is not ours to mend. */
static int enter_folder(void **state)
{
    (void)state;
    snprintf(io_dir, sizeof io_dir, "/tmp/coke-io-XXXXXX");
    return mkdtemp(io_dir) && chdir(io_dir) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", io_dir);
    return chdir("/") || system(command) ? -1 : 0;
}

static inline void write_file(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline size_t read_file(const char *path, unsigned char *out, size_t room)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, room, f);
    fclose(f);
    return n;
}

/* A .npy with the given dict and n bytes of data; returns its size. */
static inline size_t make_npy(unsigned char *out, int version, const char *dict,
                              const void *data, size_t n)
{
    size_t at = version == 1 ? 10 : 12, len = strlen(dict);
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (size_t i = 8; i < at; i++)
        out[i] = (unsigned char)(len >> 8 * (i - 8));
    memcpy(out + at, dict, len);
    if (n)
        memcpy(out + at + len, data, n);
    return at + len + n;
}

static inline void write_npy(const char *path, const char *dict, const void *data, size_t n)
{
    unsigned char *bytes = malloc(n + 4096);
    write_file(path, bytes, make_npy(bytes, 1, dict, data, n));
    free(bytes);
}

static inline int count_files(void)
{
    int n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

#define assert_fails(call, status, words)                                                      \
    do {                                                                                       \
        int rc_ = (call);                                                                      \
        if (rc_ != (status) || !strstr(coke_last_error(), (words)))                            \
            fail_msg("%s: %d, \"%s\"; expected %d, \"%s\"", #call, rc_, coke_last_error(),     \
                     (status), (words));                                                       \
    } while (0)

#define assert_ok(call)                                                                        \
    do {                                                                                       \
        int rc_ = (call);                                                                      \
        if (rc_)                                                                               \
            fail_msg("%s: %d, \"%s\"", #call, rc_, coke_last_error());                         \
    } while (0)

/* Runs job with its 1st, 2nd, ... allocation failing until none is left to fail. Failures are
 * COKE_ENOMEM, or `also`. */
static inline void every_allocation_may_fail_as(int (*job)(void), int also)
{
    for (int i = 1; i < 10000; i++) {
        struct ck_mem_stats before = ck_mem_stats();
        ck_mem_fail_at(i);
        int rc = job();
        ck_mem_fail_at(0);
        struct ck_mem_stats after = ck_mem_stats();
        assert_int_equal(after.live, before.live);
        if (rc == COKE_OK && after.calls - before.calls < i)
            return;
        if (rc != COKE_ENOMEM && rc != also)
            fail_msg("allocation %d of %d: %d, \"%s\"", i, (int)(after.calls - before.calls),
                     rc, coke_last_error());
    }
    fail_msg("the job never succeeds");
}

static inline void every_allocation_may_fail(int (*job)(void))
{
    every_allocation_may_fail_as(job, COKE_ENOMEM);
}

#endif
