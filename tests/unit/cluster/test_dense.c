/* test_dense.c - the best labels of few rows within size bounds, against all labelings. */
#include "support.h"
#include "cluster/dense.h"
#include "core/mem.h"

enum { N = 8, K = 3 };

static double total(const struct ck_dense *d, const int32_t *label)
{
    double sum = 0;
    for (int64_t i = 0; i < d->n; i++)
        sum += (double)d->score[i * d->k + label[i]];
    return sum;
}

static int within(const struct ck_dense *d, const int64_t *size)
{
    for (int64_t k = 0; k < d->k; k++)
        if ((d->min_size && size[k] < d->min_size[k]) ||
            (d->max_size && size[k] > d->max_size[k]))
            return 0;
    return 1;
}

/* The best of all K^N labelings. */
static double best_of_all(const struct ck_dense *d)
{
    double best = -INFINITY;
    int64_t count = 1;
    for (int i = 0; i < N; i++)
        count *= K;
    for (int64_t code = 0; code < count; code++) {
        int32_t label[N];
        int64_t size[K] = {0}, rest = code;
        for (int i = 0; i < N; i++, rest /= K)
            size[label[i] = (int32_t)(rest % K)]++;
        if (within(d, size))
            best = fmax(best, total(d, label));
    }
    return best;
}

/* Labels at the prices, as a descent leaves them to the solver. */
static void choose_labels(struct ck_dense *d)
{
    for (int64_t i = 0; i < d->n; i++) {
        const float *s = d->score + i * d->k;
        d->label[i] = 0;
        for (int32_t k = 1; k < d->k; k++)
            if ((double)s[k] + d->price[k] > (double)s[d->label[i]] + d->price[d->label[i]])
                d->label[i] = k;
    }
    ck_dense_count(d);
}

static void check_solution(struct ck_dense *d)
{
    int64_t size[16] = {0}, sum = 0;
    for (int64_t i = 0; i < d->n; i++)
        size[d->label[i]]++;
    for (int64_t k = 0; k < d->k; k++) {
        assert_int_equal(size[k], d->size[k]);
        sum += d->size[k];
        for (int32_t i = d->head[k]; i >= 0; i = d->next[i])
            assert_int_equal(d->label[i], k);
    }
    assert_int_equal(sum, d->n);
    assert_true(within(d, size));
    for (int64_t i = 0; i < d->n; i++) /* no row is better elsewhere at the prices */
        for (int64_t k = 0; k < d->k; k++)
            assert_true((double)d->score[i * d->k + k] + d->price[k] <=
                        (double)d->score[i * d->k + d->label[i]] + d->price[d->label[i]] +
                            1e-9);
}

static void labels_are_the_best_of_all(void **state)
{
    (void)state;
    const int64_t low[K] = {2, 3, 1}, even[K] = {2, 2, 2}, high[K] = {3, 3, 4};
    const int64_t *bounds[][2] = {{low, NULL}, {NULL, high}, {even, high}, {low, high}};
    for (int b = 0; b < 4; b++) {
        struct ck_dense d;
        assert_ok(ck_dense_init(&d, N, K, bounds[b][0], bounds[b][1]));
        for (uint64_t seed = 0; seed < 12; seed++) { /* prices go on from case to case */
            for (int i = 0; i < N * K; i++) {
                double u = test_unit(seed + 1, (uint64_t)i);
                d.score[i] =
                    (float)(seed % 3 ? u + (i % K == 0) : floor(3 * u)); /* with ties */
            }
            choose_labels(&d);
            ck_dense_solve(&d);
            check_solution(&d);
            assert_close(total(&d, d.label), best_of_all(&d), 1e-6);
        }
        ck_dense_release(&d);
    }
}

static void many_rows_are_optimal_by_their_prices(void **state)
{
    (void)state;
    enum { ROWS = 500, CLUSTERS = 10 };
    int64_t low[CLUSTERS], high[CLUSTERS];
    for (int k = 0; k < CLUSTERS; k++) {
        low[k] = 30 + k;
        high[k] = k % 2 ? 60 : 70;
    }
    struct ck_dense d;
    assert_ok(ck_dense_init(&d, ROWS, CLUSTERS, low, high));
    for (int i = 0; i < ROWS * CLUSTERS; i++)
        d.score[i] = (float)test_unit(7, (uint64_t)i) * (float)(1 + i % CLUSTERS);
    choose_labels(&d);
    ck_dense_solve(&d);
    check_solution(&d);
    double dual = 0; /* of the price of a bound that binds */
    for (int k = 0; k < CLUSTERS; k++) {
        assert_true(!(d.price[k] > 1e-9) || d.size[k] == low[k]);
        assert_true(!(d.price[k] < -1e-9) || d.size[k] == high[k]);
        dual += fabs(d.price[k]);
    }
    assert_true(dual > 0);
    ck_dense_release(&d);
}

static void failing_allocations_leave_nothing(void **state)
{
    (void)state;
    const int64_t low[K] = {1, 1, 1};
    struct ck_dense d;
    int64_t live = ck_mem_stats().live;
    int rc = COKE_ENOMEM;
    for (int64_t nth = 1; rc; nth++) {
        ck_mem_fail_at(nth);
        rc = ck_dense_init(&d, N, K, low, NULL);
        assert_true(rc == COKE_OK || rc == COKE_ENOMEM);
        if (rc)
            assert_int_equal(ck_mem_stats().live, live);
    }
    ck_mem_fail_at(0);
    ck_dense_release(&d);
    assert_int_equal(ck_mem_stats().live, live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_the_best_of_all),
        cmocka_unit_test(many_rows_are_optimal_by_their_prices),
        cmocka_unit_test(failing_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
