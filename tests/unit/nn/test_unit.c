/* test_unit.c - scaling rows to length 1, forward and backward. */
#include "support.h"
#include "nn/unit.h"

static float *numbers(int64_t n, uint64_t seed, float size)
{
    float *x = test_array((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = size * test_normal(seed, (uint64_t)i);
    return x;
}

static double length_of(const float *x, int dim)
{
    double sum = 0;
    for (int j = 0; j < dim; j++)
        sum += (double)x[j] * (double)x[j];
    return sqrt(sum);
}

static void rows_have_length_one(void **state)
{
    (void)state;
    const int dims[] = {1, 2, 3, 5, 16, 127, 128};
    const float sizes[] = {1e-9f, 1, 1e18f};
    for (int d = 0; d < 7; d++)
        for (int s = 0; s < 3; s++) {
            enum { N = 70 };
            int dim = dims[d];
            float *raw = numbers(N * dim, 1, sizes[s]), length[N];
            float *unit = test_array((size_t)(N * dim), sizeof *unit);
            ck_unit_forward(raw, N, dim, unit, length);
            for (int i = 0; i < N; i++) {
                double want = length_of(raw + i * dim, dim);
                assert_close(length[i] / want, 1, 1e-7);
                assert_close(length_of(unit + i * dim, dim), 1, 2e-7);
                for (int j = 0; j < dim; j++)
                    assert_close(unit[i * dim + j], (double)raw[i * dim + j] / want, 1e-7);
            }
            free(raw);
            free(unit);
        }
}

/* f(raw) = weights . raw / max(|raw|, least), in double. */
static double weighed(const double *raw, const float *weights, int dim)
{
    double square = 0, sum = 0;
    for (int j = 0; j < dim; j++) {
        square += raw[j] * raw[j];
        sum += (double)weights[j] * raw[j];
    }
    return sum / fmax(sqrt(square), 1e-12);
}

static void gradient_equals_finite_differences(void **state)
{
    (void)state;
    const float sizes[] = {1e-14f, 1e-11f, 1, 1e6f};
    for (int dim = 1; dim <= 9; dim += 4)
        for (int s = 0; s < 4; s++) {
            float *raw = numbers(dim, 3, sizes[s]), *g = numbers(dim, 4, 1), length;
            float *unit = test_array((size_t)dim, sizeof *unit);
            float *out = test_array((size_t)dim, sizeof *out);
            ck_unit_forward(raw, 1, dim, unit, &length);
            ck_unit_backward(unit, &length, g, 1, dim, out);
            double x[9], h = (double)sizes[s] * 1e-4;
            for (int j = 0; j < dim; j++)
                x[j] = (double)raw[j];
            double scale = 1 / fmax((double)length, 1e-12);
            for (int j = 0; j < dim; j++) {
                double at = x[j];
                x[j] = at + h;
                double up = weighed(x, g, dim);
                x[j] = at - h;
                double down = weighed(x, g, dim);
                x[j] = at;
                assert_close(out[j] / scale, (up - down) / (2 * h) / scale, 1e-6);
            }
            free(raw);
            free(g);
            free(unit);
            free(out);
        }
}

static void zero_rows_stay_zero_and_pass_gradients_on(void **state)
{
    (void)state;
    float raw[3] = {0}, unit[3] = {7, 7, 7}, g[3] = {1, -2, 0.5f}, out[3], length;
    ck_unit_forward(raw, 1, 3, unit, &length);
    ck_unit_backward(unit, &length, g, 1, 3, out);
    assert_true(length == 0);
    for (int j = 0; j < 3; j++) {
        assert_true(unit[j] == 0);
        assert_close(out[j], (double)g[j] * 1e12, 1e6);
    }
}

static void work_in_place_and_on_any_number_of_threads(void **state)
{
    (void)state;
    enum { N = 333, DIM = 19 };
    float *raw = numbers(N * DIM, 5, 2), *g = numbers(N * DIM, 6, 1);
    float unit[N * DIM], out[N * DIM], length[N];
    coke_set_threads(1);
    ck_unit_forward(raw, N, DIM, unit, length);
    ck_unit_backward(unit, length, g, N, DIM, out);
    for (int threads = 2; threads <= 3; threads++) {
        float *x = numbers(N * DIM, 5, 2), *y = numbers(N * DIM, 6, 1), l[N];
        coke_set_threads(threads);
        ck_unit_forward(x, N, DIM, x, l);
        ck_unit_backward(x, l, y, N, DIM, y);
        assert_memory_equal(x, unit, sizeof unit);
        assert_memory_equal(l, length, sizeof length);
        assert_memory_equal(y, out, sizeof out);
        free(x);
        free(y);
    }
    coke_set_threads(0);
    free(raw);
    free(g);
}

static void what_is_not_finite_stays_visible(void **state)
{
    (void)state;
    float raw[4] = {1, NAN, INFINITY, 1}, unit[4], length[2];
    ck_unit_forward(raw, 2, 2, unit, length);
    assert_true(isnan(unit[0]) && isnan(unit[1]) && isnan(unit[2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_length_one),
        cmocka_unit_test(gradient_equals_finite_differences),
        cmocka_unit_test(zero_rows_stay_zero_and_pass_gradients_on),
        cmocka_unit_test(work_in_place_and_on_any_number_of_threads),
        cmocka_unit_test(what_is_not_finite_stays_visible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
