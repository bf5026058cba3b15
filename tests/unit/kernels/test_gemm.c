/* test_gemm.c - matrix products against plain sums in double. */
#include "support.h"
#include "core/workers.h"
#include "kernels/gemm.h"

struct product {
    int64_t m, n, k, lda, ldb, ldc;
    float alpha, beta;
    int ta, tb;
};

static double right(const struct product *p, const float *a, const float *b, float c, int64_t i,
                    int64_t j)
{
    double sum = 0;
    for (int64_t l = 0; l < p->k; l++)
        sum += (double)a[p->ta ? l * p->lda + i : i * p->lda + l] *
               (double)b[p->tb ? j * p->ldb + l : l * p->ldb + j];
    return (double)p->alpha * sum + (p->beta != 0 ? (double)p->beta * (double)c : 0);
}

static float *numbers(int64_t n, uint64_t seed)
{
    float *x = test_array((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = test_normal(seed, (uint64_t)i);
    return x;
}

static void check(const struct product *p)
{
    float *a = numbers((p->ta ? p->k : p->m) * p->lda, 1);
    float *b = numbers((p->tb ? p->n : p->k) * p->ldb, 2);
    float *c = numbers(p->m * p->ldc, 3), *before = numbers(p->m * p->ldc, 3);
    for (int64_t i = 0; i < p->m * p->ldc && p->beta == 0; i++)
        c[i] = before[i] = NAN;
    assert_ok(ck_gemm(p->m, p->n, p->k, p->alpha, (struct ck_matrix){a, p->lda, p->ta},
                      (struct ck_matrix){b, p->ldb, p->tb}, p->beta, c, p->ldc));
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++)
            assert_close(c[i * p->ldc + j], right(p, a, b, before[i * p->ldc + j], i, j),
                         5e-6 * sqrt((double)p->k));
        for (int64_t j = p->n; j < p->ldc; j++) /* between the rows: unchanged */
            assert_memory_equal(&c[i * p->ldc + j], &before[i * p->ldc + j], sizeof *c);
    }
    free(a);
    free(b);
    free(c);
    free(before);
}

static void products_of_all_forms_are_right(void **state)
{
    (void)state;
    const int64_t sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {64, 48, 33}, {130, 17, 300}};
    for (int s = 0; s < 4; s++)
        for (int form = 0; form < 4; form++)
            for (int extra = 0; extra < 2; extra++) {
                struct product p = {.m = sizes[s][0], .n = sizes[s][1], .k = sizes[s][2]};
                p.ta = form & 1;
                p.tb = form >> 1;
                p.alpha = extra ? 0.5f : 1;
                p.beta = extra ? -2 : 0;
                p.lda = (p.ta ? p.m : p.k) + 3 * extra;
                p.ldb = (p.tb ? p.k : p.n) + 5 * extra;
                p.ldc = p.n + 2 * extra;
                check(&p);
            }
}

static void nothing_summed_leaves_beta_c(void **state)
{
    (void)state;
    float c[4] = {1, 2, 3, 4}, a[2] = {0}, b[2] = {0};
    assert_ok(
        ck_gemm(2, 2, 0, 1, (struct ck_matrix){a, 1, 0}, (struct ck_matrix){b, 2, 0}, 2, c, 2));
    assert_true(c[0] == 2 && c[1] == 4 && c[2] == 6 && c[3] == 8);
}

static void impossible_sizes_are_errors(void **state)
{
    (void)state;
    float x[16] = {0};
    struct ck_matrix m = {x, 4, 0}, narrow = {x, 2, 0};
    assert_fails(ck_gemm(-1, 4, 4, 1, m, m, 0, x, 4), COKE_EUSAGE, "product -1 x 4 x 4");
    assert_fails(ck_gemm(4, 4, 4, 1, narrow, m, 0, x, 4), COKE_EUSAGE, "rows of 2, 4 and 4");
    assert_fails(ck_gemm(4, 4, 4, 1, m, m, 0, x, 3), COKE_EUSAGE, "rows of 4, 4 and 3");
}

struct task {
    const float *a, *b;
    float *c; /* [chunks][32][24] */
};

static void one_product(void *arg, int64_t chunk, int worker)
{
    struct task *t = arg;
    (void)worker;
    ck_gemm(32, 24, 40, 1, (struct ck_matrix){t->a + chunk * 32 * 40, 40, 0},
            (struct ck_matrix){t->b, 24, 0}, 0, t->c + chunk * 32 * 24, 24);
}

static void threads_may_each_make_products(void **state)
{
    (void)state;
    enum { CHUNKS = 12 };
    struct task t = {numbers(CHUNKS * 32 * 40, 1), numbers(40 * 24, 2),
                     numbers(CHUNKS * 32 * 24, 3)};
    struct product p = {.m = 32, .n = 24, .k = 40, .lda = 40, .ldb = 24, .alpha = 1};
    coke_set_threads(3);
    ck_parallel(CHUNKS, one_product, &t);
    coke_set_threads(0);
    for (int64_t i = 0; i < CHUNKS * 32; i++)
        for (int64_t j = 0; j < 24; j++)
            assert_close(t.c[i * 24 + j], right(&p, t.a, t.b, 0, i, j), 2e-5);
    free((void *)(uintptr_t)t.a);
    free((void *)(uintptr_t)t.b);
    free(t.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_all_forms_are_right),
        cmocka_unit_test(nothing_summed_leaves_beta_c),
        cmocka_unit_test(impossible_sizes_are_errors),
        cmocka_unit_test(threads_may_each_make_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
