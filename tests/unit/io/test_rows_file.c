/* test_rows_file.c - files and arrays as rows. */
#include "as_options.h"
#include "unit/io/io_test.h"
#include "core/guard.h"
#include "core/rows.h"
#include "io/npy.h"
#include "io/rows_file.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { N = 7, DIM = 3 };

static float value(int64_t row, int j)
{
    return (float)(row * 10 + j);
}

/* Rows first..first+n-1 of the pattern. */
static void write_rows(const char *path, int64_t first, int64_t n)
{
    float x[N * DIM];
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < DIM; j++)
            x[i * DIM + j] = value(first + i, j);
    assert_ok(coke_npy_write_f32(path, x, n, DIM, 1));
}

static void write_fvecs(const char *path, int64_t first, int64_t n)
{
    FILE *f = fopen(path, "wb");
    for (int64_t i = 0; i < n; i++) {
        int32_t d = DIM;
        fwrite(&d, 4, 1, f);
        for (int j = 0; j < DIM; j++) {
            float v = value(first + i, j);
            fwrite(&v, 4, 1, f);
        }
    }
    fclose(f);
}

static void check_pattern(struct coke_rows *r, int64_t n)
{
    float out[N * 4 * 5];
    int64_t index[N * 4];
    assert_int_equal(coke_rows_count(r), n);
    assert_int_equal(coke_rows_dim(r), DIM);
    for (int64_t i = 0; i < n; i++)
        index[i] = n - 1 - i;
    memset(out, 0xff, sizeof out);
    assert_ok(r->get(r, index, (int)n, out, 5));
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < 5; j++)
            assert_true(out[i * 5 + j] == (j < DIM ? value(index[i], j) : 0.0f));
}

static void one_file_gives_its_rows_in_any_order(void **state)
{
    (void)state;
    struct coke_rows *r;
    const char *path = "a.npy";
    write_rows(path, 0, N);
    assert_ok(coke_rows_open(&r, &path, 1, NULL));
    check_pattern(r, N);
    assert_string_equal(coke_rows_note(r), "");
    assert_string_equal(r->name, "a.npy");
    assert_int_equal(r->one_pass, 0);
    assert_int_equal(r->bytes, N * DIM * 4);
    float out[DIM];
    assert_fails(r->get(r, (const int64_t[]){N}, 1, out, DIM), COKE_EUSAGE, "there are only 7");
    assert_fails(r->get(r, (const int64_t[]){-1}, 1, out, DIM), COKE_EUSAGE, "row -1");
    coke_rows_free(r);
    coke_rows_free(NULL);
}

static void several_files_of_several_formats_are_one_list(void **state)
{
    (void)state;
    struct coke_rows *r;
    char text[64];
    const char *paths[] = {"a.npy", "b.fvecs", "c.npy", "d.fvecs"};
    write_rows("a.npy", 0, 5);
    write_fvecs("b.fvecs", 5, 1);
    write_rows("c.npy", 6, 7);
    write_fvecs("d.fvecs", 13, 2);
    assert_ok(coke_rows_open(&r, paths, 4, NULL));
    check_pattern(r, 15);
    assert_string_equal(r->name, "a.npy and 3 more");
    r->where(r, 7, text, sizeof text);
    assert_string_equal(text, "c.npy: row 1");
    r->where(r, 5, text, sizeof text);
    assert_string_equal(text, "b.fvecs: row 0");
    r->will_need(r, 0, 15);
    r->will_need(r, 4, 1000);
    r->will_need(r, 15, 1);
    r->will_need(r, -1, 1);
    r->will_need(r, 3, INT64_MAX);
    coke_rows_free(r);
}

