/* test_conv_tiles_weights.c - the gradient of the weights on tiles against sums in double; the
 * same bytes from the matrix unit and its emulation, and from any team. */
#include "support.h"

#include "core/workers.h"
#include "kernels/amx.h"
#include "kernels/conv_tiles_weights.h"
#include "kernels/kernels_conv_tiles.h"
#include "kernels/layers.h"

/* n, ic, ih, iw, oc, oh, ow, kernel, stride, pad: odd sizes, channels that fill blocks of 32, half
 * blocks or neither, bundles of several images and a last one of fewer, stems, both orders of the
 * operands, rows below the outputs that exist. */
static const struct ck_tiles_shape shapes[] = {
    {2, 32, 4, 4, 32, 4, 4, 3, 1, 1},     {3, 40, 5, 7, 33, 5, 7, 3, 1, 1},
    {11, 16, 4, 4, 16, 4, 4, 3, 1, 1},    {2, 33, 3, 32, 64, 3, 32, 3, 1, 1},
    {5, 32, 8, 8, 64, 4, 4, 3, 2, 1},     {1, 48, 6, 32, 16, 3, 16, 3, 2, 1},
    {2, 16, 7, 5, 40, 4, 3, 3, 2, 1},     {2, 64, 7, 7, 40, 7, 7, 1, 1, 0},
    {3, 32, 1, 1, 64, 1, 1, 1, 1, 0},     {2, 64, 8, 8, 32, 4, 4, 1, 2, 0},
    {1, 20, 32, 33, 70, 16, 17, 1, 2, 0}, {2, 3, 20, 20, 33, 20, 20, 3, 1, 1},
    {3, 3, 33, 20, 33, 17, 10, 7, 2, 3},  {2, 1, 9, 9, 16, 5, 5, 7, 2, 3},
    {1, 5, 9, 18, 32, 5, 9, 7, 2, 3},     {2, 6, 9, 9, 8, 7, 7, 3, 1, 0},
    {3, 8, 9, 8, 8, 3, 3, 3, 2, 0},       {2, 4, 8, 8, 8, 3, 4, 2, 2, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Several groups, with parts and without; too slow for the emulation. */
static const struct ck_tiles_shape large_shapes[] = {
    {70, 160, 8, 8, 160, 8, 8, 3, 1, 1},
    {70, 40, 16, 16, 48, 16, 16, 3, 1, 1},
    {18, 96, 16, 16, 64, 8, 8, 3, 2, 1},
    {19, 448, 14, 14, 416, 14, 14, 1, 1, 0},
};
enum { LARGE = sizeof large_shapes / sizeof *large_shapes };

static int64_t blocks(int64_t channels)
{
    return (channels + ck_tiles_block(channels) - 1) / ck_tiles_block(channels);
}

static void *new_array(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(p);
    return p;
}

static uint16_t *image_new(int64_t n, int64_t channels, int64_t pixels, uint64_t seed)
{
    int64_t size = n * blocks(channels) * pixels * ck_tiles_block(channels);
    uint16_t *x = new_array((size_t)size * sizeof *x);
    for (int64_t i = 0; i < size; i++) {
        float v = test_normal(seed, (uint64_t)i % 8191);
        ck_to_bf16(1, &v, &x[i]);
    }
    return x;
}

static double value_at(const uint16_t *x, int64_t channels, int64_t pixels, int64_t n,
                       int64_t c, int64_t at)
{
    int64_t block = ck_tiles_block(channels), plane = n * blocks(channels) + c / block;
    uint32_t bits = (uint32_t)x[(plane * pixels + at) * block + c % block] << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

struct test {
    struct ck_tiles_shape s;
    uint16_t *x, *dy;
    float *dw, *first;
    int64_t size; /* of dw */
};

static void case_new(struct test *t, const struct ck_tiles_shape *s)
{
    t->s = *s;
    t->x = image_new(s->n, s->ic, s->ih * s->iw, 1);
    t->dy = image_new(s->n, s->oc, s->oh * s->ow, 2);
    t->size = s->oc * s->ic * s->kernel * s->kernel;
    t->dw = new_array((size_t)t->size * sizeof(float));
    t->first = new_array((size_t)t->size * sizeof(float));
}

static void case_free(struct test *t)
{
    free(t->x);
    free(t->dy);
    free(t->dw);
    free(t->first);
}

/* Scratch is filled with NaN: every value that is read must have been written. */
static void run(struct test *t, int threads, int accumulate)
{
    struct ck_tiles_gradient g;
    assert_ok(coke_set_threads(threads));
    assert_true(ck_tiles_gradient_init(&g, &t->s));
    size_t bytes = ck_tiles_gradient_scratch(&g, threads);
    void *scratch = new_array(bytes);
    memset(scratch, 0xff, bytes);
    ck_tiles_gradient_run(&g, t->x, t->dy, accumulate, t->dw, scratch);
    free(scratch);
}

/* The gradient at one place, and the sum of the products' magnitudes. */
static double expected(const struct test *t, int64_t at, double *size)
{
    const struct ck_tiles_shape *s = &t->s;
    int64_t kx = at % s->kernel, ky = at / s->kernel % s->kernel;
    int64_t ic = at / s->kernel / s->kernel % s->ic, oc = at / s->kernel / s->kernel / s->ic;
    double sum = 0;
    *size = 0;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t i = 0; i < s->oh * s->ow; i++) {
            int64_t y = i / s->ow * s->stride + ky - s->pad;
            int64_t x = i % s->ow * s->stride + kx - s->pad;
            if (y < 0 || y >= s->ih || x < 0 || x >= s->iw)
                continue;
            double v = value_at(t->x, s->ic, s->ih * s->iw, n, ic, y * s->iw + x) *
                       value_at(t->dy, s->oc, s->oh * s->ow, n, oc, i);
            sum += v;
            *size += fabs(v);
        }
    return sum;
}

/* Checks every stride-th value; the gradient was added `times` times. */
static void check_values(const struct test *t, int64_t stride, double times)
{
    for (int64_t i = 0; i < t->size; i += stride) {
        double size, want = times * expected(t, i, &size);
        assert_close(t->dw[i], want, 1e-6 * times * size + 1e-30);
    }
}

static void check(const struct ck_tiles_shape *s, int64_t stride)
{
    struct test t;
    case_new(&t, s);
    run(&t, 1, 0);
    check_values(&t, stride, 1);
    memcpy(t.first, t.dw, (size_t)t.size * sizeof(float));
    run(&t, 3, 0);
    assert_memory_equal(t.dw, t.first, (size_t)t.size * sizeof(float));
    run(&t, 2, 1);
    check_values(&t, 7 * stride, 2);
    assert_ok(coke_set_threads(0));
    case_free(&t);
}

static void gradients_on_emulated_tiles_are_right(void **state)
{
    (void)state;
    ck_tile_kernels_force(&ck_tile_kernels_emulated);
    for (int i = 0; i < SHAPES; i++)
        check(&shapes[i], 5);
    ck_tile_kernels_force(NULL);
}

#if defined(__x86_64__)
static void gradients_on_the_unit_have_the_bytes_of_the_emulation(void **state)
{
    (void)state;
    if (ck_amx_obstacle())
        skip();
    for (int i = 0; i < SHAPES; i++) {
        struct test t;
        case_new(&t, &shapes[i]);
        ck_tile_kernels_force(&ck_tile_kernels_emulated);
        run(&t, 2, 0);
        memcpy(t.first, t.dw, (size_t)t.size * sizeof(float));
        ck_tile_kernels_force(&ck_tile_kernels_amx);
        run(&t, 2, 0);
        assert_memory_equal(t.dw, t.first, (size_t)t.size * sizeof(float));
        case_free(&t);
    }
    for (int i = 0; i < LARGE; i++)
        check(&large_shapes[i], 997);
    ck_tile_kernels_force(NULL);
}

static void gradients_on_avx512_bf16_are_right(void **state)
{
    (void)state;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512bf16"))
        skip();
    ck_tile_kernels_force(&ck_tile_kernels_bf16);
    for (int i = 0; i < SHAPES; i++)
        check(&shapes[i], 5);
    for (int i = 0; i < LARGE; i++)
        check(&large_shapes[i], 997);
    ck_tile_kernels_force(NULL);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_on_emulated_tiles_are_right),
#if defined(__x86_64__)
        cmocka_unit_test(gradients_on_the_unit_have_the_bytes_of_the_emulation),
        cmocka_unit_test(gradients_on_avx512_bf16_are_right),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
