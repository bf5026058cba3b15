/* test_file.c - mapping files; writing them whole or not at all. */
#include "unit/io/io_test.h"
#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void map_holds_the_bytes_of_the_file(void **state)
{
    (void)state;
    struct ck_map m;
    write_file("a", "hello", 5);
    assert_ok(ck_map_open(&m, "a"));
    assert_int_equal(m.size, 5);
    assert_memory_equal(m.data, "hello", 5);
    ck_map_release(&m);
    assert_null(m.data);
    write_file("a", "", 0);
    assert_ok(ck_map_open(&m, "a"));
    assert_null(m.data);
    assert_int_equal(m.size, 0);
    ck_map_release(&m);
    unlink("a");
}

static void map_of_no_file_says_why(void **state)
{
    (void)state;
    struct ck_map m;
    assert_fails(ck_map_open(&m, "gone"), COKE_EIO, "gone: No such file");
    assert_fails(ck_map_open(&m, "/tmp"), COKE_EIO, "/tmp: Is a directory");
    assert_fails(ck_map_open(&m, "/dev/null"), COKE_EIO, "not a regular file");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_fails(ck_map_open(&m, "pipe"), COKE_EIO, "not a regular file");
    unlink("pipe");
    if (geteuid() == 0)
        return; /* root may read everything */
    write_file("secret", "x", 1);
    chmod("secret", 0);
    assert_fails(ck_map_open(&m, "secret"), COKE_EIO, "secret: Permission denied");
    unlink("secret");
}

static int write_pattern(const char *path, size_t n, int force)
{
    struct ck_writer w = {0};
    int rc = ck_writer_open(&w, path, force);
    for (size_t i = 0; i < n && !rc; i++) {
        unsigned char c = (unsigned char)(i * 7);
        rc = ck_writer_write(&w, &c, 1);
    }
    if (!rc)
        rc = ck_writer_commit(&w);
    ck_writer_abort(&w);
    return rc;
}

static void committed_file_has_all_bytes_and_no_companion(void **state)
{
    (void)state;
    enum { N = 600000 }; /* more than two buffers */
    unsigned char *got = malloc(N + 1);
    assert_ok(write_pattern("out", N, 0));
    assert_int_equal(read_file("out", got, N + 1), N);
    for (size_t i = 0; i < N; i++)
        assert_true(got[i] == (unsigned char)(i * 7));
    assert_int_equal(count_files(), 1);
    unlink("out");
    free(got);
}

static void large_blocks_pass_the_buffer_in_order(void **state)
{
    (void)state;
    enum { N = 20 << 20 };
    unsigned char *x = malloc(N), *got = malloc(N + 2);
    struct ck_writer w = {0};
    for (size_t i = 0; i < N; i++)
        x[i] = (unsigned char)(i * 31 >> 3);
    assert_ok(ck_writer_open(&w, "out", 0));
    assert_ok(ck_writer_write(&w, "a", 1));
    assert_ok(ck_writer_write(&w, x, N));
    assert_ok(ck_writer_write(&w, "b", 1));
    assert_ok(ck_writer_commit(&w));
    assert_int_equal(read_file("out", got, N + 2), N + 2);
    assert_true(got[0] == 'a' && got[N + 1] == 'b' && memcmp(got + 1, x, N) == 0);
    unlink("out");
    free(x);
    free(got);
}

static void abort_leaves_nothing_and_may_be_repeated(void **state)
{
    (void)state;
    struct ck_writer w = {0};
    ck_writer_abort(&w);
    assert_ok(ck_writer_open(&w, "out", 0));
    assert_ok(ck_writer_write(&w, "x", 1));
    ck_writer_abort(&w);
    ck_writer_abort(&w);
    assert_int_equal(count_files(), 0);
}