static void every_dtype_becomes_f32(void **state)
{
    (void)state;
    static const double f8[4] = {1, -2, 3, 0.5};
    static const uint16_t f2[4] = {0x3c00, 0xc000, 0x4200, 0x3800};
    static const int8_t i1[4] = {1, -2, 3, 100};
    static const uint8_t u1[4] = {1, 254, 3, 100};
    static const struct {
        enum ck_dtype dtype;
        const void *data;
        float expected[4];
    } cases[] = {
        {CK_F64, f8, {1, -2, 3, 0.5f}},
        {CK_F16, f2, {1, -2, 3, 0.5f}},
        {CK_I8, i1, {1, -2, 3, 100}},
        {CK_U8, u1, {1, 254, 3, 100}},
    };
    const char *path = "t.npy";
    for (int i = 0; i < 4; i++) {
        struct coke_rows *r;
        float out[4];
        assert_ok(
            ck_npy_write(path, cases[i].dtype, 2, (const int64_t[]){2, 2}, cases[i].data, 1));
        assert_ok(coke_rows_open(&r, &path, 1, NULL));
        assert_ok(r->get(r, (const int64_t[]){0, 1}, 2, out, 2));
        assert_memory_equal(out, cases[i].expected, sizeof out);
        coke_rows_free(r);
    }
}

static void bvecs_become_f32(void **state)
{
    (void)state;
    struct coke_rows *r;
    float out[4];
    const char *path = "b.bvecs";
    write_file(path, "\2\0\0\0\1\xff\2\0\0\0\3\4", 12);
    assert_ok(coke_rows_open(&r, &path, 1, NULL));
    assert_ok(r->get(r, (const int64_t[]){0, 1}, 2, out, 2));
    assert_true(out[0] == 1 && out[1] == 255 && out[2] == 3 && out[3] == 4);
    coke_rows_free(r);
}

static void broken_record_in_the_middle_is_found_when_read(void **state)
{
    (void)state;
    struct coke_rows *r;
    float out[2];
    const char *path = "b.bvecs";
    write_file(path, "\2\0\0\0\1\2\3\0\0\0\3\4\2\0\0\0\5\6", 18);
    assert_ok(coke_rows_open(&r, &path, 1, NULL));
    assert_ok(r->get(r, (const int64_t[]){2}, 1, out, 2));
    assert_fails(r->get(r, (const int64_t[]){1}, 1, out, 2), COKE_EFORMAT,
                 "b.bvecs: row 1 has 3 elements, row 0 has 2");
    coke_rows_free(r);
}

#define H "{'descr': '<f4', 'fortran_order': False, 'shape': "

static void unfit_files_are_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *dict;
        size_t bytes;
        const char *words;
    } cases[] = {
        {H "(4,)}", 16, "bad.npy: the array has 1 dimension; rows need two"},
        {H "(1,2,2)}", 16, "the array has 3 dimensions"},
        {H "(0, 4)}", 0, "bad.npy: no rows"},
        {H "(4, 0)}", 0, "bad.npy: no columns"},
        {H "(0, 9223372036854775807)}", 0, "bad.npy: no rows"},
        {H "(1000000, 4)}", 16, "= 16000000 bytes of data, the file has 16"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 0)}", 0, "no columns"},
    };
    struct coke_rows *r;
    const char *path = "bad.npy", *text = "notes.txt", *mixed[] = {"a.npy", "four.npy"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const float zeros[4];
        write_npy(path, cases[i].dict, zeros, cases[i].bytes);
        assert_fails(coke_rows_open(&r, &path, 1, NULL), COKE_EFORMAT, cases[i].words);
        assert_null(r);
    }
    write_file(path, "hello", 5);
    assert_fails(coke_rows_open(&r, &path, 1, NULL), COKE_EFORMAT, "not a .npy file");
    write_file(path, "", 0);
    assert_fails(coke_rows_open(&r, &path, 1, NULL), COKE_EFORMAT, "bad.npy: empty");
    write_file(text, "1 2 3", 5);
    assert_fails(coke_rows_open(&r, &text, 1, NULL), COKE_EFORMAT,
                 "notes.txt: text is not read; convert it: python3 -c ");
    write_file(text, "PK\3\4zip", 7);
    assert_fails(coke_rows_open(&r, &text, 1, NULL), COKE_EFORMAT,
                 "notes.txt: zip archive without a directory at its end");
    write_file(text, "", 0);
    assert_fails(coke_rows_open(&r, &text, 1, NULL), COKE_EFORMAT, "notes.txt: empty");
    write_rows("a.npy", 0, 2);
    assert_ok(coke_npy_write_f32("four.npy", (const float[]){1, 2, 3, 4}, 1, 4, 1));
    assert_fails(coke_rows_open(&r, mixed, 2, NULL), COKE_EFORMAT,
                 "a.npy has 3 columns, four.npy has 4");
    text = "none.npy";
    assert_fails(coke_rows_open(&r, &text, 1, NULL), COKE_EIO, "none.npy: No such file");
    text = "empty";
    mkdir(text, 0700);
    assert_fails(coke_rows_open(&r, &text, 1, NULL), COKE_EFORMAT, "empty: no rows in this");
    assert_fails(coke_rows_open(&r, &text, 0, NULL), COKE_EUSAGE, "no input file");
    assert_fails(coke_rows_open(&r, NULL, 1, NULL), COKE_EUSAGE, "NULL");
}

