/* test_synthetic_vectors.c - made-up embeddings: unit length, a function of the seed alone. */
#include "support.h"

static void vectors_have_unit_length(void **state)
{
    (void)state;
    const int dims[] = {1, 2, 7, 128};
    for (int d = 0; d < 4; d++) {
        float *x = test_array(1000 * 128, sizeof *x);
        assert_ok(coke_synthetic_fill(x, 1000, dims[d], 50, 3));
        for (int i = 0; i < 1000; i++) {
            double sum = 0;
            for (int j = 0; j < dims[d]; j++)
                sum += (double)x[i * dims[d] + j] * (double)x[i * dims[d] + j];
            assert_close(sum, 1, 1e-5);
        }
        free(x);
    }
}

static void vectors_depend_on_the_seed_alone(void **state)
{
    (void)state;
    enum { SIZE = 3000 * 16 };
    float *a = test_array(SIZE, sizeof *a), *b = test_array(SIZE, sizeof *b);
    coke_set_threads(1);
    assert_ok(coke_synthetic_fill(a, 3000, 16, 40, 9));
    coke_set_threads(3);
    assert_ok(coke_synthetic_fill(b, 3000, 16, 40, 9));
    assert_memory_equal(a, b, SIZE * sizeof *a);
    assert_ok(coke_synthetic_fill(b, 1000, 16, 40, 9)); /* a shorter set is a beginning */
    assert_memory_equal(a, b, 1000 * 16 * sizeof *a);
    assert_ok(coke_synthetic_fill(b, 3000, 16, 40, 10));
    assert_true(memcmp(a, b, SIZE * sizeof *a) != 0);
    coke_set_threads(0);
    free(a);
    free(b);
}

static void impossible_sets_are_refused(void **state)
{
    (void)state;
    float x[4];
    assert_fails(coke_synthetic_fill(x, 0, 2, 1, 1), COKE_EUSAGE, "0 x 2");
    assert_fails(coke_synthetic_fill(x, 2, 0, 1, 1), COKE_EUSAGE, "invalid synthetic data");
    assert_fails(coke_synthetic_fill(x, 2, 2, 0, 1), COKE_EUSAGE, "0 clusters");
    assert_fails(coke_synthetic_fill(NULL, 2, 2, 1, 1), COKE_EUSAGE, "argument is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_have_unit_length),
        cmocka_unit_test(vectors_depend_on_the_seed_alone),
        cmocka_unit_test(impossible_sets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
