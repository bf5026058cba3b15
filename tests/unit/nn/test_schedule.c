/* test_schedule.c - the learning rate of each step. */
#include "support.h"
#include "nn/schedule.h"

static void warmup_is_a_tenth_of_the_epochs_within_one_and_ten(void **state)
{
    (void)state;
    const int64_t cases[][2] = {{1, 1},  {3, 1},   {11, 1},   {20, 1},   {21, 2},
                                {51, 5}, {100, 9}, {101, 10}, {201, 10}, {1001, 10}};
    for (int i = 0; i < 10; i++)
        assert_int_equal(ck_schedule_default_warmup(cases[i][0]), cases[i][1]);
}

static void rate_rises_then_falls_to_zero(void **state)
{
    (void)state;
    struct ck_schedule s;
    enum { EPOCHS = 31, STEPS = 9 };
    assert_ok(ck_schedule_init(&s, 1.6, EPOCHS, -1, STEPS));
    assert_int_equal(s.warmup, 3);
    double before = 0;
    for (int64_t e = 0; e < EPOCHS; e++)
        for (int64_t i = 0; i < STEPS; i++) {
            double rate = ck_schedule_rate(&s, e, i);
            if (e == 0)
                assert_true(rate == 0);
            else if (e <= 3)
                assert_true(rate > 0 && rate < 1.6 && (rate > before || e * i == 1));
            else
                assert_true(rate > 0 && rate <= 1.6 && (rate < before || (e == 4 && i == 0)));
            before = rate;
        }
}

static void corners_have_the_values_of_the_formula(void **state)
{
    (void)state;
    struct ck_schedule s;
    assert_ok(ck_schedule_init(&s, 0.8, 21, 10, 5));
    assert_close(ck_schedule_rate(&s, 1, 0), 0.8 / 50, 1e-16);
    assert_close(ck_schedule_rate(&s, 1, 1), 0.8 / 50, 1e-16);
    assert_close(ck_schedule_rate(&s, 1, 2), 0.8 * 2 / 50, 1e-16);
    assert_close(ck_schedule_rate(&s, 10, 4), 0.8 * 49 / 50, 1e-15);
    assert_true(ck_schedule_rate(&s, 11, 0) == 0.8);
    assert_close(ck_schedule_rate(&s, 16, 0), 0.4, 1e-15);
    assert_close(ck_schedule_rate(&s, 20, 4), 0.4 * (1 + cos(acos(-1) * 49 / 50)), 1e-15);
}

static void no_warmup_begins_with_the_cosine(void **state)
{
    (void)state;
    struct ck_schedule s;
    assert_ok(ck_schedule_init(&s, 1, 2, 0, 4));
    assert_true(ck_schedule_rate(&s, 0, 3) == 0);
    assert_true(ck_schedule_rate(&s, 1, 0) == 1);
    assert_close(ck_schedule_rate(&s, 1, 2), 0.5, 1e-15);
}

static void impossible_schedules_are_refused_in_words(void **state)
{
    (void)state;
    struct ck_schedule s;
    assert_fails(ck_schedule_init(&s, 1, 11, 10, 5), COKE_EUSAGE,
                 "11 epochs: epoch 0 and 10 of warm-up leave none to train; at least 12");
    assert_ok(ck_schedule_init(&s, 1, 12, 10, 5));
    assert_fails(ck_schedule_init(&s, 1, 2, -1, 5), COKE_EUSAGE, "at least 3 are needed");
    assert_ok(ck_schedule_init(&s, 1, 3, -1, 5));
    assert_fails(ck_schedule_init(&s, 1, 20, -1, 0), COKE_EUSAGE, "0 steps");
    assert_fails(ck_schedule_init(&s, -1, 20, -1, 5), COKE_EUSAGE, "learning rate: -1");
    assert_fails(ck_schedule_init(&s, (double)NAN, 20, -1, 5), COKE_EUSAGE,
                 "learning rate: nan");
    assert_fails(ck_schedule_init(&s, (double)INFINITY, 20, -1, 5), COKE_EUSAGE,
                 "learning rate");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warmup_is_a_tenth_of_the_epochs_within_one_and_ten),
        cmocka_unit_test(rate_rises_then_falls_to_zero),
        cmocka_unit_test(corners_have_the_values_of_the_formula),
        cmocka_unit_test(no_warmup_begins_with_the_cosine),
        cmocka_unit_test(impossible_schedules_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