static void array_is_rows_without_a_copy(void **state)
{
    (void)state;
    struct coke_rows *r;
    char text[32];
    float x[N * DIM];
    for (int i = 0; i < N * DIM; i++)
        x[i] = value(i / DIM, i % DIM);
    assert_ok(coke_rows_from_array(&r, x, N, DIM));
    check_pattern(r, N);
    r->where(r, 3, text, sizeof text);
    assert_string_equal(text, "row 3");
    assert_fails(r->get(r, (const int64_t[]){N}, 1, x, DIM), COKE_EUSAGE, "row 7");
    coke_rows_free(r);
    assert_fails(coke_rows_from_array(&r, x, 0, DIM), COKE_EUSAGE, "0 rows");
    assert_fails(coke_rows_from_array(&r, x, INT64_MAX / 2, DIM), COKE_EUSAGE, "do not fit");
    assert_fails(coke_rows_from_array(&r, NULL, 1, DIM), COKE_EUSAGE, "NULL");
}

/* Opens with standard input replaced by the file, or by a pipe that brings its bytes. */
static int open_stdin(struct coke_rows **r, const char *file, int by_pipe, const char *dir)
{
    int fds[2], keep = dup(0), fd = open(file, O_RDONLY);
    unsigned char bytes[4096];
    const char *path = "-";
    struct ck_rows_options o = {.spool_dir = dir};
    if (by_pipe) {
        assert_int_equal(pipe(fds), 0);
        ssize_t n = read(fd, bytes, sizeof bytes);
        assert_int_equal(write(fds[1], bytes, (size_t)n), n);
        close(fds[1]);
        dup2(fds[0], fd);
        close(fds[0]);
    }
    dup2(fd, 0);
    close(fd);
    int rc = coke_rows_open(r, &path, 1, AS(rows, &o));
    dup2(keep, 0);
    close(keep);
    return rc;
}

static void pipe_is_spooled_and_says_so(void **state)
{
    (void)state;
    struct coke_rows *r;
    write_rows("a.npy", 0, N);
    mkdir("spool", 0700);
    assert_ok(open_stdin(&r, "a.npy", 1, "spool"));
    assert_string_equal(coke_rows_note(r),
                        "stdin: 0.0 MB spooled to a temporary file in spool, "
                        "because it must be read more than once");
    check_pattern(r, N);
    assert_int_equal(rmdir("spool"), 0); /* the file in it has no name */
    coke_rows_free(r);
    setenv("TMPDIR", io_dir, 1);
    assert_ok(open_stdin(&r, "a.npy", 1, NULL));
    assert_non_null(strstr(coke_rows_note(r), io_dir));
    coke_rows_free(r);
    unsetenv("TMPDIR");
}

static void redirected_file_is_mapped_without_spooling(void **state)
{
    (void)state;
    struct coke_rows *r;
    write_rows("a.npy", 0, N);
    assert_ok(open_stdin(&r, "a.npy", 0, NULL));
    assert_string_equal(coke_rows_note(r), "");
    assert_string_equal(r->name, "stdin");
    check_pattern(r, N);
    coke_rows_free(r);
}

