/* test_rows_stream.c - rows through a pipe, once and in order. */
#include "as_options.h"
#include "unit/io/io_test.h"
#include "core/rows.h"
#include "io/npy.h"
#include "io/rows_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { HEAD = 65536, DIM = 5 };

static float value(int64_t row, int j)
{
    return (float)((row * DIM + j) % 8191);
}

/* A file with the header of n rows and the data of `rows` of them, plus extra bytes. */
static void write_stream(int64_t n, int64_t rows, size_t extra)
{
    char dict[128];
    size_t bytes = (size_t)rows * DIM * 4 + extra;
    float *x = calloc(bytes + 4, 1);
    for (int64_t i = 0; i < rows; i++)
        for (int j = 0; j < DIM; j++)
            x[i * DIM + j] = value(i, j);
    snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %d)}",
             (long long)n, DIM);
    write_npy("s.npy", dict, x, bytes);
    free(x);
}

/* Standard input becomes a real pipe from a child process. */
static int open_piped(struct coke_rows **r)
{
    int fds[2], keep = dup(0);
    const char *path = "-";
    struct ck_rows_options o = {.one_pass = 1};
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        execlp("cat", "cat", "s.npy", (char *)NULL);
        _exit(127);
    }
    dup2(fds[0], 0);
    close(fds[0]);
    close(fds[1]);
    int rc = coke_rows_open(r, &path, 1, AS(rows, &o));
    dup2(keep, 0);
    close(keep);
    return rc;
}

static void close_piped(struct coke_rows *r)
{
    coke_rows_free(r);
    wait(NULL);
}

static int get_one(struct coke_rows *r, int64_t row)
{
    float out[DIM + 3];
    int rc = r->get(r, &row, 1, out, DIM + 3);
    for (int j = 0; j < DIM + 3 && !rc; j++)
        assert_true(out[j] == (j < DIM ? value(row, j) : 0.0f));
    return rc;
}

static void short_stream_is_all_head(void **state)
{
    (void)state;
    struct coke_rows *r;
    char text[32];
    write_stream(1000, 1000, 0);
    assert_ok(open_piped(&r));
    assert_true(r->one_pass && r->n == 1000 && r->dim == DIM && r->head == 1000);
    assert_string_equal(r->note, "");
    for (int64_t i = 999; i >= 0; i--)
        assert_ok(get_one(r, i));
    assert_ok(get_one(r, 999));
    assert_fails(get_one(r, 1000), COKE_EUSAGE,
                 "stdin: row 1000 requested, but there are only 1000");
    r->where(r, 17, text, sizeof text);
    assert_string_equal(text, "stdin: row 17");
    close_piped(r);
}

static void long_stream_passes_once_after_its_head(void **state)
{
    (void)state;
    enum { N = 3 * HEAD + 17 };
    struct coke_rows *r;
    write_stream(N, N, 0);
    assert_ok(open_piped(&r));
    assert_int_equal(r->head, HEAD);
    assert_ok(get_one(r, HEAD - 1));
    assert_ok(get_one(r, 3));
    for (int64_t i = 0; i < N; i++)
        assert_ok(get_one(r, i));
    assert_fails(get_one(r, 3), COKE_EFAIL, "row 3 requested after row 196624");
    assert_fails(get_one(r, N - 1), COKE_EFAIL, "once, in order");
    close_piped(r);
}

static void batch_may_span_head_and_tail_and_skip(void **state)
{
    (void)state;
    enum { N = 2 * HEAD };
    struct coke_rows *r;
    const int64_t index[4] = {5, HEAD - 1, HEAD, N - 1};
    float out[4 * DIM];
    write_stream(N, N, 0);
    assert_ok(open_piped(&r));
    assert_ok(r->get(r, index, 4, out, DIM));
    for (int i = 0; i < 4; i++)
        assert_true(out[i * DIM + 1] == value(index[i], 1));
    assert_fails(get_one(r, 5), COKE_EFAIL, "row 5 requested after row 131071");
    close_piped(r);
}

