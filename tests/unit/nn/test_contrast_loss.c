/* test_contrast_loss.c - the nearest of many vectors. */
#include "nn/contrast_loss.h"
#include "core/rng.h"
#include "support.h"

#include <math.h>

enum { N = 70, M = 2100, DIM = 24 }; /* more than one block of rows and of columns */

static double x[N * DIM], y[M * DIM];

static void draw_unit(double *to, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int j = 0; j < DIM; j++) {
            double two[2];
            ck_rng_normal(seed, CK_RNG_INIT, (uint64_t)i, (uint32_t)j, two);
            to[i * DIM + j] = two[0];
            square += two[0] * two[0];
        }
        for (int j = 0; j < DIM; j++)
            to[i * DIM + j] /= sqrt(square);
    }
}

static double product(int64_t i, int64_t c)
{
    double sum = 0;
    for (int j = 0; j < DIM; j++)
        sum += x[i * DIM + j] * y[c * DIM + j];
    return sum;
}

static int64_t nearest(int64_t i)
{
    int64_t best = 0;
    for (int64_t c = 1; c < M; c++)
        best = product(i, c) > product(i, best) ? c : best;
    return best;
}

static void check_all(void)
{
    int64_t index[N];
    double *scratch = test_array((size_t)ck_nearest_scratch(M, DIM), sizeof *scratch);
    struct ck_contrast c = {x, y, N, M, DIM, 1};
    assert_ok(ck_nearest_column(&c, scratch, index));
    for (int64_t i = 0; i < N; i++)
        assert_int_equal(index[i], nearest(i));
    free(scratch);
}

static void nearest_column_has_the_largest_product(void **state)
{
    (void)state;
    draw_unit(x, N, 1);
    draw_unit(y, M, 2);
    check_all();
}

/* Columns that f32 cannot tell apart: turned towards the row by less than its rounding. */
static void nearest_column_is_exact_among_almost_equal_ones(void **state)
{
    (void)state;
    draw_unit(x, N, 1);
    draw_unit(y, M, 2);
    for (int64_t i = 0; i < N; i++)
        for (int k = 0; k < 8; k++) {
            double *near = y + (i + k * N) * DIM, square = 0;
            double toward = 1e-9 * (double)((3 * k + i) % 8);
            for (int j = 0; j < DIM; j++) {
                near[j] = (1 + toward) * x[i * DIM + j] + 0.1 * y[(M - 1 - i) * DIM + j];
                square += near[j] * near[j];
            }
            for (int j = 0; j < DIM; j++)
                near[j] /= sqrt(square);
        }
    check_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_column_has_the_largest_product),
        cmocka_unit_test(nearest_column_is_exact_among_almost_equal_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
