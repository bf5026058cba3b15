/* test_conv_tiles.c - bf16 convolutions on tiles against direct ones in double; the same bytes
 * from the matrix unit and its emulation, and from any team. */
#include "support.h"

#include "core/workers.h"
#include "kernels/amx.h"
#include "kernels/kernels_conv_tiles.h"
#include "kernels/layers.h"

/* n, ic, ih, iw, oc, oh, ow, kernel, stride, pad: one pixel to several bands, odd sizes, rows
 * of 16 and others, narrow blocks of 16 channels, channels that do not fill blocks, stems,
 * parities without taps. */
static const struct ck_tiles_shape shapes[] = {
    {2, 32, 4, 4, 32, 4, 4, 3, 1, 1},      {3, 40, 5, 7, 33, 5, 7, 3, 1, 1},
    {1, 64, 4, 16, 32, 4, 16, 3, 1, 1},    {2, 33, 3, 32, 64, 3, 32, 3, 1, 1},
    {2, 32, 8, 8, 64, 4, 4, 3, 2, 1},      {1, 40, 6, 32, 32, 3, 16, 3, 2, 1},
    {2, 32, 7, 5, 32, 4, 3, 3, 2, 1},      {2, 64, 7, 7, 40, 7, 7, 1, 1, 0},
    {3, 32, 1, 1, 64, 1, 1, 1, 1, 0},      {2, 64, 8, 8, 32, 4, 4, 1, 2, 0},
    {1, 32, 32, 33, 32, 16, 17, 1, 2, 0},  {2, 3, 20, 20, 33, 20, 20, 3, 1, 1},
    {1, 3, 33, 20, 33, 17, 10, 7, 2, 3},   {2, 1, 9, 9, 16, 5, 5, 7, 2, 3},
    {1, 5, 9, 18, 32, 5, 9, 7, 2, 3},      {2, 3, 2, 2, 32, 2, 2, 3, 1, 1},
    {1, 160, 40, 34, 16, 40, 34, 3, 1, 1}, {2, 16, 6, 6, 16, 6, 6, 3, 1, 1},
    {1, 16, 5, 16, 40, 5, 16, 3, 1, 1},    {2, 40, 8, 8, 9, 4, 4, 3, 2, 1},
    {2, 9, 7, 16, 16, 4, 8, 3, 2, 1},      {2, 16, 5, 5, 32, 5, 5, 1, 1, 0},
    {2, 32, 5, 5, 16, 5, 5, 1, 1, 0},      {1, 12, 8, 8, 7, 4, 4, 1, 2, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Large enough for several chunks per worker; too slow for the emulation. */
static const struct ck_tiles_shape large_shapes[] = {
    {33, 64, 8, 8, 96, 8, 8, 3, 1, 1},
    {17, 96, 16, 16, 64, 8, 8, 3, 2, 1},
    {9, 128, 14, 14, 64, 14, 14, 1, 1, 0},
};
enum { LARGE = sizeof large_shapes / sizeof *large_shapes };

static void *new_array(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(p);
    return p;
}

static float widen(uint16_t v)
{
    float x;
    ck_from_bf16(1, &v, &x);
    return x;
}

static int64_t blocks(int64_t channels)
{
    return (channels + ck_tiles_block(channels) - 1) / ck_tiles_block(channels);
}

/* An image tensor with zeros in its padding channels. */
static uint16_t *image_new(int64_t n, int64_t channels, int64_t pixels, uint64_t seed)
{
    int64_t block = ck_tiles_block(channels), size = n * blocks(channels) * pixels * block;
    uint16_t *x = new_array((size_t)size * sizeof *x);
    for (int64_t i = 0; i < size; i++) {
        float v = test_normal(seed, (uint64_t)i % 8191);
        ck_to_bf16(1, &v, &x[i]);
        if (i / block / pixels % blocks(channels) * block + i % block >= channels)
            x[i] = 0;
    }
    return x;
}

static double pixel_at(const uint16_t *x, int64_t channels, int64_t pixels, int64_t n,
                       int64_t c, int64_t at)
{
    int64_t block = ck_tiles_block(channels), plane = n * blocks(channels) + c / block;
    return (double)widen(x[(plane * pixels + at) * block + c % block]);
}

/* One shape's arrays. */
struct test {
    struct ck_tiles_shape s;
    enum ck_tiles_pass pass;
    struct ck_tiles_conv c;
    uint16_t *src, *dst;
    float *weights;
    void *packed, *scratch;
    double *sum, *square;
    int64_t outputs; /* elements of dst */
};

static void set_up(struct test *t, const struct ck_tiles_shape *s, enum ck_tiles_pass pass)
{
    int forward = pass == CK_TILES_FORWARD;
    t->s = *s;
    t->pass = pass;
    assert_true(ck_tiles_init(&t->c, s, pass));
    t->src =
        image_new(s->n, forward ? s->ic : s->oc, forward ? s->ih * s->iw : s->oh * s->ow, 1);
    t->outputs = s->n * t->c.dc * t->c.dh * t->c.dw * t->c.to;
    t->dst = new_array((size_t)t->outputs * sizeof *t->dst);
    t->weights = new_array((size_t)(s->oc * s->ic * s->kernel * s->kernel) * sizeof(float));
    for (int64_t i = 0; i < s->oc * s->ic * s->kernel * s->kernel; i++) {
        uint16_t rounded;
        float v = test_normal(2, (uint64_t)i % 8209) / 8;
        ck_to_bf16(1, &v, &rounded);
        t->weights[i] = widen(rounded);
    }
    t->packed = new_array(t->c.packed);
    t->scratch = new_array(ck_tiles_scratch(&t->c, 8));
    t->sum = new_array(sizeof(double) * (size_t)(t->c.dc * t->c.to));
    t->square = new_array(sizeof(double) * (size_t)(t->c.dc * t->c.to));
}

static void tear_down(struct test *t)
{
    free(t->src);
    free(t->dst);
    free(t->weights);
    free(t->packed);
    free(t->scratch);
    free(t->sum);
    free(t->square);
}

static void run(struct test *t)
{
    struct ck_tiles_sums sums = {t->sum, t->square};
    memset(t->dst, 0xff, (size_t)t->outputs * sizeof *t->dst);
    ck_tiles_pack(&t->c, t->weights, t->packed);
    ck_tiles_run(&t->c, t->src, t->packed, t->dst, NULL,
                 t->pass == CK_TILES_FORWARD ? &sums : NULL, t->scratch);
}

/* One output in double, and the sum of the terms' sizes. */
static double exact(const struct test *t, int64_t n, int64_t c, int64_t y, int64_t x,
                    double *size)
{
    const struct ck_tiles_shape *s = &t->s;
    int forward = t->pass == CK_TILES_FORWARD;
    double sum = 0;
    *size = 0;
    for (int64_t from = 0; from < (forward ? s->ic : s->oc); from++)
        for (int64_t k = 0; k < s->kernel * s->kernel; k++) {
            int64_t ky = k / s->kernel, kx = k % s->kernel;
            int64_t sy = forward ? y * s->stride + ky - s->pad : y + s->pad - ky;
            int64_t sx = forward ? x * s->stride + kx - s->pad : x + s->pad - kx;
            if (!forward && (sy % s->stride || sx % s->stride))
                continue;
            sy = forward ? sy : sy / s->stride;
            sx = forward ? sx : sx / s->stride;
            int64_t h = forward ? s->ih : s->oh, w = forward ? s->iw : s->ow;
            if (sy < 0 || sy >= h || sx < 0 || sx >= w)
                continue;
            int64_t o = forward ? c : from, i = forward ? from : c;
            double term =
                pixel_at(t->src, forward ? s->ic : s->oc, h * w, n, from, sy * w + sx) *
                (double)t->weights[(o * s->ic + i) * s->kernel * s->kernel + k];
            sum += term;
            *size += fabs(term);
        }
    return sum;
}

/* Half a unit of bf16 for the rounded result, and f32's rounding of the sums. */
static void check(const struct test *t)
{
    const struct ck_tiles_shape *s = &t->s;
    int forward = t->pass == CK_TILES_FORWARD;
    int64_t h = forward ? s->oh : s->ih, w = forward ? s->ow : s->iw;
    int64_t channels = forward ? s->oc : s->ic, block = ck_tiles_block(channels);
    int64_t step = t->outputs > 4096 ? 31 : 1; /* all pixels and channels in turn */
    for (int64_t i = 0; i < t->outputs; i += step) {
        int64_t at = i / block % (h * w), plane = i / block / (h * w);
        int64_t c = plane % blocks(channels) * block + i % block;
        double size = 0;
        double want =
            c < channels ? exact(t, plane / blocks(channels), c, at / w, at % w, &size) : 0;
        double bound = fabs(want) / 256 + 2e-6 * size;
        if (!(fabs((double)widen(t->dst[i]) - want) <= bound))
            fail_msg("output %lld: %g, not %g (+- %g)", (long long)i, (double)widen(t->dst[i]),
                     want, bound);
    }
}

/* The sums are of unrounded values: they differ from those of the rounded ones by less than
 * bf16's rounding of each. */
static void check_sums(const struct test *t)
{
    const struct ck_tiles_shape *s = &t->s;
    for (int64_t c = 0; c < t->c.dc * t->c.to; c++) {
        double sum = 0, size = 0, square = 0;
        for (int64_t n = 0; n < s->n; n++)
            for (int64_t at = 0; at < s->oh * s->ow; at++) {
                double v = pixel_at(t->dst, s->oc, s->oh * s->ow, n, c, at);
                sum += v;
                size += fabs(v);
                square += v * v;
            }
        assert_true(fabs(t->sum[c] - sum) <= size / 256);
        assert_true(fabs(t->square[c] - square) <= square / 120);
    }
}

/* Few enough products for the emulation, which sanitizers slow down further. */
static int is_small(const struct ck_tiles_shape *s)
{
    return s->n * s->oh * s->ow * blocks(s->ic) * blocks(s->oc) * s->kernel * s->kernel < 4000;
}

static void check_version(const struct ck_tile_kernels *version)
{
    ck_tile_kernels_force(version);
    for (int i = 0; i < SHAPES; i++)
        for (int pass = 0; pass < 2; pass++) {
            if (version == &ck_tile_kernels_emulated && !is_small(&shapes[i]))
                continue;
            struct test t;
            set_up(&t, &shapes[i], (enum ck_tiles_pass)pass);
            run(&t);
            check(&t);
            if (pass == CK_TILES_FORWARD)
                check_sums(&t);
            tear_down(&t);
        }
    ck_tile_kernels_force(NULL);
}

static void emulated_tiles_match_direct_convolutions(void **state)
{
    (void)state;
    check_version(&ck_tile_kernels_emulated);
}

static void this_cpu_matches_direct_convolutions(void **state)
{
    (void)state;
    if (!ck_tile_kernels())
        skip();
    check_version(ck_tile_kernels());
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bf16"))
        check_version(&ck_tile_kernels_bf16);
#endif
}

static void emulation_has_the_bytes_of_the_unit(void **state)
{
    (void)state;
    if (ck_amx() != CK_AMX_UNIT)
        skip();
#if defined(__x86_64__)
    for (int i = 0; i < SHAPES; i++)
        for (int pass = 0; pass < 2; pass++) {
            if (!is_small(&shapes[i]))
                continue;
            struct test unit, emulated;
            ck_tile_kernels_force(&ck_tile_kernels_amx);
            set_up(&unit, &shapes[i], (enum ck_tiles_pass)pass);
            run(&unit);
            ck_tile_kernels_force(&ck_tile_kernels_emulated);
            set_up(&emulated, &shapes[i], (enum ck_tiles_pass)pass);
            run(&emulated);
            assert_memory_equal(unit.dst, emulated.dst, (size_t)unit.outputs * 2);
            if (pass == CK_TILES_FORWARD)
                assert_memory_equal(unit.sum, emulated.sum,
                                    (size_t)(unit.c.dc * unit.c.to) * sizeof(double));
            tear_down(&unit);
            tear_down(&emulated);
        }
    ck_tile_kernels_force(NULL);
#endif
}

/* Fills images from a copy on demand, and counts. */
struct source {
    const uint16_t *from;
    uint16_t *to;
    int64_t image; /* elements */
    int count[64];
};

static void produce(void *arg, int64_t first, int64_t images)
{
    struct source *s = arg;
    memcpy(s->to + first * s->image, s->from + first * s->image,
           (size_t)(images * s->image) * 2);
    for (int64_t i = first; i < first + images; i++)
        s->count[i]++;
}

static void any_team_gives_the_same_bytes_and_produces_each_image_once(void **state)
{
    (void)state;
    if (!ck_tile_kernels())
        skip();
    for (int i = 0; i < LARGE * 2; i++) {
        struct test a, b;
        struct source source = {.count = {0}};
        ck_set_threads(1);
        set_up(&a, &large_shapes[i / 2], (enum ck_tiles_pass)(i % 2));
        run(&a);
        ck_set_threads(3);
        set_up(&b, &large_shapes[i / 2], (enum ck_tiles_pass)(i % 2));
        ck_tiles_pack(&b.c, b.weights, b.packed);
        source.image = b.c.sc * b.c.sh * b.c.sw * b.c.from;
        source.from = a.src;
        source.to = b.src;
        memset(b.src, 0xff, (size_t)(b.s.n * source.image) * 2);
        struct ck_tiles_producer producer = {produce, &source};
        struct ck_tiles_sums sums = {b.sum, b.square};
        ck_tiles_run(&b.c, b.src, b.packed, b.dst, &producer, i % 2 ? NULL : &sums, b.scratch);
        assert_memory_equal(a.dst, b.dst, (size_t)a.outputs * 2);
        if (i % 2 == 0)
            assert_memory_equal(a.square, b.square,
                                (size_t)(a.c.dc * a.c.to) * sizeof(double));
        for (int64_t n = 0; n < b.s.n; n++)
            assert_int_equal(source.count[n], 1);
        tear_down(&a);
        tear_down(&b);
    }
    ck_set_threads(0);
}

static void shapes_without_tiles_are_refused(void **state)
{
    (void)state;
    struct ck_tiles_conv c;
    struct ck_tiles_shape wide = {1, 3, 20, 20, 8, 10, 10, 9, 2, 4};
    struct ck_tiles_shape far = {1, 3, 20, 20, 8, 6, 6, 3, 3, 0};
    assert_int_equal(ck_tiles_init(&c, &wide, CK_TILES_FORWARD), 0);
    assert_int_equal(ck_tiles_init(&c, &far, CK_TILES_FORWARD), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emulated_tiles_match_direct_convolutions),
        cmocka_unit_test(this_cpu_matches_direct_convolutions),
        cmocka_unit_test(emulation_has_the_bytes_of_the_unit),
        cmocka_unit_test(any_team_gives_the_same_bytes_and_produces_each_image_once),
        cmocka_unit_test(shapes_without_tiles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