static void existing_file_needs_force_and_is_whole_at_any_time(void **state)
{
    (void)state;
    unsigned char got[16];
    struct ck_writer w = {0};
    write_file("out", "old", 3);
    chmod("out", 0640);
    assert_fails(ck_file_check_target("out", 0), COKE_EUSAGE,
                 "out exists; set force to overwrite it");
    assert_fails(ck_writer_open(&w, "out", 0), COKE_EUSAGE, "out exists; set force");
    assert_ok(ck_file_check_target("out", 1));
    assert_ok(ck_writer_open(&w, "out", 1));
    assert_ok(ck_writer_write(&w, "new!", 4));
    assert_ok(ck_writer_sync(&w));
    assert_int_equal(read_file("out", got, 16), 3);
    assert_ok(ck_writer_commit(&w));
    assert_int_equal(read_file("out", got, 16), 4);
    struct stat st;
    assert_int_equal(stat("out", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    unlink("out");
}

static void file_that_appears_meanwhile_is_not_overwritten(void **state)
{
    (void)state;
    unsigned char got[16];
    struct ck_writer w = {0};
    assert_ok(ck_writer_open(&w, "out", 0));
    assert_ok(ck_writer_write(&w, "new", 3));
    write_file("out", "other", 5);
    assert_fails(ck_writer_commit(&w), COKE_EUSAGE, "out exists; set force to overwrite it");
    ck_writer_abort(&w);
    assert_int_equal(read_file("out", got, 16), 5);
    assert_int_equal(count_files(), 1);
    unlink("out");
}

static void overwriting_through_a_link_keeps_the_link(void **state)
{
    (void)state;
    struct stat st;
    unsigned char got[16];
    write_file("real", "old", 3);
    assert_int_equal(symlink("real", "link"), 0);
    assert_ok(write_pattern("link", 5, 1));
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(read_file("real", got, 16), 5);
    unlink("real");
    assert_fails(write_pattern("link", 5, 0), COKE_EUSAGE, "link exists");
    unlink("link");
}

static void a_link_inside_a_folder_is_refused(void **state)
{
    (void)state;
    int fd;
    unsigned char got[16];
    write_file("real", "old", 3);
    assert_int_equal(symlink("real", "link"), 0);
    assert_fails(write_pattern("link", 5, CK_FORCE_INSIDE), COKE_EUSAGE,
                 "link is a symbolic link");
    assert_fails(ck_file_open_inside("link", O_APPEND, &fd), COKE_EUSAGE,
                 "link is a symbolic link");
    assert_int_equal(read_file("real", got, 16), 3);
    unlink("real");
    assert_fails(ck_file_open_inside("link", 0, &fd), COKE_EUSAGE, "link is a symbolic link");
    assert_fails(write_pattern("link", 5, CK_FORCE_INSIDE), COKE_EUSAGE, "symbolic link");
    assert_int_equal(count_files(), 1);
    unlink("link");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(ck_file_open_inside("pipe", 0, &fd), COKE_EIO);
    unlink("pipe");
    assert_ok(write_pattern("plain", 5, CK_FORCE_INSIDE));
    assert_ok(write_pattern("plain", 7, CK_FORCE_INSIDE));
    assert_ok(ck_file_open_inside("plain", O_APPEND, &fd));
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    assert_int_equal(read_file("plain", got, 16), 8);
    unlink("plain");
}

/* As by SIGKILL: nobody calls ck_writer_abort. */
static void a_killed_writer_leaves_nothing(void **state)
{
    (void)state;
    for (int force = 0; force < 2; force++) {
        pid_t child = fork();
        if (child == 0) {
            struct ck_writer w = {0};
            int rc = ck_writer_open(&w, "out", force);
            rc = rc ? rc : ck_writer_write(&w, "new", 3);
            rc = rc ? rc : ck_writer_finish(&w);
            _exit(rc != COKE_OK);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(count_files(), 0);
    }
}

/* Descriptors are few: files beyond some hundred get a temporary name and are closed. */
static void many_finished_files_need_few_descriptors(void **state)
{
    (void)state;
    enum { MANY = 700 };
    static struct ck_writer w[MANY];
    char name[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "f%d", i);
        assert_ok(ck_writer_open(&w[i], name, i % 2));
        assert_ok(ck_writer_write(&w[i], name, strlen(name)));
        assert_ok(ck_writer_finish(&w[i]));
    }
    int fd = open("/dev/null", O_RDONLY);
    assert_true(fd >= 0 && fd < 600);
    close(fd);
    for (int i = 0; i < MANY; i++)
        assert_ok(ck_writer_commit(&w[i]));
    assert_int_equal(count_files(), MANY);
    for (int i = 0; i < MANY; i++) {
        unsigned char got[16];
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(read_file(name, got, 16), strlen(name));
        unlink(name);
    }
}

static void impossible_targets_are_refused_in_words(void **state)
{
    (void)state;
    assert_fails(write_pattern("no/such/out", 5, 0), COKE_EIO, "no/such/out: No such file");
    assert_fails(write_pattern("/tmp", 5, 1), COKE_EIO, "/tmp: Is a directory");
    write_file("file", "x", 1);
    assert_fails(write_pattern("file/out", 5, 0), COKE_EIO, "file/out: Not a directory");
    unlink("file");
    assert_fails(write_pattern("/dev/full", 5, 0), COKE_EIO,
                 "/dev/full: No space left on device");
    assert_ok(write_pattern("/dev/null", 500000, 0));
    assert_int_equal(count_files(), 0);
}

static void standard_output_is_written_where_it_stands(void **state)
{
    (void)state;
    unsigned char got[16];
    fflush(stdout);
    int keep = dup(1), fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_int_equal(write(fd, "first ", 6), 6);
    dup2(fd, 1);
    int rc = write_pattern("/dev/stdout", 4, 0);
    dup2(keep, 1);
    close(keep);
    close(fd);
    assert_ok(rc);
    assert_int_equal(read_file("log", got, 16), 10);
    assert_memory_equal(got, "first \0\7\16\25", 10);
    unlink("log");
}

static void full_disk_at_any_write_leaves_the_old_file(void **state)
{
    (void)state;
    unsigned char got[16];
    write_file("out", "old", 3);
    for (int i = 1;; i++) {
        ck_file_fail_write_at(i);
        int rc = write_pattern("out", 600000, 1);
        ck_file_fail_write_at(0);
        if (rc == COKE_OK) {
            assert_true(i > 3);
            break;
        }
        assert_fails(rc, COKE_EIO, "out: No space left on device");
        assert_int_equal(read_file("out", got, 16), 3);
        assert_int_equal(count_files(), 1);
    }
    unlink("out");
}

static int write_small(void)
{
    unlink("out");
    return write_pattern("out", 10, 0);
}

static void writing_survives_any_failed_allocation(void **state)
{
    (void)state;
    every_allocation_may_fail(write_small);
    unlink("out");
    assert_int_equal(count_files(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_holds_the_bytes_of_the_file),
        cmocka_unit_test(map_of_no_file_says_why),
        cmocka_unit_test(committed_file_has_all_bytes_and_no_companion),
        cmocka_unit_test(large_blocks_pass_the_buffer_in_order),
        cmocka_unit_test(abort_leaves_nothing_and_may_be_repeated),
        cmocka_unit_test(existing_file_needs_force_and_is_whole_at_any_time),
        cmocka_unit_test(file_that_appears_meanwhile_is_not_overwritten),
        cmocka_unit_test(overwriting_through_a_link_keeps_the_link),
        cmocka_unit_test(a_link_inside_a_folder_is_refused),
        cmocka_unit_test(a_killed_writer_leaves_nothing),
        cmocka_unit_test(many_finished_files_need_few_descriptors),
        cmocka_unit_test(impossible_targets_are_refused_in_words),
        cmocka_unit_test(standard_output_is_written_where_it_stands),
        cmocka_unit_test(full_disk_at_any_write_leaves_the_old_file),
        cmocka_unit_test(writing_survives_any_failed_allocation),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
