/* test_pixels.c - every version of the pixel arithmetic returns the reference's bytes for any
 * length and touches only what it may. */
#include "support.h"
#include "kernels/pixels.h"

enum { SLACK = CK_PIXEL_SLACK, GUARD = 0xA5 };

static const char *const versions[] = {"ref", "avx2", "avx512"};
static const int64_t lengths[] = {1,  2,  7,  8,  15, 16,  17,  31,
                                  32, 33, 63, 64, 65, 127, 200, 1000};
#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef void check_fn(const struct ck_pixels *k);

static void for_each_version(check_fn *check)
{
    for (size_t i = 0; i < COUNT(versions); i++) {
        const struct ck_pixels *k = ck_pixels_named(versions[i]);
        if (k)
            check(k);
    }
}

/* n bytes, some of them extreme, and slack. */
static uint8_t *bytes(size_t n, uint64_t seed)
{
    uint8_t *v = test_array(n + SLACK, 1);
    for (size_t i = 0; i < n; i++) {
        uint32_t x = ck_rng_u32(seed, TEST_STREAM, i, 0);
        v[i] = (uint8_t)(x >> 16 & 7 ? x : x & 1 ? 255 : 0);
    }
    return v;
}

/* ---- one plane ---- */

static void check_levels(const struct ck_pixels *k)
{
    const float factors[] = {0, 1, 0.5f, 0.3333f, 1.7f, -0.4f, 1e5f, 1e9f, -1e20f, 1e-20f};
    for (size_t l = 0; l < COUNT(lengths); l++)
        for (size_t f = 0; f < COUNT(factors); f++) {
            int64_t n = lengths[l];
            float level = (float)(l * 37 % 256);
            uint8_t *a = bytes((size_t)n, l), *b = bytes((size_t)n, l);
            ck_pixels_ref.blend_level(a, n, level, factors[f]);
            k->blend_level(b, n, level, factors[f]);
            assert_memory_equal(a, b, (size_t)n);
            int threshold = (int)(f * 256 / (COUNT(factors) - 1));
            ck_pixels_ref.solarize(a, n, threshold);
            k->solarize(b, n, threshold);
            assert_memory_equal(a, b, (size_t)n);
            free(a);
            free(b);
        }
}

static void levels_are_the_references(void **state)
{
    (void)state;
    for_each_version(check_levels);
}

static void check_normalize(const struct ck_pixels *k)
{
    const float values[][2] = {{0.485f, 0.229f}, {0, 1},        {0.5f, 0.5f}, {0.1f, 3e-7f},
                               {-7, 1e4f},       {0.3f, -0.5f}, {0.2f, 1e30f}};
    for (size_t l = 0; l < COUNT(lengths); l++)
        for (size_t f = 0; f < COUNT(values) * 2; f++) {
            int64_t n = lengths[l];
            const float *v = values[f / 2];
            uint8_t *in = bytes((size_t)n, l);
            float *a = test_array((size_t)n, sizeof *a), *b = test_array((size_t)n, sizeof *b);
            ck_pixels_ref.normalize(in, n, (int)f % 2, v[0], v[1], a);
            k->normalize(in, n, (int)f % 2, v[0], v[1], b);
            assert_memory_equal(a, b, (size_t)n * sizeof *a);
            free(in);
            free(a);
            free(b);
        }
}

static void normalized_floats_are_the_references(void **state)
{
    (void)state;
    for_each_version(check_normalize);
}

/* Divisions computed as products: all levels, many means and deviations. */
static void check_quotients(const struct ck_pixels *k)
{
    uint8_t in[256 + SLACK] = {0};
    float a[256], b[256];
    for (int i = 0; i < 256; i++)
        in[i] = (uint8_t)i;
    for (uint64_t s = 0; s < 3000; s++) {
        float mean = (float)test_unit(1, s), std = (float)exp(20 * test_unit(2, s) - 10);
        ck_pixels_ref.normalize(in, 256, 0, mean, std, a);
        k->normalize(in, 256, 0, mean, std, b);
        assert_memory_equal(a, b, sizeof a);
    }
}

static void quotients_are_rounded_correctly(void **state)
{
    (void)state;
    for_each_version(check_quotients);
}

/* ---- three planes ---- */

/* Adjacent planes, as in ck_planes: a write past one shows in the next. */
struct rgb {
    uint8_t *r, *g, *b;
};

static struct rgb split(uint8_t *v, int64_t n)
{
    return (struct rgb){v, v + n, v + 2 * n};
}

