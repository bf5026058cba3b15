/* test_stats.c - smallest, middle and largest of a list of counts. */
#include "support.h"
#include "core/stats.h"

static void the_three_are_read_off_the_sorted_list(void **state)
{
    (void)state;
    int64_t odd[] = {5, INT64_MAX, INT64_MIN, 0, 9}, even[] = {4, 1, 3, 2}, one[] = {-8};
    struct ck_spread s = ck_spread_sort(odd, 5);
    assert_true(s.min == INT64_MIN && s.median == 5 && s.max == INT64_MAX);
    assert_true(odd[0] == INT64_MIN && odd[1] == 0 && odd[3] == 9);
    s = ck_spread_sort(even, 4);
    assert_true(s.min == 1 && s.median == 3 && s.max == 4);
    s = ck_spread_sort(one, 1);
    assert_true(s.min == -8 && s.median == -8 && s.max == -8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_three_are_read_off_the_sorted_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