static void broken_pipes_are_refused_in_words(void **state)
{
    (void)state;
    struct coke_rows *r;
    static const float x[5];
    const char *twice[] = {"-", "-"};
    write_npy("s.npy", H "(2, 2)}", x, 12);
    assert_fails(open_stdin(&r, "s.npy", 1, NULL), COKE_EFORMAT,
                 "stdin: the header says 2 x 2 f4 = 16 bytes of data, the file has 12");
    write_npy("s.npy", H "(2, 2)}", x, 20);
    assert_fails(open_stdin(&r, "s.npy", 1, NULL), COKE_EFORMAT,
                 "stdin: more data after the 16 bytes");
    write_npy("s.npy", H "(1000000000000, 1000)}", x, 20);
    assert_fails(open_stdin(&r, "s.npy", 1, NULL), COKE_EFORMAT, "the file has 20");
    write_file("s.npy", "", 0);
    assert_fails(open_stdin(&r, "s.npy", 1, NULL), COKE_EFORMAT, "stdin: empty");
    write_file("s.npy", "hello", 5);
    assert_fails(open_stdin(&r, "s.npy", 1, NULL), COKE_EFORMAT, "stdin: not a .npy file");
    write_rows("s.npy", 0, N);
    assert_fails(open_stdin(&r, "s.npy", 1, "nowhere"), COKE_EIO, "nowhere: No such file");
    ck_file_fail_write_at(2);
    assert_fails(open_stdin(&r, "s.npy", 1, NULL), COKE_EIO, "/tmp: No space left");
    assert_fails(coke_rows_open(&r, twice, 2, NULL), COKE_EUSAGE, "only once");
}

static int open_mixed(void)
{
    struct coke_rows *r;
    const char *paths[] = {"a.npy", "b.fvecs"};
    int rc = coke_rows_open(&r, paths, 2, NULL);
    coke_rows_free(r);
    return rc;
}

/* The first folder is none, which also takes the way of file systems without O_TMPFILE. */
static int open_piped(void)
{
    struct coke_rows *r;
    int rc = open_stdin(&r, "a.npy", 1, "nowhere");
    if (rc == COKE_EIO)
        rc = open_stdin(&r, "a.npy", 1, ".");
    coke_rows_free(r);
    return rc;
}

static int open_array(void)
{
    struct coke_rows *r;
    int rc = coke_rows_from_array(&r, (const float[]){1}, 1, 1);
    coke_rows_free(r);
    return rc;
}

static void failed_allocations_are_survived(void **state)
{
    (void)state;
    write_rows("a.npy", 0, 5);
    write_fvecs("b.fvecs", 5, 1);
    every_allocation_may_fail(open_mixed);
    every_allocation_may_fail(open_piped);
    every_allocation_may_fail(open_array);
}

/* A sparse file of zeros, large enough to be mapped. */
static void write_large(const char *path, int64_t rows)
{
    unsigned char head[256];
    char dict[96];
    snprintf(dict, sizeof dict,
             "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, 1024), }",
             (long long)rows);
    size_t n = make_npy(head, 1, dict, NULL, 0);
    write_file(path, head, n);
    assert_int_equal(truncate(path, (off_t)n + rows * 4096), 0);
}

static void file_that_shrinks_is_an_error(void **state)
{
    (void)state;
    enum { ROWS = 8192 };
    const char *paths[] = {"small.npy", "large.npy"};
    struct coke_rows *r;
    float x[1024];
    int64_t last = ROWS;
    write_large(paths[0], 1);
    write_large(paths[1], ROWS);
    assert_ok(ck_guard_install());
    assert_ok(ck_rows_open(&r, paths, 2, NULL));
    assert_ok(r->get(r, &last, 1, x, 1024));
    assert_int_equal(truncate(paths[0], 0), 0); /* has been read */
    assert_int_equal(truncate(paths[1], 1 << 20), 0);
    for (int i = 0; i < 2; i++)
        assert_fails(r->get(r, &last, 1, x, 1024), COKE_EIO, "large.npy: became shorter");
    for (int64_t row = 0; row < 2; row++)
        assert_ok(r->get(r, &row, 1, x, 1024));
    ck_rows_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_file_gives_its_rows_in_any_order),
        cmocka_unit_test(several_files_of_several_formats_are_one_list),
        cmocka_unit_test(every_dtype_becomes_f32),
        cmocka_unit_test(bvecs_become_f32),
        cmocka_unit_test(broken_record_in_the_middle_is_found_when_read),
        cmocka_unit_test(unfit_files_are_refused_in_words),
        cmocka_unit_test(array_is_rows_without_a_copy),
        cmocka_unit_test(pipe_is_spooled_and_says_so),
        cmocka_unit_test(redirected_file_is_mapped_without_spooling),
        cmocka_unit_test(broken_pipes_are_refused_in_words),
        cmocka_unit_test(failed_allocations_are_survived),
        cmocka_unit_test(file_that_shrinks_is_an_error),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
