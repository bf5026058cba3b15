/* test_layers.c - elementwise kernels: every version returns the bits that layers.h
 * specifies. */
#include "layers_test.h"

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* The nearer of the two neighbours, the even one in a tie; compares distances in double and
 * treats infinity as the next power of two. */
static uint16_t nearest_bf16(float x)
{
    uint16_t low = (uint16_t)(bits_of(x) >> 16), high = (uint16_t)(low + 1);
    double end = (high & 0x7fff) == 0x7f80 ? ldexp(x < 0 ? -1 : 1, 128)
                                           : (double)float_of((uint32_t)high << 16);
    double below = fabs((double)x - (double)float_of((uint32_t)low << 16));
    double above = fabs(end - (double)x);
    if (isinf(x))
        return low;
    if (below == above)
        return low & 1 ? high : low;
    return below < above ? low : high;
}

struct conversion {
    int64_t n;
    float *x, *back;
    uint16_t *want, *got;
};

static void convert(void *arg, const char *way)
{
    struct conversion *c = arg;
    ck_to_bf16(c->n, c->x, c->got);
    ck_from_bf16(c->n, c->got, c->back);
    for (int64_t i = 0; i < c->n; i++) {
        if (isnan(c->x[i]) ? !isnan(c->back[i]) : c->got[i] != c->want[i])
            fail_msg("%s: %08x becomes %04x", way, bits_of(c->x[i]), c->got[i]);
        if (bits_of(c->back[i]) != (uint32_t)c->got[i] << 16)
            fail_msg("%s: %04x widens to %08x", way, c->got[i], bits_of(c->back[i]));
    }
}

static void run_conversion(int64_t n, uint32_t first, uint32_t stride)
{
    struct conversion c = {.n = n,
                           .x = test_array((size_t)n, sizeof(float)),
                           .back = test_array((size_t)n, sizeof(float)),
                           .want = test_array((size_t)n, sizeof(uint16_t)),
                           .got = test_array((size_t)n, sizeof(uint16_t))};
    for (int64_t i = 0; i < n; i++) {
        c.x[i] = float_of(first + (uint32_t)i * stride);
        c.want[i] = nearest_bf16(c.x[i]);
    }
    each_way(convert, &c);
    free(c.x);
    free(c.back);
    free(c.want);
    free(c.got);
}

static void bf16_is_the_nearest_even_and_nan_stays(void **state)
{
    (void)state;
    run_conversion(65536, 0, 0x10000);      /* every bf16, exactly */
    run_conversion(65536, 0x8000, 0x10000); /* every tie */
    run_conversion(65536, 0x7fff, 0x10000);
    run_conversion(65536, 0x8001, 0x10000);
    run_conversion(100003, 1, 42949); /* the whole range, odd length */
    run_conversion(40, 0x7f7ffff0, 1);
    run_conversion(40, 0xff7ffff0, 1);
    run_conversion(40, 0x7f800000, 1); /* infinity, and NaNs that differ in the lower half */
}

/* Numbers that include every special case. */
static void *awkward(enum ck_dtype t, int64_t n, uint64_t seed)
{
    static const double odd[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1e-42, -1e-42, 3e38};
    void *x = test_array((size_t)n, type_size(t));
    for (int64_t i = 0; i < n; i++) {
        uint64_t pick = (uint64_t)(16 * test_unit(seed, (uint64_t)i));
        set(t, x, i, pick < 8 ? odd[pick] : (double)test_normal(seed, (uint64_t)i));
    }
    return x;
}

enum { SUM, RELU, RELU_GRAD, OPS };

struct flat_case {
    int op;
    enum ck_dtype t;
    int64_t n;
    void *a, *b, *out;
};

static double expected(const struct flat_case *f, int64_t i)
{
    double a = get(f->t, f->a, i), b = get(f->t, f->b, i);
    if (f->op == SUM)
        return a + b;
    if (f->op == RELU)
        return a < 0 ? 0 : a;
    return b <= 0 ? 0 : a;
}

static void run_flat(const struct flat_case *f, const void *a, const void *b, void *out)
{
    if (f->op == SUM)
        ck_add(f->t, f->n, a, b, out);
    else if (f->op == RELU)
        ck_relu(f->t, f->n, a, out);
    else
        ck_relu_grad(f->t, f->n, a, b, out);
}

