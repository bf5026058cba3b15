/* test_braces.c - patterns of file names. */
#include "unit/data/data_test.h"
#include "data/braces.h"

/* The names, joined by spaces; or NULL for an error. */
static const char *expand(const char *pattern)
{
    static char text[1024];
    struct ck_names names = {0};
    text[0] = 0;
    int rc = ck_braces_expand(pattern, &names);
    for (int64_t i = 0; i < names.n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                 ck_names_get(&names, i));
    ck_names_release(&names);
    return rc ? NULL : text;
}

static void ranges_lists_and_their_products(void **state)
{
    (void)state;
    assert_string_equal(expand("x.tar"), "x.tar");
    assert_string_equal(expand("x-{000..003}.tar"), "x-000.tar x-001.tar x-002.tar x-003.tar");
    assert_string_equal(expand("{8..11}"), "8 9 10 11");
    assert_string_equal(expand("{08..11}"), "08 09 10 11");
    assert_string_equal(expand("{0..0}"), "0");
    assert_string_equal(expand("{a,b,}x"), "ax bx x");
    assert_string_equal(expand("{a,b}-{0..1}.tar"), "a-0.tar a-1.tar b-0.tar b-1.tar");
    assert_string_equal(expand("%s{1}%n"), "%s1%n");
}

static void bad_patterns_are_refused(void **state)
{
    static const char *const bad[] = {"{",
                                      "a{1..2",
                                      "{2..1}",
                                      "{a..b}",
                                      "{1..}",
                                      "{..1}",
                                      "{1..2..3}",
                                      "{-1..2}",
                                      "{1..99999999999999999999999999}",
                                      "{1..200000}",
                                      "{1..1000}{1..1000}"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(expand(bad[i]));
}

static int expand_job(void)
{
    struct ck_names names = {0};
    int rc = ck_braces_expand("{a,b}-{0..70}.tar", &names);
    ck_names_release(&names);
    return rc;
}

static void every_allocation_failing_is_an_error(void **state)
{
    (void)state;
    every_allocation_may_fail(expand_job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_lists_and_their_products),
        cmocka_unit_test(bad_patterns_are_refused),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("braces", tests, enter, leave_folder);
}
