/* test_ranks.c - what a training that runs in one process asks of the others: nothing. */
#include "support.h"
#include "core/mem.h"
#include "train/ranks.h"

static void one_process_has_the_whole_batch(void **state)
{
    (void)state;
    struct ck_ranks r;
    int32_t all[3] = {4, 5, 6};
    assert_ok(ck_ranks_init(&r));
    assert_ok(ck_ranks_count(&r, 3));
    assert_int_equal(r.first, 0);
    assert_int_equal(r.total, 3);
    assert_int_equal(r.largest, 3);
    assert_ok(ck_ranks_gather(&r, all, sizeof *all));
    assert_int_equal(all[2], 6);
    struct ck_share s = ck_ranks_share(&r);
    assert_int_equal(s.rank, 0);
    assert_int_equal(s.size, 1);
    ck_ranks_release(&r);
}

static void the_interface_for_sharing_works_in_one_process_too(void **state)
{
    (void)state;
    struct ck_ranks r;
    int64_t v[2] = {7, 8}, bytes = sizeof v, all[2] = {0};
    assert_ok(ck_ranks_init(&r));
    struct ck_share s = ck_ranks_share(&r);
    assert_ok(s.gather(s.arg, v, all, &bytes));
    assert_ok(s.sum_i64(s.arg, all, 2));
    assert_memory_equal(v, all, sizeof v);
    assert_ok(s.agree_text(s.arg, "a\tb\n"));
    assert_ok(s.agree_hash(s.arg, 17, "epoch 1", "labels"));
    ck_ranks_release(&r);
}

static void the_wish_of_one_process_is_granted(void **state)
{
    (void)state;
    struct ck_ranks r;
    assert_ok(ck_ranks_init(&r));
    for (int wish = 0; wish < 4; wish++) {
        int agreed = wish;
        assert_ok(ck_ranks_agree(&r, &agreed));
        assert_int_equal(agreed, wish == COKE_ANSWER_SAVE ? COKE_ANSWER_SAVE : wish != 0);
    }
    ck_ranks_release(&r);
}

static void sums_of_statistics_are_those_of_the_process(void **state)
{
    (void)state;
    struct ck_ranks r;
    double v[2] = {0.1, -3};
    assert_ok(ck_ranks_init(&r));
    struct ck_reduce reduce = ck_ranks_reduce(&r, 1);
    assert_true(reduce.absent);
    assert_ok(reduce.sum(reduce.arg, v, 2));
    assert_true(v[0] == 0.1 && v[1] == -3);
    ck_ranks_release(&r);
}

static void ranks_without_memory_fail(void **state)
{
    (void)state;
    for (int nth = 1; nth < 3; nth++) {
        struct ck_ranks r;
        int64_t live = ck_mem_stats().live;
        ck_mem_fail_at(nth);
        assert_int_equal(ck_ranks_init(&r), COKE_ENOMEM);
        ck_mem_fail_at(0);
        ck_ranks_release(&r);
        assert_int_equal(ck_mem_stats().live, live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_has_the_whole_batch),
        cmocka_unit_test(the_interface_for_sharing_works_in_one_process_too),
        cmocka_unit_test(the_wish_of_one_process_is_granted),
        cmocka_unit_test(sums_of_statistics_are_those_of_the_process),
        cmocka_unit_test(ranks_without_memory_fail),
    };
    return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}
