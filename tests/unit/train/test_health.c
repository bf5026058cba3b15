/* test_health.c - every warning for what it is about, once, and none for a healthy training. */
#include "support.h"
#include "train/health.h"

struct heard {
    int n;
    char last[512];
};

/* An epoch of a training that goes well. */
static struct ck_epoch_report healthy(int64_t epoch)
{
    struct ck_epoch_report r = {.epoch = epoch,
                                .images = 10000,
                                .loss = 3 - 0.1 * (double)epoch,
                                .feature_mean = 0.2,
                                .heads = 2,
                                .matched = -1};
    for (int h = 0; h < 2; h++)
        r.health[h] = (struct ck_head_health){.k = h ? 100 : 10,
                                              .loss = h ? 3.5 : 1.5,
                                              .accuracy = h ? 0.1 : 0.4,
                                              .objective = 0.6,
                                              .size_min = h ? 45 : 500,
                                              .size_median = h ? 100 : 1000,
                                              .size_max = h ? 300 : 2000,
                                              .bound = h ? 40 : 400,
                                              .changed = 0.3,
                                              .entropy = 0.95,
                                              .dual_max = 0.2};
    return r;
}

static void check_with(struct ck_health *w, struct ck_epoch_report *r, int64_t steps,
                       struct heard *h)
{
    const struct ck_train_options o = ck_train_options_default();
    const struct ck_health_facts facts = {2, 20, 2, steps, &o};
    ck_health_check(w, r, &facts);
    h->n += r->warnings.n;
    if (r->warnings.n)
        snprintf(h->last, sizeof h->last, "%s", r->warnings.item[r->warnings.n - 1].text);
}

static void check(struct ck_health *w, struct ck_epoch_report *r, struct heard *h)
{
    check_with(w, r, 78, h);
}

static void healthy_training_is_left_in_peace(void **state)
{
    (void)state;
    struct ck_health w = {0};
    struct heard h = {0};
    for (int64_t e = 0; e < 20; e++) {
        struct ck_epoch_report r = healthy(e);
        if (e == 0) { /* nothing is learned, centers are where they fell */
            r.health[0].loss = 2.6;
            r.health[1].empty = 30;
            r.health[1].duplicates = 20;
        }
        check(&w, &r, &h);
    }
    assert_int_equal(h.n, 0);
}

/* Told in the epoch in which it is seen, with these words, and not again. */
static void assert_told_once(struct ck_epoch_report r, const char *words, int epochs_before)
{
    struct ck_health w = {0};
    struct heard h = {0};
    for (int i = 0; i < epochs_before; i++, r.epoch++)
        check(&w, &r, &h);
    assert_int_equal(h.n, 0);
    check(&w, &r, &h);
    assert_int_equal(h.n, 1);
    if (!strstr(h.last, words) || !strstr(h.last, "ry "))
        fail_msg("\"%s\" does not say \"%s\" and what to try", h.last, words);
    check(&w, &r, &h);
    assert_int_equal(h.n, 1);
}

static void one_cluster_that_takes_all_is_told(void **state)
{
    (void)state;
    struct ck_epoch_report r = healthy(2);
    r.health[1].size_max = 6000;
    assert_told_once(r, "one cluster of head 1 (k 100) holds 60 % of the images", 2);
}

static void advice_names_no_option_that_the_method_refuses(void **state)
{
    (void)state;
    static const char *const foreign[] = {"ratio", "eta", "alpha", "clusters (k)"};
    struct ck_train_options o = ck_train_options_default();
    const struct ck_health_facts facts = {
        .warmup = 2, .epochs = 20, .views = 2, .steps = 10, .o = &o};
    struct ck_health w = {0};
    assert_ok(ck_options_set(ck_train_option_table(), &o, "method", "dino"));
    for (int i = 0; i < 3; i++) {
        struct ck_epoch_report r = healthy(2 + i);
        r.feature_mean = 0.99;
        r.health[1].size_max = 6000;
        r.health[1].empty = 30;
        ck_health_check(&w, &r, &facts);
        assert_int_equal(r.warnings.n, i < 2 ? 0 : 3);
        for (int a = 0; a < r.warnings.n; a++)
            for (int f = 0; f < 4; f++)
                if (strstr(r.warnings.item[a].text, foreign[f]))
                    fail_msg("%s", r.warnings.item[a].text);
    }
}

