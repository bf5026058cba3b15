/* test_duals.c - the dual steps and the projection, against slow arithmetic in double. */
#include "support.h"
#include "cluster/duals.h"
#include "core/mem.h"

static struct ck_duals make(int64_t k, int upper, double min_size, double max_size)
{
    struct ck_duals d;
    assert_ok(ck_duals_init(&d, k, upper));
    for (int64_t i = 0; i < k; i++) {
        d.min_size[i] = min_size / (double)k;
        if (upper)
            d.max_size[i] = max_size / (double)k;
    }
    return d;
}

static void draw_counts(int64_t k, int64_t b, uint64_t seed, int32_t *count)
{
    memset(count, 0, (size_t)k * sizeof *count);
    for (int64_t i = 0; i < b; i++) {
        double u = test_unit(seed, (uint64_t)i);
        count[(int64_t)(u * u * (double)k)]++;
    }
}

static void step_is_the_equation(void **state)
{
    (void)state;
    enum { K = 7 };
    for (int kind = 0; kind < 3; kind++) { /* clamped, free, with upper bounds */
        int late = kind == 0;
        double weights = 0;
        struct ck_duals d = make(K, kind == 2, kind == 1 ? 1 : 0.4, 1.5);
        double rho[K] = {0}, sigma[K] = {0}, total[K] = {0};
        int32_t count[K];
        float bias[K];
        d.eta = 0.7f;
        d.free = kind == 1;
        d.late = late;
        for (uint64_t step = 0; step < 50; step++) {
            int64_t b = step % 5 ? 64 : 13;
            double t = (double)(step + 1), power = late ? 8 : 2;
            weights += pow(t, power);
            draw_counts(K, b, step, count);
            ck_duals_step(&d, count, b);
            for (int k = 0; k < K; k++) {
                rho[k] += 0.7 * (d.min_size[k] - (double)count[k] / (double)b);
                if (kind != 1)
                    rho[k] = fmax(rho[k], 0);
                if (kind == 2)
                    sigma[k] = fmax(
                        0, sigma[k] + 0.7 * ((double)count[k] / (double)b - d.max_size[k]));
                total[k] += pow(t, power) * (rho[k] - sigma[k]);
                assert_close((double)d.rho[k], rho[k], 1e-5); /* f32 sums of 50 steps */
                assert_close(d.total[k], total[k], 1e-5 * pow(t, power + 1));
                assert_close(ck_duals_average(&d, k), total[k] / weights, 1e-5);
                if (kind == 2)
                    assert_close((double)d.sigma[k], sigma[k], 1e-5);
            }
            ck_duals_bias(&d, bias);
            for (int k = 0; k < K; k++)
                assert_close((double)bias[k], rho[k] - sigma[k], 2e-5);
        }
        assert_int_equal(d.steps, 50);
        ck_duals_release(&d);
    }
}

static void first_steps_are_longer(void **state)
{
    (void)state;
    enum { K = 4, B = 8 };
    struct ck_duals d = make(K, 0, 0.4, 0), plain = make(K, 0, 0.4, 0);
    const int32_t none[K] = {0};
    d.eta = plain.eta = 0.25f;
    d.warm = 50;
    for (int t = 1; t <= 60; t++) {
        double want = t <= 6 ? 4 : t < 25 ? 25. / t : 1;
        float was = d.rho[0], before = plain.rho[0];
        ck_duals_step(&d, none, B);
        ck_duals_step(&plain, none, B);
        assert_close((double)(d.rho[0] - was), want * (double)(plain.rho[0] - before), 1e-5);
    }
    ck_duals_release(&d);
    ck_duals_release(&plain);
}

/* Projection by bisection on the amount that all lose. */
static void project_slowly(const float *v, int k, double tau, double *out)
{
    double low = 0, high = 1e9;
    for (int round = 0; round < 400; round++) {
        double theta = (low + high) / 2, sum = 0;
        for (int i = 0; i < k; i++)
            sum += fmax(0, (double)v[i] - theta);
        if (sum > tau)
            low = theta;
        else
            high = theta;
    }
    double sum = 0;
    for (int i = 0; i < k; i++)
        sum += fmax(0, (double)v[i]);
    for (int i = 0; i < k; i++)
        out[i] = fmax(0, (double)v[i] - (sum <= tau ? 0 : high));
}

static void projection_is_the_nearest_point(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        enum { MAX = 60 };
        int k = 1 + (int)(seed % MAX);
        float v[MAX], scratch[MAX];
        double want[MAX], sum = 0;
        float tau = (float)(0.01 + 5 * test_unit(seed, 7777));
        for (int i = 0; i < k; i++) {
            v[i] = test_normal(seed, (uint64_t)i) * (seed % 3 ? 1.0f : 10.0f);
            if (seed % 7 == 0)
                v[i] = roundf(v[i]); /* ties */
        }
        project_slowly(v, k, (double)tau, want);
        ck_project(v, k, tau, scratch);
        for (int i = 0; i < k; i++) {
            assert_true(v[i] >= 0);
            assert_close((double)v[i], want[i], 2e-6);
            sum += (double)v[i];
        }
        assert_true(sum <= (double)tau * (1 + 1e-6));
    }
}

static void projected_duals_stay_within_tau(void **state)
{
    (void)state;
    enum { K = 9 };
    struct ck_duals d = make(K, 0, 0.9, 0);
    int32_t count[K];
    d.eta = 0.5f;
    d.tau = 0.3f;
    for (uint64_t step = 0; step < 200; step++) {
        double sum = 0;
        draw_counts(K, 16, step % 3, count);
        ck_duals_step(&d, count, 16);
        for (int k = 0; k < K; k++) {
            assert_true(d.rho[k] >= 0);
            sum += (double)d.rho[k];
        }
        assert_true(sum <= 0.3 * (1 + 1e-5));
    }
    ck_duals_release(&d);
}

static void upper_duals_rise_where_too_many_come(void **state)
{
    (void)state;
    struct ck_duals d = make(2, 1, 0, 1.2);
    float bias[2];
    d.eta = 1;
    ck_duals_step(&d, (int32_t[]){10, 0}, 10);
    assert_close((double)d.sigma[0], 1 - 0.6, 1e-6);
    assert_true(d.sigma[1] == 0);
    ck_duals_bias(&d, bias);
    assert_true(bias[0] < bias[1]);
    ck_duals_release(&d);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    int64_t live = ck_mem_stats().live;
    for (int i = 1; i <= 6; i++) {
        struct ck_duals d;
        ck_mem_fail_at(i);
        assert_int_equal(ck_duals_init(&d, 5, 1), COKE_ENOMEM);
        ck_mem_fail_at(0);
        assert_int_equal(ck_mem_stats().live, live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_is_the_equation),
        cmocka_unit_test(first_steps_are_longer),
        cmocka_unit_test(projection_is_the_nearest_point),
        cmocka_unit_test(projected_duals_stay_within_tau),
        cmocka_unit_test(upper_duals_rise_where_too_many_come),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
