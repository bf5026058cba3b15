/* test_numpy_exchange.c - numpy reads what we write, and we read what numpy writes.
 *
 * Drives tests/py/test_io_formats.py; skipped where /usr/bin/python3 has no numpy. */
#include "unit/io/io_test.h"
#include "core/rows.h"
#include "io/npy.h"

enum { N = 5, DIM = 3 };

/* The same numbers as in the script; small enough to be exact in every type. */
static float value(int i)
{
    return (float)(i % 7) + (float)(i % 3) * 10.0f;
}

static void run_script(const char *what)
{
    char command[512];
    const char *source = getenv("COKE_SOURCE");
    if (!source || system("/usr/bin/python3 -c 'import numpy' 2>/dev/null"))
        skip();
    snprintf(command, sizeof command, "/usr/bin/python3 %s/tests/py/test_io_formats.py %s .",
             source, what);
    assert_int_equal(system(command), 0);
}

static void rows_of_numpy_are_read(void **state)
{
    (void)state;
    static const char *const types[] = {"f4", "f2", "f8", "u1", "i1"};
    run_script("make");
    for (int t = 0; t < 5; t++)
        for (int version = 1; version <= 3; version++) {
            char path[32];
            const char *p = path;
            struct coke_rows *r;
            snprintf(path, sizeof path, "rows-%s-%d.npy", types[t], version);
            assert_ok(coke_rows_open(&r, &p, 1, NULL));
            assert_true(r->n == N && r->dim == DIM);
            for (int64_t i = 0; i < N; i++) {
                float x[DIM];
                assert_ok(r->get(r, &i, 1, x, DIM));
                for (int j = 0; j < DIM; j++)
                    assert_true(x[j] == value((int)i * DIM + j));
            }
            coke_rows_free(r);
        }
}

static void lists_of_numpy_are_read(void **state)
{
    (void)state;
    static const char *const types[] = {"f2", "f4", "f8", "i1", "i2", "i4",
                                        "i8", "u1", "u2", "u4", "u8", "?"};
    run_script("make");
    for (int t = 0; t < 12; t++) {
        char path[32];
        double *v;
        int64_t n;
        snprintf(path, sizeof path, "list-%s.npy", t == 11 ? "b1" : types[t]);
        assert_ok(coke_numbers_load(path, &v, &n));
        assert_int_equal(n, N);
        for (int i = 0; i < N; i++)
            assert_true(v[i] == (t == 11 ? (double)(value(i) != 0) : (double)value(i)));
        coke_numbers_free(v);
    }
}

static void arrays_of_numpy_that_we_do_not_read_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *words;
    } cases[] = {
        {"bad-big.npy", "big-endian"},      {"bad-object.npy", "objects"},
        {"bad-struct.npy", "structured"},   {"bad-complex.npy", "'<c8'"},
        {"bad-text.npy", "'<U3'"},          {"bad-3d.npy", "3 dimensions"},
        {"bad-scalar.npy", "0 dimensions"},
    };
    run_script("make");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct coke_rows *r;
        assert_fails(coke_rows_open(&r, &cases[i].path, 1, NULL), COKE_EFORMAT, cases[i].words);
    }
}

static void numpy_reads_what_we_write(void **state)
{
    (void)state;
    float x[N * DIM];
    int32_t y[N * DIM];
    for (int i = 0; i < N * DIM; i++) {
        x[i] = value(i);
        y[i] = (int32_t)value(i) - 3;
    }
    assert_ok(coke_npy_write_f32("ours-f4.npy", x, N, DIM, 0));
    assert_ok(coke_npy_write_i32("ours-i4.npy", y, N * DIM, 0));
    assert_ok(coke_npy_write_i32("ours-empty.npy", y, 0, 0));
    assert_ok(ck_npy_write("ours-wide.npy", CK_F32, 8,
                           (const int64_t[]){1, 1, 1, 1, 1, 1, 5, 3}, x, 0));
    run_script("check");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_numpy_are_read),
        cmocka_unit_test(lists_of_numpy_are_read),
        cmocka_unit_test(arrays_of_numpy_that_we_do_not_read_are_refused),
        cmocka_unit_test(numpy_reads_what_we_write),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
