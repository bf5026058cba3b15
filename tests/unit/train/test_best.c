/* test_best.c - which epoch best.safetensors is. */
#include "support.h"
#include "train/best.h"

#include <math.h>

static struct ck_epoch_report epoch_of(int64_t epoch, double knn, int64_t asked)
{
    return (struct ck_epoch_report){
        .epoch = epoch, .monitored = 1, .knn20 = knn, .asked = asked, .loss = 1};
}

static int keeps(double *score, int64_t epoch, double knn, int64_t asked)
{
    struct ck_epoch_report r = epoch_of(epoch, knn, asked);
    return ck_best_update(score, &r, 1);
}

/* 300 images: two epochs differ by chance by .04. */
static void of_epochs_alike_the_last_is_best(void **state)
{
    (void)state;
    double score = -HUGE_VAL;
    assert_true(keeps(&score, 5, 0.55, 300));
    assert_true(keeps(&score, 10, 0.53, 300));
    assert_true(score == 0.55);
    assert_false(keeps(&score, 15, 0.40, 300));
}

static void slow_decline_does_not_carry_the_choice_along(void **state)
{
    (void)state;
    double score = -HUGE_VAL;
    int kept = 0;
    for (int e = 1; e <= 20; e++)
        kept += keeps(&score, e, 0.60 - 0.01 * e, 300);
    assert_int_equal(kept, 5); /* within .04 of the first */
}

static void many_images_tell_small_differences_apart(void **state)
{
    (void)state;
    double score = -HUGE_VAL;
    assert_true(keeps(&score, 5, 0.55, 5000));
    assert_false(keeps(&score, 10, 0.53, 5000));
}

static void epoch_zero_and_epochs_without_monitor_do_not_count(void **state)
{
    (void)state;
    double score = -HUGE_VAL;
    struct ck_epoch_report r = epoch_of(3, 0.9, 300);
    assert_false(keeps(&score, 0, 0.9, 300));
    r.monitored = 0;
    assert_false(ck_best_update(&score, &r, 1));
    assert_true(score == -HUGE_VAL);
}

static void without_classes_the_loss_decides(void **state)
{
    (void)state;
    double score = -HUGE_VAL;
    struct ck_epoch_report r = {.epoch = 1, .loss = 2};
    assert_true(ck_best_update(&score, &r, 0));
    r.loss = 2.1;
    assert_false(ck_best_update(&score, &r, 0));
    r.loss = 1.9;
    assert_true(ck_best_update(&score, &r, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_epochs_alike_the_last_is_best),
        cmocka_unit_test(slow_decline_does_not_carry_the_choice_along),
        cmocka_unit_test(many_images_tell_small_differences_apart),
        cmocka_unit_test(epoch_zero_and_epochs_without_monitor_do_not_count),
        cmocka_unit_test(without_classes_the_loss_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
