/* test_numbers.c - lists of numbers, as text and as .npy. */
#include "unit/io/io_test.h"
#include "io/npy.h"

static int load(const char *text, size_t size, double **v, int64_t *n)
{
    write_file("n.txt", text, size);
    int rc = coke_numbers_load("n.txt", v, n);
    unlink("n.txt");
    return rc;
}

static void text_gives_one_number_a_line(void **state)
{
    (void)state;
    double *v;
    int64_t n;
    const char text[] = "# sizes\n\n  1\n-2.5e1\t\r\n3 # three\n\n4";
    assert_ok(load(text, sizeof text - 1, &v, &n));
    assert_int_equal(n, 4);
    assert_true(v[0] == 1 && v[1] == -25 && v[2] == 3 && v[3] == 4);
    coke_numbers_free(v);
    coke_numbers_free(NULL);
}

static void text_of_any_length_is_read(void **state)
{
    (void)state;
    double *v;
    int64_t n;
    FILE *f = fopen("n.txt", "w");
    for (int i = 0; i < 3000; i++)
        fprintf(f, "%d\n", i);
    fclose(f);
    assert_ok(coke_numbers_load("n.txt", &v, &n));
    assert_int_equal(n, 3000);
    for (int i = 0; i < 3000; i++)
        assert_true(v[i] == i);
    coke_numbers_free(v);
    unlink("n.txt");
}

static void wrong_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"1\n2\nabc\n", "n.txt: line 3: 'abc' is not a finite number"},
        {"1 2\n", "line 1: '1 2'"},
        {"# x\n\nnan", "line 3: 'nan'"},
        {"inf", "line 1: 'inf'"},
        {"1e999", "line 1: '1e999'"},
        {"0000000000000000000000000000000000000000000000000000000000000000000001",
         "line 1: '00000000000000000000000...' is"},
        {"\x01\x02", "line 1: '?\?' is"},
        {"", "n.txt: no numbers"},
        {"# only\n\n", "n.txt: no numbers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double *v;
        int64_t n;
        assert_fails(load(cases[i].text, strlen(cases[i].text), &v, &n), COKE_EFORMAT,
                     cases[i].words);
        assert_null(v);
    }
}

static void npy_of_any_number_type_is_read(void **state)
{
    (void)state;
    static const int32_t x[3] = {5, -6, 7};
    static const float bad[2] = {1, 1.0f / 0.0f};
    double *v;
    int64_t n;
    assert_ok(coke_npy_write_i32("x.npy", x, 3, 0));
    assert_ok(coke_numbers_load("x.npy", &v, &n));
    assert_true(n == 3 && v[0] == 5 && v[1] == -6 && v[2] == 7);
    coke_numbers_free(v);
    assert_ok(ck_npy_write_single("x.npy", CK_F32, 1, (const int64_t[]){2}, bad, 1));
    assert_fails(coke_numbers_load("x.npy", &v, &n), COKE_EFORMAT,
                 "x.npy: number 1 is infinite");
    assert_ok(coke_npy_write_f32("x.npy", bad, 1, 2, 1));
    assert_fails(coke_numbers_load("x.npy", &v, &n), COKE_EFORMAT, "2 dimensions");
    assert_ok(coke_npy_write_i32("x.npy", x, 0, 1));
    assert_fails(coke_numbers_load("x.npy", &v, &n), COKE_EFORMAT, "no numbers");
    unlink("x.npy");
    assert_fails(coke_numbers_load("x.npy", &v, &n), COKE_EIO, "x.npy: No such file");
    assert_fails(coke_numbers_load(NULL, &v, &n), COKE_EUSAGE, "NULL");
}

static int load_both(void)
{
    double *v, *w = NULL;
    int64_t n;
    int rc = coke_numbers_load("a.npy", &v, &n);
    if (!rc)
        rc = coke_numbers_load("a.txt", &w, &n);
    coke_numbers_free(v);
    coke_numbers_free(w);
    return rc;
}

static void failed_allocations_are_survived(void **state)
{
    (void)state;
    write_file("a.txt", "1\n2\n", 4);
    assert_ok(coke_npy_write_i32("a.npy", (const int32_t[]){1}, 1, 0));
    every_allocation_may_fail(load_both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_gives_one_number_a_line),
        cmocka_unit_test(text_of_any_length_is_read),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(npy_of_any_number_type_is_read),
        cmocka_unit_test(failed_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
