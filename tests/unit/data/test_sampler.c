/* test_sampler.c - every image once an epoch, in the same batches for any number of ranks. */
#include "support.h"
#include "data/sampler.h"

static int64_t steps_of(int64_t n, int64_t batch)
{
    struct ck_sampler s = {.n = n, .batch = batch, .ranks = 1};
    return ck_sampler_steps(&s);
}

static void short_last_batch_is_kept_and_a_single_image_joins(void **state)
{
    (void)state;
    assert_int_equal(steps_of(100, 10), 10);
    assert_int_equal(steps_of(105, 10), 11);
    assert_int_equal(steps_of(102, 10), 11);
    assert_int_equal(steps_of(101, 10), 10); /* the last one has 11 */
    assert_int_equal(steps_of(7, 10), 1);
    assert_int_equal(steps_of(1, 10), 1);
    assert_int_equal(steps_of(1, 1), 1);
    assert_int_equal(steps_of(5, 1), 5);
    struct ck_sampler s = {.n = 101, .batch = 10, .ranks = 1};
    int64_t index[16], total;
    assert_int_equal(ck_sampler_get(&s, 0, 9, index, NULL, &total), 11);
    assert_int_equal(total, 11);
    assert_int_equal(ck_sampler_max(&s), 11);
}

/* All ranks' parts of all batches of an epoch, put together. */
static int64_t *whole_epoch(int64_t n, int64_t batch, int32_t ranks, uint64_t seed,
                            int64_t epoch, int shuffle)
{
    int64_t *all = test_array((size_t)n, sizeof *all), at = 0, first, total;
    struct ck_sampler s = {
        .n = n, .batch = batch, .ranks = ranks, .seed = seed, .shuffle = shuffle};
    for (int64_t step = 0; step < ck_sampler_steps(&s); step++) {
        int64_t before = 0, least = n, most = 0;
        for (s.rank = 0; s.rank < ranks; s.rank++) {
            int64_t count = ck_sampler_get(&s, epoch, step, all + at + before, &first, &total);
            assert_int_equal(first, before);
            assert_true(count <= ck_sampler_max(&s));
            least = count < least ? count : least;
            most = count > most ? count : most;
            before += count;
        }
        assert_int_equal(before, total);
        assert_true(most - least <= 1);
        at += total;
    }
    assert_int_equal(at, n);
    return all;
}

static void every_image_comes_once_an_epoch(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{1, 4},   {2, 1},     {33, 8},
                                       {100, 7}, {1000, 64}, {129, 128}};
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; c++) {
        int64_t n = sizes[c][0];
        int64_t *all = whole_epoch(n, sizes[c][1], 1, 5, 3, 1);
        uint8_t *seen = test_array((size_t)n, 1);
        for (int64_t i = 0; i < n; i++) {
            assert_in_range(all[i], 0, n - 1);
            assert_false(seen[all[i]]++);
        }
        free(seen);
        free(all);
    }
}

static void batches_do_not_depend_on_the_number_of_ranks(void **state)
{
    (void)state;
    int64_t *one = whole_epoch(1003, 50, 1, 9, 2, 1);
    for (int32_t ranks = 2; ranks <= 5; ranks++) {
        int64_t *many = whole_epoch(1003, 50, ranks, 9, 2, 1);
        assert_memory_equal(one, many, 1003 * sizeof *one);
        free(many);
    }
    free(one);
}

static void epochs_and_seeds_have_orders_of_their_own(void **state)
{
    (void)state;
    int64_t *a = whole_epoch(500, 50, 1, 1, 0, 1), *b = whole_epoch(500, 50, 1, 1, 1, 1);
    int64_t *c = whole_epoch(500, 50, 1, 2, 0, 1), *plain = whole_epoch(500, 50, 1, 2, 0, 0);
    assert_memory_not_equal(a, b, 500 * sizeof *a);
    assert_memory_not_equal(a, c, 500 * sizeof *a);
    for (int64_t i = 0; i < 500; i++)
        assert_int_equal(plain[i], i);
    free(a);
    free(b);
    free(c);
    free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_last_batch_is_kept_and_a_single_image_joins),
        cmocka_unit_test(every_image_comes_once_an_epoch),
        cmocka_unit_test(batches_do_not_depend_on_the_number_of_ranks),
        cmocka_unit_test(epochs_and_seeds_have_orders_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