static void check_flat(void *arg, const char *way)
{
    struct flat_case *f = arg;
    size_t bytes = (size_t)f->n * type_size(f->t);
    memset(f->out, 0x5a, bytes);
    run_flat(f, f->a, f->b, f->out);
    for (int64_t i = 0; i < f->n; i++) {
        double want = expected(f, i), got = get(f->t, f->out, i), rounded;
        uint64_t place;
        set(f->t, &place, 0, want);
        rounded = get(f->t, &place, 0);
        if (isnan(want) ? !isnan(got) : got != rounded || signbit(got) != signbit(rounded))
            fail_msg("%s: op %d, element %d: %g, not %g", way, f->op, (int)i, got, rounded);
    }
    void *a = copy_of(f->a, bytes), *b = copy_of(f->b, bytes);
    run_flat(f, a, f->b, a);
    run_flat(f, f->a, b, b);
    assert_memory_equal(a, f->out, bytes);
    if (f->op != RELU)
        assert_memory_equal(b, f->out, bytes);
    free(a);
    free(b);
}

static void flat_operations_are_exact_and_may_alias(void **state)
{
    (void)state;
    const int64_t lengths[] = {0, 1, 7, 8, 15, 16, 17, 31, 100, 32768, 70001};
    for (int op = 0; op < OPS; op++)
        for (int t = 0; t < 2; t++)
            for (int k = 0; k < 11; k++) {
                struct flat_case f = {.op = op, .t = types[t], .n = lengths[k]};
                f.a = awkward(f.t, f.n, 1);
                f.b = awkward(f.t, f.n, 2);
                f.out = test_array((size_t)f.n, type_size(f.t));
                each_way(check_flat, &f);
                free(f.a);
                free(f.b);
                free(f.out);
            }
}

static void relu_keeps_nan_and_minus_zero(void **state)
{
    (void)state;
    float x[4] = {NAN, -0.0f, -1, 2}, y[4], dy[4] = {5, 6, 7, 8}, dx[4];
    ck_relu(CK_F32, 4, x, y);
    assert_true(isnan(y[0]) && y[1] == 0 && signbit(y[1]) && y[2] == 0 && !signbit(y[2]) &&
                y[3] == 2);
    ck_relu_grad(CK_F32, 4, dy, y, dx);
    assert_true(dx[0] == 5 && dx[1] == 0 && dx[2] == 0 && dx[3] == 8);
}

static void accumulate_adds_to_what_is_there(void **state)
{
    (void)state;
    float src[37], dst[37];
    for (int i = 0; i < 37; i++) {
        src[i] = (float)i;
        dst[i] = 100;
    }
    ck_accumulate_f32(37, src, dst);
    ck_accumulate_f32(37, src, dst);
    for (int i = 0; i < 37; i++)
        assert_true(dst[i] == (float)(100 + 2 * i));
}

static void versions_follow_the_choice_of_kernels(void **state)
{
    (void)state;
    for (const struct ck_kernels *const *k = ck_kernels_all(); *k; k++) {
        const char *name = (*k)->name, *want = name;
        if (strcmp(name, "vnni") == 0 || strcmp(name, "amx") == 0)
            want = "avx512";
        if (strcmp(name, "amx-emulated") == 0) /* the best of this CPU */
            want = ck_kernels_named("avx512") ? "avx512"
                   : ck_kernels_named("avx2") ? "avx2"
                                              : "ref";
        assert_string_equal(ck_layer_kernels_named(name)->name, want);
    }
    assert_null(ck_layer_kernels_named("sse9"));
    assert_ptr_equal(ck_layer_kernels(), ck_layer_kernels_named(ck_kernels()->name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_is_the_nearest_even_and_nan_stays),
        cmocka_unit_test(flat_operations_are_exact_and_may_alias),
        cmocka_unit_test(relu_keeps_nan_and_minus_zero),
        cmocka_unit_test(accumulate_adds_to_what_is_there),
        cmocka_unit_test(versions_follow_the_choice_of_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
