/* test_first_choice.c - what is chosen for a user who has named the images alone. */
#include "support.h"
#include "train/first_choice.h"

static struct ck_train_options chosen(int64_t images, int32_t side)
{
    struct ck_train_options o = ck_train_options_default();
    struct ck_first_facts f = {images, side};
    assert_ok(ck_first_choose_for(&o, &f, NULL));
    assert_ok(ck_train_options_check(&o));
    for (int i = 0; i < o.k.n; i++)
        assert_true(o.k.v[i] <= images);
    assert_true(o.loader.batch <= images);
    return o;
}

static void everything_follows_from_number_and_size(void **state)
{
    (void)state;
    static const struct {
        int64_t images;
        int32_t side, heads, first, last;
        int64_t batch, epochs, size;
    } rows[] = {
        {2, 8, 1, 2, 2, 2, 201, 8},           {20, 500, 2, 2, 4, 16, 201, 64},
        {300, 28, 2, 3, 10, 16, 201, 24},     {3000, 32, 4, 3, 100, 64, 201, 24},
        {50000, 32, 4, 10, 300, 128, 21, 24}, {1000000, 300, 4, 10, 300, 128, 21, 64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ck_train_options o = chosen(rows[i].images, rows[i].side);
        assert_int_equal(o.k.n, rows[i].heads);
        assert_int_equal(o.k.v[0], rows[i].first);
        assert_int_equal(o.k.v[o.k.n - 1], rows[i].last);
        assert_int_equal(o.loader.batch, rows[i].batch);
        assert_int_equal(o.epochs, rows[i].epochs);
        assert_int_equal(o.loader.view.size, rows[i].size);
    }
}

/* Duals would need ten epochs of two steps to follow otherwise. */
static void duals_take_larger_steps_where_an_epoch_has_few(void **state)
{
    (void)state;
    assert_close(chosen(20, 32).kmeans.eta, 0.04 * 2, 1e-7);
    assert_close(chosen(450, 32).kmeans.eta, 0.01 * 3 * 48 / 29, 1e-7);
    assert_close(chosen(3000, 32).kmeans.eta, 0.01 * 3 * 48 / 47, 1e-7);
    assert_close(chosen(50000, 32).kmeans.eta, 0.01 * 10, 1e-7);
}

static void what_was_set_stays(void **state)
{
    (void)state;
    struct ck_train_options o = ck_train_options_default(), before;
    struct ck_first_facts f = {3000, 32};
    o.kmeans.ratio = 0.5;
    o.epochs = 7;
    o.loader.view.size = 20;
    assert_ok(ck_first_choose_for(&o, &f, NULL));
    assert_close(o.kmeans.ratio, 0.5, 0);
    assert_int_equal(o.epochs, 7);
    assert_int_equal(o.loader.view.size, 20);
    assert_int_equal(o.loader.batch, 64);
    o = ck_train_options_default();
    o.k = (struct ck_ints){1, {5}};
    before = o;
    assert_ok(ck_first_choose_for(&o, &f, NULL));
    assert_memory_equal(&o, &before, sizeof o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_follows_from_number_and_size),
        cmocka_unit_test(duals_take_larger_steps_where_an_epoch_has_few),
        cmocka_unit_test(what_was_set_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
