/* test_matrix.c - products of matrices of double: every version returns the bits of a plain loop,
 * for any strides and sizes. */
#include "support.h"
#include "kernels/matrix.h"

static const char *const names[] = {"ref", "avx2", "avx512", "vnni", "amx"};

static double *numbers(int64_t n, uint64_t seed)
{
    double *x = test_array((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)test_normal(seed, (uint64_t)i);
    return x;
}

static void every_version_returns_the_bits_of_the_reference(void **state)
{
    enum { DEPTH = 37, SIZE = CK_TILE_ROWS * CK_TILE_COLS };
    double *a = numbers(DEPTH * CK_TILE_ROWS, 1), *b = numbers(DEPTH * CK_TILE_COLS, 2);
    double *first = numbers(SIZE, 3), want[SIZE], got[SIZE];
    (void)state;
    memcpy(want, first, sizeof want);
    ck_matrix_tile_ref(a, b, DEPTH, want);
    for (size_t v = 0; v < sizeof names / sizeof *names; v++) {
        ck_matrix_tile tile = ck_matrix_tile_named(names[v]);
        if (!tile)
            continue;
        memcpy(got, first, sizeof got);
        tile(a, b, DEPTH, got);
        assert_memory_equal(got, want, sizeof want);
    }
    free(a);
    free(b);
    free(first);
}

/* Both operands may be transposed: strides tell. */
static void compare(int64_t m, int64_t n, int64_t k, int flips, int keep)
{
    double *a = numbers(m * k, 4), *b = numbers(k * n, 5), *c = numbers(m * (n + 3), 6);
    double *before = numbers(m * (n + 3), 6);
    struct ck_operand x =
        flips & 1 ? (struct ck_operand){a, 1, m} : (struct ck_operand){a, k, 1};
    struct ck_operand y =
        flips & 2 ? (struct ck_operand){b, 1, k} : (struct ck_operand){b, n, 1};
    ck_matrix_product(m, n, k, x, y, keep, c, n + 3);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n + 3; j++) {
            double want = keep || j >= n ? before[i * (n + 3) + j] : 0;
            for (int64_t t = 0; t < k && j < n; t++)
                want = fma(a[i * x.row + t * x.col], b[t * y.row + j * y.col], want);
            if (memcmp(&want, &c[i * (n + 3) + j], sizeof want) != 0)
                fail_msg("%lld x %lld x %lld: (%lld, %lld) is %.17g, not %.17g", (long long)m,
                         (long long)n, (long long)k, (long long)i, (long long)j,
                         c[i * (n + 3) + j], want);
        }
    free(a);
    free(b);
    free(c);
    free(before);
}

static void products_are_sums_in_order(void **state)
{
    static const int64_t sizes[][3] = {{1, 1, 1},    {8, 16, 5},   {9, 17, 130}, {33, 65, 128},
                                       {70, 3, 257}, {3, 140, 40}, {40, 70, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int f = 0; f < 8; f++)
            compare(sizes[i][0], sizes[i][1], sizes[i][2], f & 3, f >> 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_returns_the_bits_of_the_reference),
        cmocka_unit_test(products_are_sums_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
