/* test_load.c - files read with read(): parts, whole files, and files that fail. */
#include "io_test.h"
#include "io/load.h"

#include <fcntl.h>
#include <sys/stat.h>

static void parts_and_whole_files(void **state)
{
    unsigned char *buffer = NULL, part[3];
    size_t room = 0, size = 0;
    int64_t length;
    int fd;
    (void)state;
    write_file("f", "0123456789", 10);
    assert_ok(ck_load_open("f", &fd, &length));
    assert_int_equal(length, 10);
    assert_ok(ck_load_at(fd, "f", 7, part, 3));
    assert_memory_equal(part, "789", 3);
    assert_ok(ck_load_at(fd, "f", 100, part, 0));
    assert_fails(ck_load_at(fd, "f", 8, part, 3), COKE_EIO,
                 "f: truncated at byte 10: the file changed");
    close(fd);
    assert_fails(ck_load_at(-1, "f", 0, part, 1), COKE_EIO, "f: Bad file descriptor");
    assert_ok(ck_load_file("f", 10, &buffer, &room, &size));
    assert_int_equal(size, 10);
    assert_true(room > size);
    assert_memory_equal(buffer, "0123456789", 10);
    unsigned char *before = buffer;
    write_file("f", "", 0);
    assert_ok(ck_load_file("f", 10, &buffer, &room, &size));
    assert_int_equal(size, 0);
    assert_ptr_equal(buffer, before); /* memory is kept */
    write_file("f", "0123456789a", 11);
    assert_fails(ck_load_file("f", 10, &buffer, &room, &size), COKE_EFORMAT,
                 "f: 11 bytes; the limit is 10");
    ck_free(buffer);
}

/* A disk that fails: the memory of a process that is not mapped cannot be read. */
static void failing_device_is_an_error(void **state)
{
    unsigned char byte;
    (void)state;
    int fd = open("/proc/self/mem", O_RDONLY);
    assert_true(fd >= 0);
    assert_fails(ck_load_at(fd, "broken", 0, &byte, 1), COKE_EIO, "broken: Input/output error");
    close(fd);
}

static void only_regular_files_are_opened(void **state)
{
    int64_t size;
    int fd = 5;
    (void)state;
    assert_fails(ck_load_open("nothing", &fd, &size), COKE_EIO, "nothing: No such file");
    assert_int_equal(fd, -1);
    assert_fails(ck_load_open(".", &fd, &size), COKE_EIO, ".: Is a directory");
    assert_int_equal(mkfifo("fifo", 0666), 0);
    assert_fails(ck_load_open("fifo", &fd, &size), COKE_EIO, "fifo: not a regular file");
    assert_fails(ck_load_open("/dev/null", &fd, &size), COKE_EIO, "not a regular file");
    assert_int_equal(fd, -1);
}

static uint64_t sample_of(const unsigned char *bytes, size_t n)
{
    uint64_t hash;
    int64_t size;
    int fd;
    write_file("s", bytes, n);
    assert_ok(ck_load_open("s", &fd, &size));
    assert_ok(ck_load_sample(fd, "s", size, &hash));
    close(fd);
    return hash;
}

static void samples_notice_both_ends_and_all_of_a_small_file(void **state)
{
    enum { SMALL = 256 << 10, LARGE = 3000001 };
    unsigned char *x = calloc(LARGE, 1);
    (void)state;
    assert_non_null(x);
    uint64_t small = sample_of(x, SMALL), large = sample_of(x, LARGE), none = sample_of(x, 0);
    assert_true(small != large && small != none);
    assert_true(sample_of(x, SMALL) == small && sample_of(x, LARGE) == large);
    for (size_t at = 0; at < SMALL; at += 13107) {
        x[at] = 1;
        assert_true(sample_of(x, SMALL) != small);
        x[at] = 0;
    }
    static const size_t ends[] = {0, LARGE - 1};
    for (int i = 0; i < 2; i++) {
        x[ends[i]] = 1;
        assert_true(sample_of(x, LARGE) != large);
        x[ends[i]] = 0;
    }
    assert_true(sample_of(x, SMALL - 1) != small); /* the size counts */
    free(x);
}

static int load_job(void)
{
    unsigned char *buffer = NULL;
    size_t room = 0, size;
    int rc = ck_load_file("job", 100, &buffer, &room, &size);
    ck_free(buffer);
    return rc;
}

static void every_allocation_failing_is_an_error(void **state)
{
    (void)state;
    write_file("job", "x", 1);
    every_allocation_may_fail(load_job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_and_whole_files),
        cmocka_unit_test(failing_device_is_an_error),
        cmocka_unit_test(only_regular_files_are_opened),
        cmocka_unit_test(samples_notice_both_ends_and_all_of_a_small_file),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("load", tests, enter_folder, leave_folder);
}
