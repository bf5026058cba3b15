/* test_pca.c - principal components: cases whose answer is known. */
#include "support.h"
#include "core/mem.h"
#include "eval/pca.h"

/* An ellipsoid whose axes are turned: variances 9, 4, 1, .25 along known directions. */
static void known_axes_are_found(void **state)
{
    (void)state;
    enum { N = 8, DIM = 4 };
    const double r = sqrt(0.5);
    const double axis[DIM][DIM] = {{r, r, 0, 0}, {r, -r, 0, 0}, {0, 0, r, r}, {0, 0, r, -r}};
    const double spread[DIM] = {3, 2, 1, 0.5};
    float x[N * DIM];
    struct ck_pca p;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < DIM; j++) {
            double v = 10.0 * j;
            v += (i % 2 ? -1 : 1) * spread[i / 2] * 2 * axis[i / 2][j]; /* 2 of 8 rows */
            x[i * DIM + j] = (float)v;
        }
    assert_ok(ck_pca_fit(&p, x, N, DIM, 2));
    assert_close(p.variance[0], 9, 1e-4);
    assert_close(p.variance[1], 4, 1e-4);
    assert_close(p.total, 14.25, 1e-4);
    for (int j = 0; j < DIM; j++) {
        assert_close((double)p.mean[j], 10.0 * j, 1e-5);
        assert_close(fabs((double)p.axis[j]), fabs(axis[0][j]), 1e-5);
        assert_close(fabs((double)p.axis[DIM + j]), fabs(axis[1][j]), 1e-5);
    }
    float out[N * 2];
    ck_pca_project(&p, x, N, out);
    assert_close(fabs((double)out[0]), 6, 1e-4);
    assert_close((double)out[1], 0, 1e-4);
    assert_close((double)(out[0] + out[2]), 0, 1e-4);
    ck_pca_release(&p);
}

static void axes_are_orthogonal_and_point_one_way(void **state)
{
    (void)state;
    enum { N = 300, DIM = 40 };
    float *x = test_vectors(N, DIM, 7, 0.5, 2);
    struct ck_pca p;
    assert_ok(ck_pca_fit(&p, x, N, DIM, 3));
    assert_true(p.variance[0] >= p.variance[1] && p.variance[1] >= p.variance[2]);
    for (int a = 0; a < 3; a++) {
        float most = 0;
        for (int j = 0; j < DIM; j++)
            most = fabsf(p.axis[a * DIM + j]) > fabsf(most) ? p.axis[a * DIM + j] : most;
        assert_true(most > 0);
        for (int b = 0; b < 3; b++) {
            double s = 0;
            for (int j = 0; j < DIM; j++)
                s += (double)p.axis[a * DIM + j] * (double)p.axis[b * DIM + j];
            assert_close(s, a == b, 1e-5);
        }
    }
    ck_pca_release(&p);
    free(x);
}

/* Rows in one place, on a line, of one dimension, a single one. */
static void degenerate_rows_have_zero_axes(void **state)
{
    (void)state;
    float same[] = {1, 2, 3, 1, 2, 3, 1, 2, 3}, line[] = {0, 0, 1, 1, 2, 2}, one[] = {1, 5, 3};
    float out[6];
    struct ck_pca p;
    assert_ok(ck_pca_fit(&p, same, 3, 3, 2));
    assert_true(p.total == 0 && p.variance[0] == 0);
    ck_pca_project(&p, same, 3, out);
    assert_true(out[0] == 0 && out[5] == 0);
    ck_pca_release(&p);
    assert_ok(ck_pca_fit(&p, line, 3, 2, 2));
    assert_close(p.variance[0], 4.0 / 3, 1e-5);
    assert_close(p.variance[1], 0, 1e-5);
    ck_pca_release(&p);
    assert_ok(ck_pca_fit(&p, one, 3, 1, 2));
    assert_close((double)p.axis[0], 1, 1e-6);
    assert_true(p.axis[1] == 0);
    ck_pca_release(&p);
    assert_ok(ck_pca_fit(&p, one, 1, 3, 2));
    assert_true(p.total == 0);
    ck_pca_release(&p);
}

static void failing_memory_leaves_nothing(void **state)
{
    (void)state;
    float *x = test_vectors(50, 20, 3, 0.5, 2);
    struct ck_pca p;
    int rc = COKE_ENOMEM;
    int64_t live = ck_mem_stats().live;
    for (int at = 1; rc == COKE_ENOMEM; at++) {
        ck_mem_fail_at(at);
        rc = ck_pca_fit(&p, x, 50, 20, 2);
        ck_mem_fail_at(0);
        if (rc)
            assert_int_equal(ck_mem_stats().live, live);
    }
    assert_ok(rc);
    ck_pca_release(&p);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_axes_are_found),
        cmocka_unit_test(axes_are_orthogonal_and_point_one_way),
        cmocka_unit_test(degenerate_rows_have_zero_axes),
        cmocka_unit_test(failing_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
