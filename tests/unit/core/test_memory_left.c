/* test_memory_left.c - how much memory this process may still take. */
#include "core/memory_left.h"
#include "support.h"

#include <sys/resource.h>

static void memory_is_left_and_within_the_limit(void **state)
{
    (void)state;
    struct ck_memory_left m = ck_memory_left(0);
    assert_true(m.available > 0 && m.available <= m.limit);
    assert_non_null(m.what);
}

/* ulimit -d, which sanitizers bear. */
static void lower_limit_of_the_process_counts(void **state)
{
    (void)state;
    struct rlimit old, less;
    assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
    less = old;
    less.rlim_cur = (rlim_t)1 << 45; /* sanitizers map terabytes */
    assert_int_equal(setrlimit(RLIMIT_DATA, &less), 0);
    struct ck_memory_left m = ck_memory_left(0);
    assert_true(m.limit <= (int64_t)1 << 45);
    less.rlim_cur = 4096; /* below what is used: nothing is left */
    assert_int_equal(setrlimit(RLIMIT_DATA, &less), 0);
    m = ck_memory_left(0);
    assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
    assert_int_equal(m.available, 0);
    assert_string_equal(m.what, "ulimit -d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_left_and_within_the_limit),
        cmocka_unit_test(lower_limit_of_the_process_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