static void empty_clusters_are_told(void **state)
{
    (void)state;
    struct ck_epoch_report r = healthy(2);
    r.health[1].empty = 30;
    assert_told_once(r, "30 of 100 clusters of head 1 are empty", 2);
}

static void large_duals_are_told(void **state)
{
    (void)state;
    struct ck_epoch_report r = healthy(2);
    r.health[0].dual_max = 1.5;
    assert_told_once(r, "the duals of head 0 (k 10) range over 1.50", 2);
}

static void predictions_at_chance_are_told_after_five_epochs(void **state)
{
    (void)state;
    struct ck_epoch_report r = healthy(3);
    r.health[1].loss = 4.6;
    r.health[1].accuracy = 0.03;
    assert_told_once(r, "the predictions of head 1 are right as often as guesses (0.030", 4);
}

/* Warnings of a training of 20 images whose predictions of two clusters are right this often. */
static int count_few_images(double accuracy, int64_t epochs)
{
    struct ck_health w = {0};
    struct heard h = {0};
    for (int64_t e = 0; e < epochs; e++) {
        struct ck_epoch_report r = healthy(e);
        r.images = 20;
        r.heads = 1;
        r.health[0].k = 2;
        r.health[0].size_max = 10;
        r.health[0].accuracy = accuracy;
        r.health[0].loss = 0.8;
        r.health[0].accuracy += e % 2 ? 0.1 : -0.1;
        check(&w, &r, &h);
    }
    const char *said = strstr(h.last, "guesses (");
    if (h.n) /* the mean of several epochs */
        assert_close(atof(said + strlen("guesses (")), accuracy, 0.03);
    return h.n;
}

/* 11 of 20 right where 10 are expected are within the errors of counting, ten times as many are
 * not. */
static void predictions_for_few_images_are_counted_together(void **state)
{
    (void)state;
    assert_int_equal(count_few_images(0.55, 10), 0);
    assert_int_equal(count_few_images(0.55, 20), 1);
    assert_int_equal(count_few_images(0.6, 200), 0);
}

/* Warnings for a loss that falls while k-NN stays what it was. */
static int count_still(const char *from)
{
    struct ck_health w = {0};
    struct ck_train_options o = ck_train_options_default();
    const struct ck_health_facts facts = {
        .warmup = 2, .epochs = 20, .views = 2, .steps = 10, .o = &o};
    int n = 0;
    o.from = from;
    for (int64_t e = 0; e < 20; e++) {
        struct ck_epoch_report r = healthy(e);
        r.monitored = 1;
        r.asked = 10000;
        r.knn20 = 0.8;
        ck_health_check(&w, &r, &facts);
        n += r.warnings.n;
    }
    return n;
}

static void only_a_random_network_has_to_improve(void **state)
{
    (void)state;
    assert_int_equal(count_still(NULL), 1);
    assert_int_equal(count_still("run"), 0);
}

/* Of 20 images an epoch has two steps. */
static void predictions_at_chance_are_normal_before_a_hundred_short_steps(void **state)
{
    (void)state;
    struct ck_health w = {0};
    struct heard h = {0};
    struct ck_epoch_report r = healthy(3);
    r.health[1].loss = 4.6;
    r.health[1].accuracy = 0.03;
    for (; r.epoch < 55; r.epoch++)
        check_with(&w, &r, 2, &h);
    assert_int_equal(h.n, 0);
    check_with(&w, &r, 2, &h);
    assert_int_equal(h.n, 1);
    assert_non_null(strstr(h.last, "Try more images or a larger alpha"));
}

/* Of a cluster of most images. */
static void expect_advice(struct ck_train_options o, const char *text)
{
    struct ck_health w = {0};
    const struct ck_health_facts facts = {
        .warmup = 2, .epochs = 20, .views = 2, .steps = 10, .o = &o};
    struct ck_epoch_report r = healthy(1);
    r.health[1].size_max = 6000;
    for (; r.epoch < 3; r.epoch++)
        ck_health_check(&w, &r, &facts);
    ck_health_check(&w, &r, &facts);
    assert_int_equal(r.warnings.n, 1);
    const char *said = strstr(r.warnings.item[0].text, ". Try ");
    assert_non_null(said);
    assert_string_equal(said, text);
}