static void check_colors(const struct ck_pixels *k)
{
    const float factors[] = {0, 1, 0.7f, 1.3f, -2, 1e8f};
    for (size_t l = 0; l < COUNT(lengths); l++)
        for (size_t f = 0; f < COUNT(factors); f++) {
            int64_t n = lengths[l];
            size_t size = 3 * (size_t)n;
            uint8_t *a = bytes(size, l), *b = bytes(size, l);
            struct rgb x = split(a, n), y = split(b, n);
            ck_pixels_ref.hue(x.r, x.g, x.b, n, (int)(f * 51));
            k->hue(y.r, y.g, y.b, n, (int)(f * 51));
            assert_memory_equal(a, b, size);
            ck_pixels_ref.blend_gray(x.r, x.g, x.b, n, factors[f]);
            k->blend_gray(y.r, y.g, y.b, n, factors[f]);
            assert_memory_equal(a, b, size);
            assert_true(ck_pixels_ref.gray_sum(x.r, x.g, x.b, n) ==
                        k->gray_sum(y.r, y.g, y.b, n));
            ck_pixels_ref.gray(x.r, x.g, x.b, n);
            k->gray(y.r, y.g, y.b, n);
            assert_memory_equal(a, b, size);
            assert_memory_equal(x.r, x.b, (size_t)n);
            free(a);
            free(b);
        }
}

static void colors_are_the_references(void **state)
{
    (void)state;
    for_each_version(check_colors);
}

/* Red and green in steps of 5 and 3 from both ends, all blues: all sectors, many ties. */
static void check_hues(const struct ck_pixels *k)
{
    enum { N = 256 };
    uint8_t a[3 * N], b[3 * N];
    struct rgb x = split(a, N), y = split(b, N);
    for (int r = 0; r < 256; r += 5)
        for (int g = 0; g < 256; g += 3) {
            for (int i = 0; i < N; i++) {
                x.r[i] = (uint8_t)r;
                x.g[i] = (uint8_t)(255 - g);
                x.b[i] = (uint8_t)i;
            }
            memcpy(b, a, sizeof a);
            ck_pixels_ref.hue(x.r, x.g, x.b, N, (r + g) & 255);
            k->hue(y.r, y.g, y.b, N, (r + g) & 255);
            assert_memory_equal(a, b, sizeof a);
        }
}

static void hues_of_many_colors_are_the_references(void **state)
{
    (void)state;
    for_each_version(check_hues);
}

static void gray_sum_of_one_plane_is_its_sum(void **state)
{
    (void)state;
    uint8_t *v = bytes(1000, 3);
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += v[i];
    for (size_t i = 0; i < COUNT(versions); i++)
        if (ck_pixels_named(versions[i]))
            assert_true(ck_pixels_named(versions[i])->gray_sum(v, v, v, 1000) == sum);
    free(v);
}

/* ---- lines ---- */

/* Taps with weights that sum to -1 .. 1.5, in any position. */
static struct ck_taps random_taps(int32_t in, int32_t out, int32_t taps, uint64_t seed)
{
    struct ck_taps t = {.in = in, .out = out, .taps = taps};
    size_t n = (size_t)out * (size_t)taps;
    t.first = test_array((size_t)out, sizeof *t.first);
    t.low = test_array(n, sizeof *t.low);
    t.high = test_array(n, sizeof *t.high);
    for (int32_t i = 0; i < out; i++) {
        int32_t room = in - taps > 0 ? in - taps : 0;
        t.first[i] =
            (int32_t)ck_rng_below(seed, TEST_STREAM, (uint64_t)i, 0, (uint64_t)room + 1);
        for (int32_t k = 0; k < taps && t.first[i] + k < in; k++) {
            size_t at = (size_t)(i * taps + k);
            double share = (2.5 * test_unit(seed, at) - 1) / taps;
            int32_t fixed = (int32_t)(share * (1 << CK_WEIGHT_BITS));
            t.low[at] = (int16_t)(fixed & ((1 << CK_WEIGHT_SPLIT) - 1));
            t.high[at] = (int16_t)(fixed >> CK_WEIGHT_SPLIT);
        }
    }
    return t;
}

static void free_taps(struct ck_taps *t)
{
    free(t->first);
    free(t->low);
    free(t->high);
}

struct shape {
    int32_t in, out, taps, across;
};

