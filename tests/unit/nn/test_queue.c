/* test_queue.c - the last rows that were pushed, and random first ones. */
#include "support.h"
#include "nn/queue.h"

static void later_rows_replace_the_oldest(void **state)
{
    static const double x[] = {1, 2, 3, 4, 5, 6, 7};
    struct ck_queue q;
    (void)state;
    assert_ok(ck_queue_init(&q, 5, 1));
    ck_queue_push(&q, x, 3, 0);
    assert_int_equal(q.at, 3);
    assert_true(q.row[2] == 3 && q.row[3] == 0);
    ck_queue_push(&q, x + 3, 4, 0);
    assert_int_equal(q.at, 2);
    assert_true(q.row[0] == 6 && q.row[1] == 7 && q.row[2] == 3 && q.row[4] == 5);
    ck_queue_push(&q, x, 7, 0); /* more than it holds: the last five stay */
    assert_int_equal(q.at, 4);
    assert_true(q.row[4] == 3 && q.row[0] == 4 && q.row[3] == 7);
    ck_queue_release(&q);
}

static void cut_batches_are_dropped_at_the_end(void **state)
{
    static const double x[] = {1, 2, 3, 4, 5, 6};
    struct ck_queue q;
    (void)state;
    assert_ok(ck_queue_init(&q, 5, 1));
    ck_queue_push(&q, x, 3, 1);
    ck_queue_push(&q, x + 3, 3, 1);
    assert_int_equal(q.at, 0);
    assert_true(q.row[0] == 1 && q.row[3] == 4 && q.row[4] == 5);
    ck_queue_release(&q);
}

static void first_rows_have_length_one_and_depend_on_the_seed(void **state)
{
    struct ck_queue a, b;
    (void)state;
    assert_ok(ck_queue_init(&a, 20, 7));
    assert_ok(ck_queue_init(&b, 20, 7));
    ck_queue_fill(&a, 1);
    ck_queue_fill(&b, 1);
    assert_memory_equal(a.row, b.row, 140 * sizeof *a.row);
    ck_queue_fill(&b, 2);
    assert_true(memcmp(a.row, b.row, 140 * sizeof *a.row) != 0);
    for (int i = 0; i < 20; i++) {
        double square = 0;
        for (int j = 0; j < 7; j++)
            square += a.row[i * 7 + j] * a.row[i * 7 + j];
        assert_close(square, 1, 1e-6);
    }
    ck_queue_release(&a);
    ck_queue_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_rows_replace_the_oldest),
        cmocka_unit_test(cut_batches_are_dropped_at_the_end),
        cmocka_unit_test(first_rows_have_length_one_and_depend_on_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
