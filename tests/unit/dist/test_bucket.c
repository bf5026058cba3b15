/* test_bucket.c - buckets of gradients: spans are packed, summed and come back in their places. */
#include "core/mem.h"
#include "dist/bucket.h"
#include "support.h"

static void buckets_cut_spans_and_leave_them(void **state)
{
    (void)state;
    float a[5] = {1, 2, 3, 4, 5}, b[2] = {6, 7}, d[9] = {8};
    struct ck_span_f32 span[3] = {{a, 5}, {b, 2}, {d, 9}};
    struct ck_buckets *buckets;
    assert_ok(ck_buckets_new(&buckets, ck_group(), span, 3, 7));
    assert_int_equal(ck_buckets_count(buckets), 2);
    for (int step = 0; step < 2; step++) {
        ck_buckets_begin(buckets);
        for (int i = 2; i >= 0; i--) /* not in their order */
            assert_ok(ck_buckets_ready(buckets, i));
        assert_ok(ck_buckets_finish(buckets));
    }
    assert_true(a[4] == 5 && b[0] == 6 && d[0] == 8 && d[8] == 0);
    ck_buckets_free(buckets);
}

static void buckets_without_memory_are_none(void **state)
{
    (void)state;
    float a[5] = {0};
    struct ck_span_f32 span = {a, 5};
    for (int nth = 1; nth < 7; nth++) {
        struct ck_buckets *b;
        int64_t live = ck_mem_stats().live;
        ck_mem_fail_at(nth);
        assert_int_equal(ck_buckets_new(&b, ck_group(), &span, 1, 7), COKE_ENOMEM);
        ck_mem_fail_at(0);
        assert_null(b);
        assert_int_equal(ck_mem_stats().live, live);
    }
}

static void spans_that_were_not_ready_are_summed_at_the_end(void **state)
{
    (void)state;
    float a[4] = {1, 2, 3, 4}, b[3] = {5, 6, 7};
    struct ck_span_f32 span[2] = {{a, 4}, {b, 3}};
    struct ck_buckets *buckets;
    assert_ok(ck_buckets_new(&buckets, ck_group(), span, 2, 100));
    assert_int_equal(ck_buckets_count(buckets), 1);
    ck_buckets_begin(buckets);
    assert_ok(ck_buckets_ready(buckets, 0));
    b[2] = 9; /* not packed yet */
    assert_ok(ck_buckets_finish(buckets));
    assert_true(a[0] == 1 && a[3] == 4 && b[0] == 5 && b[2] == 9);
    ck_buckets_free(buckets);
}

static void a_span_larger_than_the_room_has_a_bucket_of_its_own(void **state)
{
    (void)state;
    float a[2] = {1, 2}, b[9] = {3}, d[2] = {4, 5};
    struct ck_span_f32 span[3] = {{a, 2}, {b, 9}, {d, 2}};
    struct ck_buckets *buckets;
    assert_ok(ck_buckets_new(&buckets, ck_group(), span, 3, 4));
    assert_int_equal(ck_buckets_count(buckets), 3);
    ck_buckets_begin(buckets);
    assert_ok(ck_buckets_finish(buckets));
    assert_true(a[1] == 2 && b[0] == 3 && d[1] == 5);
    ck_buckets_free(buckets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_cut_spans_and_leave_them),
        cmocka_unit_test(buckets_without_memory_are_none),
        cmocka_unit_test(spans_that_were_not_ready_are_summed_at_the_end),
        cmocka_unit_test(a_span_larger_than_the_room_has_a_bucket_of_its_own),
    };
    return cmocka_run_group_tests_name("bucket", tests, NULL, NULL);
}