static void stream_of_the_wrong_length_is_refused_with_numbers(void **state)
{
    (void)state;
    struct coke_rows *r;
    write_stream(1000, 999, 0);
    assert_fails(open_piped(&r), COKE_EFORMAT,
                 "stdin: the header says 1000 x 5 f4 = 20000 bytes of data, the file "
                 "has 19980");
    close_piped(r);
    write_stream(1000, 1000, 1);
    assert_fails(open_piped(&r), COKE_EFORMAT, "stdin: more data after the 20000 bytes");
    close_piped(r);
    write_stream(HEAD + 10, HEAD + 9, 3);
    assert_ok(open_piped(&r));
    assert_fails(get_one(r, HEAD), COKE_EFORMAT,
                 "= 1310920 bytes of data, the file "
                 "has 1310903");
    close_piped(r);
    write_stream(HEAD + 10, HEAD + 10, 3);
    assert_ok(open_piped(&r));
    assert_fails(get_one(r, HEAD), COKE_EFORMAT, "more data after");
    close_piped(r);
}

static void lying_header_costs_no_memory(void **state)
{
    (void)state;
    struct coke_rows *r;
    static const float x[100];
    write_npy("s.npy",
              "{'descr': '<f4', 'fortran_order': False, 'shape': (100000, 2000000000)}", x,
              sizeof x);
    ck_mem_reset_peak();
    assert_fails(open_piped(&r), COKE_EFORMAT, "the file has 400");
    assert_true(ck_mem_stats().peak_bytes < 4 << 20);
    close_piped(r);
    write_npy("s.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3000000000)}", x,
              sizeof x);
    assert_fails(open_piped(&r), COKE_EFORMAT, "3000000000 columns are too many");
    close_piped(r);
}

static void halves_are_converted_on_the_way(void **state)
{
    (void)state;
    struct coke_rows *r;
    float out[2];
    assert_ok(ck_npy_write("s.npy", CK_F16, 2, (const int64_t[]){1, 2},
                           (const uint16_t[]){0x3c00, 0x0001}, 1));
    assert_ok(open_piped(&r));
    assert_ok(r->get(r, (const int64_t[]){0}, 1, out, 2));
    assert_true(out[0] == 1.0f && out[1] == 0x1p-24f);
    close_piped(r);
}

static void named_pipe_is_a_stream_too(void **state)
{
    (void)state;
    struct coke_rows *r;
    const char *path = "fifo";
    struct ck_rows_options o = {.one_pass = 1};
    write_stream(10, 10, 0);
    for (int one_pass = 0; one_pass < 2; one_pass++) {
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_int_equal(system("cat s.npy > fifo &"), 0);
        o.one_pass = one_pass;
        assert_ok(coke_rows_open(&r, &path, 1, AS(rows, &o)));
        assert_int_equal(r->one_pass, one_pass);
        assert_ok(get_one(r, 9));
        coke_rows_free(r);
        unlink(path);
    }
}

static void one_pass_means_nothing_to_files(void **state)
{
    (void)state;
    struct coke_rows *r;
    const char *paths[] = {"s.npy", "-"};
    struct ck_rows_options o = {.one_pass = 1};
    write_stream(10, 10, 0);
    assert_ok(coke_rows_open(&r, paths, 1, AS(rows, &o)));
    assert_int_equal(r->one_pass, 0);
    coke_rows_free(r);
    assert_fails(coke_rows_open(&r, paths, 2, AS(rows, &o)), COKE_EUSAGE, "cannot be joined");
}

static int open_and_read(void)
{
    struct coke_rows *r;
    float out[DIM];
    int rc = ck_rows_open_stream(&r, open("s.npy", O_RDONLY), "s.npy");
    if (!rc)
        rc = r->get(r, (const int64_t[]){HEAD}, 1, out, DIM);
    coke_rows_free(r);
    return rc;
}

static void failed_allocations_are_survived(void **state)
{
    (void)state;
    write_stream(HEAD + 1, HEAD + 1, 0);
    every_allocation_may_fail(open_and_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_stream_is_all_head),
        cmocka_unit_test(long_stream_passes_once_after_its_head),
        cmocka_unit_test(batch_may_span_head_and_tail_and_skip),
        cmocka_unit_test(stream_of_the_wrong_length_is_refused_with_numbers),
        cmocka_unit_test(lying_header_costs_no_memory),
        cmocka_unit_test(halves_are_converted_on_the_way),
        cmocka_unit_test(named_pipe_is_a_stream_too),
        cmocka_unit_test(one_pass_means_nothing_to_files),
        cmocka_unit_test(failed_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
