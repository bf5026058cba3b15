/* test_gemm_tiles.c - products of matrices on tiles against sums in double of the rounded
 * operands; the same bytes from the matrix unit and its emulation, and from any team. */
#include "support.h"

#include "kernels/amx.h"
#include "kernels/gemm_tiles.h"
#include "kernels/kernels_conv_tiles.h"
#include "kernels/layers.h"

/* The forms that exist: neither, A or B transposed. */
static const int forms[][2] = {{0, 0}, {1, 0}, {0, 1}};
static const int64_t sizes[][3] = {
    {1, 1, 1}, {7, 5, 3}, {64, 48, 33}, {130, 17, 100}, {33, 65, 64}};
enum { FORMS = 3, SIZES = sizeof sizes / sizeof *sizes };

static float *numbers(int64_t n, uint64_t seed)
{
    float *x = test_array((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = test_normal(seed, (uint64_t)i);
    return x;
}

static double rounded(const struct ck_matrix *a, int64_t i, int64_t j)
{
    uint16_t half;
    float v;
    ck_to_bf16(1, &a->data[a->transposed ? j * a->ld + i : i * a->ld + j], &half);
    ck_from_bf16(1, &half, &v);
    return (double)v;
}

/* Scratch is filled with NaN. */
static void run(const struct ck_tile_product *p, int threads)
{
    assert_ok(coke_set_threads(threads));
    size_t bytes = (ck_gemm_tiles_scratch(p->m, p->n, p->k) + 63) / 64 * 64;
    void *scratch = aligned_alloc(64, bytes);
    assert_non_null(scratch);
    memset(scratch, 0xff, bytes);
    ck_gemm_tiles(p, scratch);
    free(scratch);
}

static void check_values(const struct ck_tile_product *p, const float *before)
{
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            double want = p->accumulate ? (double)before[i * p->ldc + j] : 0, size = fabs(want);
            for (int64_t l = 0; l < p->k; l++) {
                double v = rounded(&p->a, i, l) * rounded(&p->b, l, j);
                want += v;
                size += fabs(v);
            }
            assert_close(p->c[i * p->ldc + j], want, 1e-6 * size + 1e-30);
        }
        for (int64_t j = p->n; j < p->ldc; j++) /* between the rows: unchanged */
            assert_true(p->c[i * p->ldc + j] == before[i * p->ldc + j]);
    }
}

static void check(const int64_t *size, const int *form, int accumulate,
                  const struct ck_tile_kernels *other)
{
    struct ck_tile_product p = {.m = size[0], .n = size[1], .k = size[2]};
    p.accumulate = accumulate;
    p.ldc = p.n + 3;
    int64_t lda = (form[0] ? p.m : p.k) + 1, ldb = (form[1] ? p.k : p.n) + 2;
    float *a = numbers((form[0] ? p.k : p.m) * lda, 1);
    float *b = numbers((form[1] ? p.n : p.k) * ldb, 2);
    float *before = numbers(p.m * p.ldc, 3), *first = numbers(p.m * p.ldc, 3);
    size_t bytes = (size_t)(p.m * p.ldc) * sizeof(float);
    p.a = (struct ck_matrix){a, lda, form[0]};
    p.b = (struct ck_matrix){b, ldb, form[1]};
    p.c = first;
    run(&p, 1);
    check_values(&p, before);
    p.c = numbers(p.m * p.ldc, 3);
    run(&p, 3);
    assert_memory_equal(p.c, first, bytes);
    if (other) {
        ck_tile_kernels_force(other);
        memcpy(p.c, before, bytes);
        run(&p, 2);
        assert_memory_equal(p.c, first, bytes);
    }
    assert_ok(coke_set_threads(0));
    free(a);
    free(b);
    free(before);
    free(first);
    free(p.c);
}

/* Each product also with `other`, which must give the same bytes; NULL = none. */
static void check_all(const struct ck_tile_kernels *version,
                      const struct ck_tile_kernels *other)
{
    for (int s = 0; s < SIZES; s++)
        for (int f = 0; f < FORMS; f++)
            for (int accumulate = 0; accumulate < 2; accumulate++) {
                ck_tile_kernels_force(version);
                check(sizes[s], forms[f], accumulate, other);
            }
    ck_tile_kernels_force(NULL);
}

static void products_on_emulated_tiles_are_right(void **state)
{
    (void)state;
    check_all(&ck_tile_kernels_emulated, NULL);
}

#if defined(__x86_64__)
static void products_on_the_unit_have_the_bytes_of_the_emulation(void **state)
{
    (void)state;
    if (ck_amx_obstacle())
        skip();
    check_all(&ck_tile_kernels_amx, &ck_tile_kernels_emulated);
}

static void products_on_avx512_bf16_are_right(void **state)
{
    (void)state;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512bf16"))
        skip();
    check_all(&ck_tile_kernels_bf16, NULL);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_on_emulated_tiles_are_right),
#if defined(__x86_64__)
        cmocka_unit_test(products_on_the_unit_have_the_bytes_of_the_emulation),
        cmocka_unit_test(products_on_avx512_bf16_are_right),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
