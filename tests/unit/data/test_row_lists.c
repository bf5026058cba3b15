/* test_row_lists.c - names and classes of rows: texts and numbers, and files that do not fit. */
#include "support.h"
#include "data/row_lists.h"
#include "io/file.h"
#include "io/npy.h"

#include <unistd.h>

static char folder[] = "/tmp/coke-row-lists-XXXXXX";

static int enter(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    unlink("f");
    return chdir("/") || rmdir(folder);
}

static void put(const char *text)
{
    assert_ok(ck_file_write("f", text, strlen(text), 1));
}

/* Empty lines are rows, too; the last line need not end. */
static void line_i_is_the_name_of_row_i(void **state)
{
    (void)state;
    struct ck_names n = {0};
    put("one\n\n three \r\nfour");
    assert_ok(ck_row_names_load(&n, "f", 4));
    assert_string_equal(ck_names_get(&n, 0), "one");
    assert_string_equal(ck_names_get(&n, 1), "");
    assert_string_equal(ck_names_get(&n, 2), " three ");
    assert_string_equal(ck_names_get(&n, 3), "four");
    ck_names_release(&n);
    assert_fails(ck_row_names_load(&n, "f", 5), COKE_EFORMAT, "4 lines for 5 rows");
    ck_names_release(&n);
    assert_fails(ck_row_names_load(&n, "f", 3), COKE_EFORMAT, "more than 3 lines for 3 rows");
    ck_names_release(&n);
    put("x\n");
    assert_fails(ck_row_names_load(&n, "f", 3), COKE_EFORMAT, "1 line for 3 rows");
    ck_names_release(&n);
}

/* Numbers by value, then words; what is unknown has no class. */
static void classes_are_numbered_by_name(void **state)
{
    (void)state;
    struct ck_row_classes c;
    static const int32_t want[] = {2, 1, -1, 0, 3, 1};
    static const char *const name[] = {"2", "10", "ant", "bee"};
    put("ant\n10\n\n2\nbee\n10\n");
    assert_ok(ck_row_classes_load(&c, "f", 6));
    assert_int_equal(c.classes, 4);
    assert_memory_equal(c.class, want, sizeof want);
    for (int i = 0; i < 4; i++)
        assert_string_equal(ck_names_get(&c.name, i), name[i]);
    ck_row_classes_release(&c);
    put("\n\n");
    assert_fails(ck_row_classes_load(&c, "f", 2), COKE_EFORMAT, "no row has a class");
    assert_null(c.class);
}

static void numbers_are_classes(void **state)
{
    (void)state;
    struct ck_row_classes c;
    static const int32_t number[] = {7, 100, -1, 7, 9}, want[] = {0, 2, -1, 0, 1};
    static const float odd[] = {1, 2.5f, 3, 4, 5};
    int64_t n = 5;
    assert_ok(ck_npy_write("f", CK_I32, 1, &n, number, 1));
    assert_ok(ck_row_classes_load(&c, "f", 5));
    assert_int_equal(c.classes, 3);
    assert_memory_equal(c.class, want, sizeof want);
    assert_string_equal(ck_names_get(&c.name, 2), "100");
    ck_row_classes_release(&c);
    assert_fails(ck_row_classes_load(&c, "f", 6), COKE_EFORMAT, "5 numbers for 6 rows");
    assert_ok(ck_npy_write("f", CK_F32, 1, &n, odd, 1));
    assert_fails(ck_row_classes_load(&c, "f", 5), COKE_EFORMAT, "number 1 is 2.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_i_is_the_name_of_row_i),
        cmocka_unit_test(classes_are_numbered_by_name),
        cmocka_unit_test(numbers_are_classes),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