static void a_warning_names_the_two_options_most_likely_to_help(void **state)
{
    (void)state;
    struct ck_train_options o = ck_train_options_default();
    expect_advice(o, ". Try a larger ratio or a larger eta");
    o.kmeans.ratio = 0.9;
    expect_advice(o, ". Try a larger eta or a larger alpha");
    o.loss.alpha = 1;
    expect_advice(o, ". Try a larger eta or a lower rate");
}

/* As at a high temperature. */
static void high_loss_with_right_predictions_is_left_in_peace(void **state)
{
    (void)state;
    struct ck_health w = {0};
    struct heard h = {0};
    for (int64_t e = 0; e < 20; e++) {
        struct ck_epoch_report r = healthy(e);
        r.health[1].loss = 4.6;
        check(&w, &r, &h);
    }
    assert_int_equal(h.n, 0);
}

/* Seen when one cluster takes over and the duals then push its images out again. */
static void a_loss_that_climbs_back_without_predictions_is_told(void **state)
{
    (void)state;
    struct ck_health w = {0};
    struct heard h = {0};
    for (int e = 0; e < 12; e++) {
        struct ck_epoch_report r = healthy(e);
        r.health[1].loss = e < 5 ? 2.6 : 3.3;
        r.health[1].accuracy = e < 5 ? 0.5 : 0.02;
        check(&w, &r, &h);
        assert_int_equal(h.n, e >= 9);
    }
    assert_non_null(strstr(h.last, "predictions of head 1"));
}

static void loss_that_falls_without_knn_is_told_in_the_second_half(void **state)
{
    (void)state;
    struct ck_health w = {0};
    struct heard h = {0};
    for (int e = 0; e < 20; e++) {
        struct ck_epoch_report r = healthy(e);
        r.monitored = e % 5 == 0 || e == 19;
        r.asked = 5000;
        r.knn20 = 0.25;
        r.pixels = 0.4;
        check(&w, &r, &h);
        assert_int_equal(h.n, e >= 15);
    }
    assert_non_null(strstr(h.last, "k-NN is 0.250 and was 0.250"));
    assert_non_null(strstr(h.last, "(pixels: 0.400)"));
}

/* Empty clusters ask for a larger eta, large duals for a smaller one: the first advice stays. */
static void advice_never_contradicts_itself(void **state)
{
    (void)state;
    struct ck_health w = {0};
    struct heard h = {0};
    for (int e = 1; e < 10; e++) {
        struct ck_epoch_report r = healthy(e);
        r.health[1].empty = 30;
        r.health[0].dual_max = e > 5 ? 2 : 0.1;
        check(&w, &r, &h);
    }
    assert_int_equal(h.n, 2);
    assert_non_null(strstr(h.last, "Try a smaller ratio"));
    assert_null(strstr(h.last, "smaller eta"));
}

static void equal_features_are_told(void **state)
{
    (void)state;
    struct ck_epoch_report r = healthy(2);
    r.feature_mean = 0.99;
    assert_told_once(r, "nearly the same projection", 2);
}

static void centers_in_one_place_are_told(void **state)
{
    (void)state;
    struct ck_health w = {0};
    struct heard h = {0};
    struct ck_epoch_report r = healthy(2);
    r.health[1].duplicates = 20;
    for (int i = 0; i < 3; i++)
        check(&w, &r, &h);
    assert_int_equal(h.n, 1);
    assert_non_null(strstr(h.last, "20 of 100 centers of head 1 coincide with another one"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_training_is_left_in_peace),
        cmocka_unit_test(one_cluster_that_takes_all_is_told),
        cmocka_unit_test(advice_names_no_option_that_the_method_refuses),
        cmocka_unit_test(empty_clusters_are_told),
        cmocka_unit_test(large_duals_are_told),
        cmocka_unit_test(predictions_at_chance_are_told_after_five_epochs),
        cmocka_unit_test(predictions_for_few_images_are_counted_together),
        cmocka_unit_test(only_a_random_network_has_to_improve),
        cmocka_unit_test(predictions_at_chance_are_normal_before_a_hundred_short_steps),
        cmocka_unit_test(a_warning_names_the_two_options_most_likely_to_help),
        cmocka_unit_test(high_loss_with_right_predictions_is_left_in_peace),
        cmocka_unit_test(a_loss_that_climbs_back_without_predictions_is_told),
        cmocka_unit_test(loss_that_falls_without_knn_is_told_in_the_second_half),
        cmocka_unit_test(advice_never_contradicts_itself),
        cmocka_unit_test(equal_features_are_told),
        cmocka_unit_test(centers_in_one_place_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