static const struct shape shapes[] = {{1, 1, 2, 1},   {1, 5, 2, 3},    {2, 3, 2, 17},
                                      {3, 2, 4, 16},  {9, 20, 4, 33},  {40, 7, 12, 15},
                                      {11, 13, 6, 5}, {100, 3, 66, 9}, {30, 30, 2, 31}};

static void check_across(const struct ck_pixels *k)
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int size = 3; size <= 4; size++) {
            struct shape h = shapes[s];
            struct ck_taps t = random_taps(h.in, h.out, h.taps, s);
            int64_t stride = (int64_t)h.in * size,
                    to = (h.out * CK_QUAD + SLACK - 1) / SLACK * SLACK;
            size_t bytes_out = (size_t)(to * h.across);
            uint8_t *in = bytes((size_t)(stride * h.across), s);
            uint8_t *a = test_array(bytes_out, 1), *b = test_array(bytes_out, 1);
            ck_pixels_ref.resize_across(&t, in, stride, size, h.across, a, to);
            k->resize_across(&t, in, stride, size, h.across, b, to);
            for (int32_t y = 0; y < h.across; y++)
                assert_memory_equal(a + y * to, b + y * to, (size_t)h.out * CK_QUAD);
            free_taps(&t);
            free(in);
            free(a);
            free(b);
        }
}

static void check_down(const struct ck_pixels *k)
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int channels = 1; channels <= CK_QUAD; channels++) {
            struct shape h = shapes[s];
            struct ck_taps t = random_taps(h.in, h.out, h.taps, s);
            int64_t stride = (h.across * CK_QUAD + SLACK - 1) / SLACK * SLACK;
            size_t n = (size_t)(h.across * h.out * channels);
            uint8_t *in = bytes((size_t)(stride * h.in), s);
            uint8_t *a = test_array(n + SLACK, 1), *b = test_array(n + SLACK, 1);
            memset(b + n, GUARD, SLACK);
            memset(a + n, GUARD, SLACK);
            ck_pixels_ref.resize_down(&t, in, stride, h.across, channels, a);
            k->resize_down(&t, in, stride, h.across, channels, b);
            assert_memory_equal(a, b, n + SLACK);
            free_taps(&t);
            free(in);
            free(a);
            free(b);
        }
}

static void resampled_lines_are_the_references(void **state)
{
    (void)state;
    for_each_version(check_across);
    for_each_version(check_down);
}

static struct ck_box_weights box(int32_t radius, double part)
{
    struct ck_box_weights w = {.radius = radius};
    w.inner = (uint32_t)((1 << 24) / (2 * (radius + part) + 1));
    w.outer = ((1u << 24) - (2 * (uint32_t)radius + 1) * w.inner) / 2;
    return w;
}

/* Lines of n pixels in a wider and higher image. */
static void check_blur(const struct ck_pixels *k)
{
    const int32_t sizes[] = {1, 2, 15, 16, 17, 40, 67}, radii[] = {0, 1, 2, 5, 16, 63, 64, 300};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t r = 0; r < COUNT(radii); r++)
            for (int lines = 1; lines <= CK_STRIP; lines += lines < 3 ? 1 : 7) {
                int32_t n = sizes[s];
                int64_t stride = n + lines + 3;
                size_t size = (size_t)(stride * stride);
                struct ck_box_weights w = box(radii[r], 0.37 * (double)(s % 3));
                uint16_t *work = aligned_alloc(64, (size_t)ck_blur_work(n) * sizeof *work);
                assert_non_null(work);
                uint8_t *a = bytes(size, s), *b = bytes(size, s);
                ck_pixels_ref.blur_across(a + stride + 1, stride, lines, n, &w, work);
                k->blur_across(b + stride + 1, stride, lines, n, &w, work);
                assert_memory_equal(a, b, size);
                ck_pixels_ref.blur_down(a + stride + 2, stride, lines, n, &w, work);
                k->blur_down(b + stride + 2, stride, lines, n, &w, work);
                assert_memory_equal(a, b, size);
                free(work);
                free(a);
                free(b);
            }
}

static void blurred_lines_are_the_references(void **state)
{
    (void)state;
    for_each_version(check_blur);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_the_references),
        cmocka_unit_test(normalized_floats_are_the_references),
        cmocka_unit_test(quotients_are_rounded_correctly),
        cmocka_unit_test(colors_are_the_references),
        cmocka_unit_test(hues_of_many_colors_are_the_references),
        cmocka_unit_test(gray_sum_of_one_plane_is_its_sum),
        cmocka_unit_test(resampled_lines_are_the_references),
        cmocka_unit_test(blurred_lines_are_the_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
