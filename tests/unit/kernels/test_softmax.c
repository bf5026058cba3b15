/* test_softmax.c - the softmax kernels: every version returns the reference's bits, and the
 * reference is accurate. */
#include "support.h"
#include "kernels/softmax.h"

enum { ROWS = CK_SOFT_ROWS };

static const char *const names[] = {"ref", "avx2", "avx512", "vnni", "amx"};

static void fill(float *x, int64_t n, uint64_t seed, float size)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = size * test_normal(seed, (uint64_t)i);
}

static void fill_top(float *top)
{
    for (int r = 0; r < ROWS; r++)
        top[r] = r % 3 == 0 ? -INFINITY : 0.02f * (float)r;
}

static void same_bits(const char *name, const char *what, const float *got, const float *want,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(got + i, want + i, sizeof *got) != 0)
            fail_msg("%s: %s[%lld] is %.9g, not %.9g", name, what, (long long)i, (double)got[i],
                     (double)want[i]);
}

/* Calls each kernel in turn, on the result of the previous one. */
struct run {
    float *s, *e, top[ROWS], sum[ROWS], keep[ROWS];
};

static struct run run_all(const struct ck_softmax *kn, const float *c, int64_t count, int dim,
                          const float *xt, float scale)
{
    struct run r = {test_array((size_t)(count * ROWS), sizeof(float)),
                    test_array((size_t)(dim * ROWS), sizeof(float)),
                    {0},
                    {0},
                    {0}};
    fill_top(r.top);
    fill(r.e, (int64_t)dim * ROWS, 5, 1);
    fill(r.sum, ROWS, 6, 1);
    memcpy(r.keep, r.top, sizeof r.keep);
    kn->scores(c, count, dim, xt, r.s, r.top);
    kn->exps(r.keep, 1, r.top, scale, r.sum);
    kn->exps(r.s, count, r.top, scale, r.sum);
    kn->mix(c, count, dim, r.s, r.keep, r.e);
    return r;
}

static void compare_all(const char *name, int64_t count, int dim, float size, float scale)
{
    float *c = test_array((size_t)(count * dim), sizeof *c);
    float *xt = test_array((size_t)(dim * ROWS), sizeof *xt);
    fill(c, count * dim, (uint64_t)count, size);
    fill(xt, (int64_t)dim * ROWS, (uint64_t)dim + 100, size);
    struct run want = run_all(&ck_softmax_ref, c, count, dim, xt, scale);
    struct run got = run_all(ck_softmax_named(name), c, count, dim, xt, scale);
    same_bits(name, "top", got.top, want.top, ROWS);
    same_bits(name, "keep", got.keep, want.keep, ROWS);
    same_bits(name, "p", got.s, want.s, count * ROWS);
    same_bits(name, "sum", got.sum, want.sum, ROWS);
    same_bits(name, "e", got.e, want.e, (int64_t)dim * ROWS);
    free(want.s);
    free(want.e);
    free(got.s);
    free(got.e);
    free(c);
    free(xt);
}

static void versions_give_the_same_bits(void **state)
{
    (void)state;
    const int64_t counts[] = {1, 2, 7, 8, 9, 16, 31, 128};
    const int dims[] = {1, 3, 4, 7, 8, 9, 16, 33, 128};
    for (int v = 0; v < 5; v++)
        for (int i = 0; i < 8 && ck_softmax_named(names[v]); i++)
            for (int j = 0; j < 9; j++) {
                compare_all(names[v], counts[i], dims[j], 1 / sqrtf((float)dims[j]), 20);
                compare_all(names[v], counts[i], dims[j], 3, 1);
                compare_all(names[v], counts[i], dims[j], 1e-20f, 1e3f);
            }
}

/* exp through the kernel: 48 numbers at a time. */
static void exps_of(const struct ck_softmax *kn, const float *x, float *y)
{
    float zero[ROWS] = {0}, sum[ROWS] = {0};
    memcpy(y, x, ROWS * sizeof *y);
    kn->exps(y, 1, zero, 1, sum);
}

static double ulp_of(double y)
{
    int exponent;
    frexp(y, &exponent);
    return ldexp(1, exponent - 24);
}

