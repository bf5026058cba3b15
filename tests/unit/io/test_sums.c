/* test_sums.c - checksums beside files: written, verified, left alone where they belong to others. */
#include "unit/io/io_test.h"
#include "core/hash.h"
#include "io/npy.h"
#include "io/sums.h"

#include <sys/stat.h>

static const float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
static const int64_t shape[2] = {2, 3};

static void save_single(const char *path, int force)
{
    assert_ok(ck_npy_write_single(path, CK_F32, 2, shape, x, force));
}

static int open_file(const char *path)
{
    struct ck_map m;
    int rc = ck_map_open(&m, path);
    if (!rc)
        ck_map_release(&m);
    return rc;
}

static void flip(const char *path, size_t bit)
{
    unsigned char data[512];
    size_t n = read_file(path, data, sizeof data);
    data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    write_file(path, data, n);
}

static void every_flipped_bit_of_a_file_is_refused(void **state)
{
    (void)state;
    struct stat st;
    save_single("a.npy", 0);
    assert_int_equal(stat("a.npy", &st), 0);
    for (size_t bit = 0; bit < 8 * (size_t)st.st_size; bit++) {
        flip("a.npy", bit);
        assert_fails(open_file("a.npy"), COKE_EFORMAT, "a.npy: damaged, or changed");
        assert_non_null(strstr(coke_last_error(), "delete a.npy.xxh3"));
        flip("a.npy", bit);
    }
    assert_ok(open_file("a.npy"));
    unlink("a.npy");
    unlink("a.npy.xxh3");
}

static void flipped_checksums_refuse_the_file_or_say_nothing(void **state)
{
    (void)state;
    int refused = 0;
    save_single("a.npy", 0);
    for (size_t bit = 0; bit < 8 * strlen("XXH3 (a.npy) = 0123456789abcdef\n"); bit++) {
        flip("a.npy.xxh3", bit);
        refused += open_file("a.npy") == COKE_EFORMAT;
        flip("a.npy.xxh3", bit);
    }
    assert_true(refused >= 16); /* digits that are still digits */
    unlink("a.npy");
    assert_int_equal(unlink("a.npy.xxh3"), 0);
}

static void line_has_the_format_of_xxhsum(void **state)
{
    (void)state;
    unsigned char data[512], line[64] = {0};
    char expected[64];
    save_single("a.npy", 0);
    size_t n = read_file("a.npy", data, sizeof data);
    read_file("a.npy.xxh3", line, sizeof line - 1);
    snprintf(expected, sizeof expected, "XXH3 (a.npy) = %016llx\n",
             (unsigned long long)ck_hash(data, n, 0));
    assert_string_equal((char *)line, expected);
    if (system("command -v xxhsum > /dev/null") == 0)
        assert_int_equal(system("xxhsum -c a.npy.xxh3 > /dev/null"), 0);
    unlink("a.npy");
    unlink("a.npy.xxh3");
}

static void folder_has_one_list_and_a_single_file_counts_more(void **state)
{
    (void)state;
    struct ck_writer w = {0};
    write_file("a", "hello", 5);
    write_file("b", "hello", 5);
    assert_ok(ck_writer_open(&w, CK_SUMS_LIST, 0));
    assert_ok(ck_sums_add_file(&w, ".", "a"));
    assert_ok(ck_sums_add_file(&w, ".", "gone"));
    assert_ok(ck_sums_add(&w, "b", ck_hash("world", 5, 0)));
    assert_ok(ck_writer_commit(&w));
    assert_ok(open_file("a"));
    assert_ok(open_file("./a"));
    assert_fails(open_file("b"), COKE_EFORMAT, "b: damaged");
    write_file("a", "hallo", 5);
    assert_fails(open_file("a"), COKE_EFORMAT, "delete checksums.xxh3");
    assert_ok(ck_writer_open(&w, "a", 1));
    assert_ok(ck_writer_write(&w, "hullo", 5));
    assert_ok(ck_sums_commit(&w));
    assert_ok(open_file("a"));
    unlink(CK_SUMS_LIST);
    assert_ok(open_file("b"));
    unlink("a");
    unlink("a.xxh3");
    unlink("b");
}

static void checksum_of_an_earlier_file_is_replaced_and_other_files_are_not(void **state)
{
    (void)state;
    unsigned char text[16] = {0};
    save_single("a.npy", 0);
    unlink("a.npy"); /* and its checksum was forgotten */
    save_single("a.npy", 0);
    assert_ok(open_file("a.npy"));
    write_file("a.npy.xxh3", "mine", 4);
    unlink("a.npy");
    assert_fails(ck_npy_write_single("a.npy", CK_F32, 2, shape, x, 0), COKE_EUSAGE,
                 "a.npy.xxh3 exists");
    assert_int_equal(access("a.npy", F_OK), -1);
    read_file("a.npy.xxh3", text, sizeof text - 1);
    assert_string_equal((char *)text, "mine");
    save_single("a.npy", 1);
    assert_ok(open_file("a.npy"));
    unlink("a.npy");
    unlink("a.npy.xxh3");
}

static void failing_writes_leave_no_wrong_checksum(void **state)
{
    (void)state;
    struct stat st;
    save_single("a.npy", 0);
    for (int n = 1; n < 8; n++) {
        ck_file_fail_write_at(n);
        int rc = ck_npy_write_single("a.npy", CK_F32, 2, shape, n % 2 ? y : x, 1);
        ck_file_fail_write_at(0);
        assert_true(rc == COKE_OK || rc == COKE_EIO);
        assert_int_equal(stat("a.npy", &st), 0);
        assert_ok(open_file("a.npy"));
    }
    unlink("a.npy");
    unlink("a.npy.xxh3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_bit_of_a_file_is_refused),
        cmocka_unit_test(flipped_checksums_refuse_the_file_or_say_nothing),
        cmocka_unit_test(line_has_the_format_of_xxhsum),
        cmocka_unit_test(folder_has_one_list_and_a_single_file_counts_more),
        cmocka_unit_test(checksum_of_an_earlier_file_is_replaced_and_other_files_are_not),
        cmocka_unit_test(failing_writes_leave_no_wrong_checksum),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
