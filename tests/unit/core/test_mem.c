/* test_mem.c - counted allocation, overflow, failures on request. */
#include "support.h"
#include "core/mem.h"

static void allocations_are_counted_and_aligned(void **state)
{
    (void)state;
    struct ck_mem_stats before = ck_mem_stats();
    void *p[20];
    for (size_t i = 0; i < 20; i++) {
        p[i] = ck_alloc_array(i, i + 1);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % 64, 0);
        memset(p[i], 1, i * (i + 1));
    }
    struct ck_mem_stats now = ck_mem_stats();
    assert_int_equal(now.calls - before.calls, 20);
    assert_int_equal(now.live - before.live, 20);
    assert_int_equal(now.live_bytes - before.live_bytes, 2660); /* sum i(i+1), i < 20 */
    for (int i = 0; i < 20; i++)
        ck_free(p[i]);
    ck_free(NULL);
    now = ck_mem_stats();
    assert_int_equal(now.live, before.live);
    assert_int_equal(now.live_bytes, before.live_bytes);
    assert_true(now.peak_bytes >= before.live_bytes + 2660);
    ck_mem_reset_peak();
    assert_int_equal(ck_mem_stats().peak_bytes, ck_mem_stats().live_bytes);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    int64_t live = ck_mem_stats().live;
    assert_null(ck_alloc_array(SIZE_MAX, 2));
    assert_non_null(strstr(coke_last_error(), "out of memory"));
    assert_null(ck_alloc_array(SIZE_MAX / 4, 5));
    assert_null(ck_calloc_array(SIZE_MAX, 1));
    assert_null(ck_alloc_array(SIZE_MAX - 70, 1));
    assert_null(ck_realloc_array(NULL, SIZE_MAX / 2, 3));
    assert_int_equal(ck_mem_stats().live, live);
}

static void calloc_is_zero_and_realloc_keeps(void **state)
{
    (void)state;
    unsigned char *p = ck_calloc_array(100, 3);
    for (int i = 0; i < 300; i++)
        assert_int_equal(p[i], 0);
    for (int i = 0; i < 300; i++)
        p[i] = (unsigned char)i;
    p = ck_realloc_array(p, 1000, 1);
    for (int i = 0; i < 300; i++)
        assert_int_equal(p[i], (unsigned char)i);
    p = ck_realloc_array(p, 10, 1);
    for (int i = 0; i < 10; i++)
        assert_int_equal(p[i], i);
    ck_mem_fail_at(1);
    assert_null(ck_realloc_array(p, 5000, 1)); /* the old block stays */
    assert_int_equal(p[9], 9);
    ck_free(p);
    char *s = ck_strdup("word");
    assert_string_equal(s, "word");
    ck_free(s);
}

static void nth_allocation_fails_once(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n++) {
        ck_mem_fail_at(n);
        for (int i = 1; i <= 8; i++) {
            void *p = ck_alloc_array(1, 1);
            assert_true((p == NULL) == (i == n));
            ck_free(p);
        }
    }
    ck_mem_fail_at(3);
    ck_mem_fail_at(0);
    for (int i = 0; i < 5; i++) {
        void *p = ck_alloc_array(1, 1);
        assert_non_null(p);
        ck_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_counted_and_aligned),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(calloc_is_zero_and_realloc_keeps),
        cmocka_unit_test(nth_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
