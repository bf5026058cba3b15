/* test_shard_index.c - the file with the index of a tar file: one that was made to mislead. */
#include "unit/data/data_test.h"
#include "data/shard_index.h"
#include "core/hash.h"

#include <fcntl.h>

enum { HEAD = 96, RECORD = 32, IMAGES = 3 };

static unsigned char file[4096];
static size_t size;

/* Puts value at `at` and makes the checksum fit. */
static void forge(size_t at, int64_t value)
{
    memcpy(file + at, &value, sizeof value);
    uint64_t sum = ck_hash(file, HEAD, 0);
    sum = ck_hash(file + HEAD, IMAGES * RECORD, sum);
    sum = ck_hash(file + HEAD + IMAGES * RECORD, size - HEAD - IMAGES * RECORD - 8, sum);
    memcpy(file + size - 8, &sum, sizeof sum);
    write_file("x.tar.cokeidx", file, size);
}

static void read_original(void)
{
    size = read_file("x.tar.cokeidx", file, sizeof file);
}

/* Is the index on the disk taken as it is? */
static int is_taken(void)
{
    unsigned char now[4096];
    struct ck_shard_index x;
    assert_ok(ck_shard_index_open(&x, "x.tar", NULL));
    assert_int_equal(x.n, IMAGES);
    assert_int_equal(x.kept, 1);
    assert_true(x.record[IMAGES - 1].offset + x.record[IMAGES - 1].size <= x.size);
    ck_shard_index_release(&x);
    assert_int_equal(read_file("x.tar.cokeidx", now, sizeof now), size);
    return memcmp(now, file, size) == 0;
}

static void forged_index_never_leads_outside_of_the_tar_file(void **state)
{
    static const int64_t wild[] = {-1, INT64_MIN, INT64_MAX, 1 << 20};
    (void)state;
    FILE *f = fopen("x.tar", "wb");
    tar_add(f, "a.jpg", "first");
    tar_add(f, "b.jpg", "second");
    tar_add(f, "c.jpg", "third");
    tar_end(f);
    struct ck_shard_index x;
    assert_ok(ck_shard_index_open(&x, "x.tar", NULL));
    assert_int_equal(x.record[1].offset, 1536);
    assert_int_equal(x.record[1].size, 6);
    assert_int_equal(x.record[1].label, -1);
    ck_shard_index_release(&x);
    read_original();
    assert_true(is_taken());
    forge(HEAD + RECORD + 8, 3); /* another size, within the file: nothing to see */
    assert_true(is_taken());
    for (size_t w = 0; w < sizeof wild / sizeof *wild; w++)
        for (size_t field = 0; field < 3; field++) {
            if (field == 2 && wild[w] == -1)
                continue; /* no label */
            forge(HEAD + RECORD * (size_t)(IMAGES - 1) + 8 * field, wild[w]);
            assert_false(is_taken());
            read_original();
        }
    for (size_t w = 0; w < sizeof wild / sizeof *wild; w++)
        for (size_t field = 5; field < 7; field++) { /* n, bytes of keys */
            forge(8 * field, wild[w]);
            assert_false(is_taken());
            read_original();
        }
    file[size - 9] = 'x'; /* the last key does not end */
    int64_t magic;
    memcpy(&magic, file, sizeof magic);
    forge(0, magic);
    assert_false(is_taken());
}

/* Two tar files of one size: `order` names the images, `fill` is in all of them. */
static void write_tar(const char *order, char fill, int images)
{
    char name[32], text[3000];
    FILE *f = fopen("y.tar", "wb");
    memset(text, fill, sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (int i = 0; i < images; i++) {
        snprintf(name, sizeof name, "%c%04d.jpg", order[i % 2], i);
        tar_add(f, name, text);
    }
    tar_end(f);
}

static void set_time(void)
{
    const struct timespec when[2] = {{.tv_sec = 1600000000}, {.tv_sec = 1600000000}};
    assert_int_equal(utimensat(AT_FDCWD, "y.tar", when, 0), 0);
}

static void check_first_key(const char *key)
{
    struct ck_shard_index x;
    assert_ok(ck_shard_index_open(&x, "y.tar", NULL));
    assert_string_equal(ck_names_get(&x.keys, 0), key);
    ck_shard_index_release(&x);
}

static void a_tar_file_changed_at_equal_size_and_time_is_noticed(void **state)
{
    static const int images[] = {4, 2000}; /* 16 KB, 8 MB */
    (void)state;
    for (int i = 0; i < 2; i++) {
        write_tar("ab", 'x', images[i]);
        set_time();
        check_first_key("a0000");
        write_tar("ba", 'x', images[i]);
        set_time();
        check_first_key("b0000");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forged_index_never_leads_outside_of_the_tar_file),
        cmocka_unit_test(a_tar_file_changed_at_equal_size_and_time_is_noticed),
    };
    return cmocka_run_group_tests_name("shard_index", tests, enter, leave_folder);
}
