/* test_order.c - every row exactly once, in every mode; blocks read whole runs. */
#include "support.h"
#include "cluster/order.h"

static void every_row_comes_exactly_once(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1,
                              2,
                              3,
                              63,
                              64,
                              65,
                              127,
                              128,
                              129,
                              1000,
                              4095,
                              4097,
                              64 * 5,
                              64 * 5 + 63,
                              64 * 4096,
                              64 * 4096 + 1,
                              64 * 4096 * 2 + 64 * 3 + 7};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int mode = CK_SHUFFLE_FULL; mode <= CK_SHUFFLE_NONE; mode++)
            for (uint64_t epoch = 0; epoch < 2; epoch++) {
                uint64_t n = sizes[s];
                uint8_t *seen = test_array(n, 1);
                struct ck_order o;
                int64_t row[100];
                ck_order_init(&o, (enum ck_shuffle)mode, 5, epoch, n);
                for (uint64_t at = 0; at < n; at += 100) {
                    int count = n - at < 100 ? (int)(n - at) : 100;
                    ck_order_rows(&o, at, count, row);
                    for (int i = 0; i < count; i++) {
                        assert_true(row[i] >= 0 && (uint64_t)row[i] < n);
                        assert_int_equal(seen[row[i]]++, 0);
                    }
                }
                free(seen);
            }
}

static void order_does_not_depend_on_how_it_is_asked_for(void **state)
{
    (void)state;
    enum { N = 64 * 4096 + 500 };
    for (int mode = CK_SHUFFLE_FULL; mode <= CK_SHUFFLE_NONE; mode++) {
        int64_t *a = test_array(N, sizeof *a), *b = test_array(N, sizeof *b);
        struct ck_order o;
        ck_order_init(&o, (enum ck_shuffle)mode, 9, 3, N);
        ck_order_rows(&o, 0, N, a);
        for (int at = N, step = 1; at > 0; step = step * 3 % 997) {
            int first = at > step ? at - step : 0;
            ck_order_rows(&o, (uint64_t)first, at - first, b + first);
            at = first;
        }
        assert_memory_equal(a, b, N * sizeof *a);
        free(a);
        free(b);
    }
}

static void epochs_and_seeds_differ(void **state)
{
    (void)state;
    enum { N = 10000 };
    for (int mode = CK_SHUFFLE_FULL; mode <= CK_SHUFFLE_BLOCK; mode++) {
        int64_t a[100], b[100], c[100];
        struct ck_order o;
        int same = 0, as_epoch = 0, fixed = 0;
        ck_order_init(&o, (enum ck_shuffle)mode, 1, 0, N);
        ck_order_rows(&o, 0, 100, a);
        ck_order_init(&o, (enum ck_shuffle)mode, 1, 1, N);
        ck_order_rows(&o, 0, 100, b);
        ck_order_init(&o, (enum ck_shuffle)mode, 2, 0, N);
        ck_order_rows(&o, 0, 100, c);
        for (int i = 0; i < 100; i++) {
            same += a[i] == c[i];
            as_epoch += a[i] == b[i];
            fixed += a[i] == i;
        }
        assert_true(same < 10 && as_epoch < 10 && fixed < 10);
    }
}

/* A window of positions draws from few runs, whole ones, so that a disk is read in pieces. */
static void block_mode_uses_whole_runs(void **state)
{
    (void)state;
    enum { N = 64 * 4096 * 2 + 64 * 100 + 9, RUNS = N / 64 };
    struct ck_order o;
    ck_order_init(&o, CK_SHUFFLE_BLOCK, 4, 1, N);
    int64_t *row = test_array(N, sizeof *row);
    ck_order_rows(&o, 0, N, row);
    for (int64_t window = 0; window * 64 * 4096 < RUNS * 64; window++) {
        uint8_t *rows_of_run = test_array(RUNS, 1);
        int64_t end =
            (window + 1) * 64 * 4096 < RUNS * 64 ? (window + 1) * 64 * 4096 : RUNS * 64;
        for (int64_t at = window * 64 * 4096; at < end; at++)
            rows_of_run[row[at] / 64]++;
        for (int64_t run = 0; run < RUNS; run++)
            assert_true(rows_of_run[run] == 0 || rows_of_run[run] == 64);
        free(rows_of_run);
    }
    for (int64_t at = RUNS * 64; at < N; at++)
        assert_int_equal(row[at], at);
    int64_t neighbours = 0; /* runs themselves are mixed */
    for (int64_t at = 1; at < RUNS * 64; at++)
        neighbours += row[at] == row[at - 1] + 1;
    assert_true(neighbours < N / 1000);
    free(row);
}

static void auto_mode_looks_at_the_size(void **state)
{
    (void)state;
    int64_t gib = (int64_t)1 << 30;
    assert_int_equal(ck_shuffle_resolve(CK_SHUFFLE_AUTO, 1), CK_SHUFFLE_FULL);
    assert_int_equal(ck_shuffle_resolve(CK_SHUFFLE_AUTO, 4 * gib), CK_SHUFFLE_FULL);
    assert_int_equal(ck_shuffle_resolve(CK_SHUFFLE_AUTO, 4 * gib + 1), CK_SHUFFLE_BLOCK);
    assert_int_equal(ck_shuffle_resolve(CK_SHUFFLE_NONE, 99 * gib), CK_SHUFFLE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_exactly_once),
        cmocka_unit_test(order_does_not_depend_on_how_it_is_asked_for),
        cmocka_unit_test(epochs_and_seeds_differ),
        cmocka_unit_test(block_mode_uses_whole_runs),
        cmocka_unit_test(auto_mode_looks_at_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