static void exp_is_within_one_ulp(void **state)
{
    (void)state;
    double worst = 0;
    uint32_t last, at = 0x80000000u; /* -0, towards larger lengths */
    float least = CK_EXP_MIN;
    memcpy(&last, &least, sizeof last);
    while (at <= last) {
        float x[ROWS], y[ROWS];
        for (int r = 0; r < ROWS; r++, at += 211)
            memcpy(&x[r], at <= last ? &at : &last, sizeof *x);
        exps_of(&ck_softmax_ref, x, y);
        for (int r = 0; r < ROWS; r++) {
            double right = exp((double)x[r]), off = fabs((double)y[r] - right) / ulp_of(right);
            worst = off > worst ? off : worst;
            if (off > 1)
                fail_msg("exp(%.9g) is %.9g, %g ulp off", (double)x[r], (double)y[r], off);
        }
    }
    print_message("             at most %.3f ulp off\n", worst);
}

static void exp_of_extremes(void **state)
{
    (void)state;
    float x[ROWS] = {0, -0.0f, -INFINITY, -1e38f, -88, CK_EXP_MIN, -1e-40f}, y[ROWS];
    x[7] = nextafterf(CK_EXP_MIN, -INFINITY);
    for (int v = 0; v < 5; v++) {
        const struct ck_softmax *kn = ck_softmax_named(names[v]);
        if (!kn)
            continue;
        exps_of(kn, x, y);
        assert_true(y[0] == 1 && y[1] == 1 && y[6] == 1);
        assert_true(y[2] == 0 && y[3] == 0 && y[4] == 0 && y[7] == 0);
        assert_true(y[5] > 0 && isnormal(y[5]));
    }
}

static void products_are_right(void **state)
{
    (void)state;
    enum { COUNT = 37, DIM = 21 };
    float c[COUNT * DIM], xt[DIM * ROWS];
    fill(c, COUNT * DIM, 1, 1);
    fill(xt, DIM * ROWS, 2, 1);
    float s[COUNT * ROWS], top[ROWS], keep[ROWS], e[DIM * ROWS], before[DIM * ROWS];
    fill_top(top);
    fill(keep, ROWS, 3, 1);
    fill(e, DIM * ROWS, 4, 1);
    memcpy(before, e, sizeof e);
    ck_softmax_ref.scores(c, COUNT, DIM, xt, s, top);
    ck_softmax_ref.mix(c, COUNT, DIM, s, keep, e);
    for (int r = 0; r < ROWS; r++) {
        double most = r % 3 == 0 ? -INFINITY : (double)(0.02f * (float)r);
        for (int k = 0; k < COUNT; k++) {
            double want = 0;
            for (int j = 0; j < DIM; j++)
                want += (double)c[k * DIM + j] * (double)xt[j * ROWS + r];
            assert_close(s[k * ROWS + r], want, 1e-5);
            most = fmax(most, (double)s[k * ROWS + r]);
        }
        assert_true((double)top[r] == most);
        for (int j = 0; j < DIM; j++) {
            double want = (double)before[j * ROWS + r] * (double)keep[r];
            for (int k = 0; k < COUNT; k++)
                want += (double)c[k * DIM + j] * (double)s[k * ROWS + r];
            assert_close(e[j * ROWS + r], want, 2e-4);
        }
    }
}

static void a_block_holds_the_rows_side_by_side(void **state)
{
    (void)state;
    enum { DIM = 5 };
    float x[ROWS * DIM], xt[DIM * ROWS];
    fill(x, ROWS * DIM, 1, 1);
    for (int rows = 1; rows <= ROWS; rows += 47) {
        fill(xt, DIM * ROWS, 2, 1);
        ck_soft_block(x, rows, DIM, xt);
        for (int r = 0; r < ROWS; r++)
            for (int j = 0; j < DIM; j++)
                assert_true(xt[j * ROWS + r] == (r < rows ? x[r * DIM + j] : 0));
    }
}

static void the_version_follows_the_other_kernels(void **state)
{
    (void)state;
    assert_ptr_equal(ck_softmax_named("ref"), &ck_softmax_ref);
    assert_null(ck_softmax_named("mmx"));
    assert_ptr_equal(ck_softmax(), ck_softmax_named(ck_kernels()->name));
    for (int v = 1; v < 3; v++)
        if (ck_kernels_named(names[v]))
            assert_string_equal(ck_softmax_named(names[v])->name, names[v]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_give_the_same_bits),
        cmocka_unit_test(exp_is_within_one_ulp),
        cmocka_unit_test(exp_of_extremes),
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(a_block_holds_the_rows_side_by_side),
        cmocka_unit_test(the_version_follows_the_other_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
