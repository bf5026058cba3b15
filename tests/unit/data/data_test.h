/* data_test.h - what the tests of data sets share: trees of files, tar archives, reading. */
#ifndef CK_DATA_TEST_H
#define CK_DATA_TEST_H

#include "unit/io/io_test.h"
#include "data/dataset.h"

#include <sys/stat.h>

/* An empty folder to be in for every test. */
static inline int enter(void **state)
{
    setenv("XDG_CACHE_HOME", "/dev/null/cache", 1);
    return enter_folder(state);
}

/* A file and the folders above it. */
static inline void put(const char *path, const char *text)
{
    char part[512];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(part, 0777);
    }
    write_file(path, text, strlen(text));
}

static inline struct ck_dataset *open_set(const char *source)
{
    struct ck_dataset *d = NULL;
    assert_ok(ck_dataset_open(&d, source, NULL));
    assert_non_null(d);
    return d;
}

static inline int open_fails(const char *source)
{
    struct ck_dataset *d = NULL;
    int rc = ck_dataset_open(&d, source, NULL);
    if (rc)
        assert_null(d);
    ck_dataset_free(d);
    return rc;
}

/* Is image i called so, labelled so, and does it hold this text? */
static inline void check_item(struct ck_dataset *d, int64_t i, const char *name, int label,
                              const char *text)
{
    struct ck_item item = {0};
    char got[256];
    ck_dataset_name(d, i, got, sizeof got);
    assert_string_equal(got, name);
    assert_ok(ck_dataset_read(d, i, &item));
    assert_non_null(item.bytes);
    assert_int_equal(item.size, strlen(text));
    assert_memory_equal(item.bytes, text, item.size);
    assert_int_equal(ck_dataset_label(d, i), label);
    ck_item_release(&item);
}

static inline int read_fails(struct ck_dataset *d, int64_t i)
{
    struct ck_item item = {0};
    int rc = ck_dataset_read(d, i, &item);
    if (rc)
        assert_null(item.bytes);
    ck_item_release(&item);
    return rc;
}

/* ---- tar ---- */

static inline void put_octal(unsigned char *at, int digits, size_t value)
{
    for (int i = digits; i-- > 0; value >>= 3)
        at[i] = (unsigned char)('0' + (value & 7));
}

/* The checksum, after a change. */
static inline void tar_sum(unsigned char h[512])
{
    size_t sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += h[i];
    put_octal(h + 148, 6, sum);
    h[154] = 0;
}

static inline void tar_header(unsigned char h[512], const char *name, char type, size_t size)
{
    memset(h, 0, 512);
    memcpy(h, name, strnlen(name, 100));
    put_octal(h + 100, 7, 0644);
    put_octal(h + 124, 11, size);
    put_octal(h + 136, 11, 0);
    h[156] = (unsigned char)type;
    memcpy(h + 257, "ustar\00000", 8);
    tar_sum(h);
}

static inline void tar_data(FILE *f, const void *data, size_t n)
{
    static const char zeros[512];
    assert_int_equal(fwrite(data, 1, n, f), n);
    if (n % 512)
        fwrite(zeros, 1, 512 - n % 512, f);
}

static inline void tar_add(FILE *f, const char *name, const char *text)
{
    unsigned char h[512];
    tar_header(h, name, '0', strlen(text));
    fwrite(h, 1, 512, f);
    tar_data(f, text, strlen(text));
}

static inline void tar_end(FILE *f)
{
    static const char zeros[1024];
    fwrite(zeros, 1, sizeof zeros, f);
    assert_int_equal(fclose(f), 0);
}

/* ---- failing allocations ---- */

static const char *source_to_read; /* of open_and_read_first, which takes no arguments */

static inline int open_and_read_first(void)
{
    struct ck_dataset *d = NULL;
    struct ck_item item = {0};
    int rc = ck_dataset_open(&d, source_to_read, NULL);
    if (!rc)
        rc = ck_dataset_read(d, 0, &item);
    ck_item_release(&item);
    ck_dataset_free(d);
    return rc;
}

/* Opens the source and reads its first image, with every allocation failing in turn. */
static inline void reading_survives_failed_allocations(const char *source)
{
    source_to_read = source;
    every_allocation_may_fail(open_and_read_first);
}

#endif
